#include "models/estimate/textbook_estimator.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "models/bounds/closed_form.h"
#include "models/calibration/trust.h"
#include "models/estimate/textbook_time.h"
#include "sim/cost/warps.h"

namespace collsim {

const ThreadBlockCosts& TextbookEstimator::costs(Protocol protocol) {
  auto& known = costs_[static_cast<std::size_t>(protocol)];
  if (!known) known = thread_block_costs(planner_.cost(), protocol);
  return *known;
}

struct TextbookEstimator::Healthy {
  explicit Healthy(CallSpec spec) : planner(std::move(spec)), estimator(planner) {}

  Planner planner;
  TextbookEstimator estimator;
  LayoutMemo memo;
};

Prediction TextbookEstimator::estimate(Bytes size) {
  return planner_.spec().faults.empty() ? without_faults(size) : with_faults(size);
}

Prediction TextbookEstimator::with_faults(Bytes size) {
  if (!healthy_) {
    CallSpec spec = planner_.spec();
    spec.faults = {};
    healthy_ = std::make_shared<Healthy>(std::move(spec));
  }
  Prediction prediction = estimate_by_plan(planner_.plan(size, &memo_));
  const double by_plan = estimate_by_plan(healthy_->planner.plan(size, &healthy_->memo)).time.value;
  const double by_formula = healthy_->estimator.without_faults(size).time.value;
  if (by_plan > 0) prediction.time.value *= by_formula / by_plan;
  raise_to(prediction, prediction.bounds.largest());
  prediction.trust = trust_by(EstimateMethod::formula, prediction.trust);
  return prediction;
}

Prediction TextbookEstimator::without_faults(Bytes size) {
  const RunSpec& run = planner_.spec().run;
  const bool alone = planner_.is_nccl();
  const Protocol protocol = run.protocol.value_or(Protocol::simple);
  const Binding binding = planner_.textbook_binding(size);
  Prediction prediction;
  prediction.size = size;
  prediction.algorithm = alone ? "none" : run.algorithm;
  prediction.protocol = protocol;
  prediction.channels = binding.channels();
  prediction.bounds = planner_.bounds(size);
  const std::uint32_t warps = full_warps(protocol);
  prediction.time =
      planner_.cost().startup(protocol, planner_.spec().collective, binding.channels(), warps);
  prediction.method = EstimateMethod::closed_form;
  const bool moves = planner_.ranks() > 1 && binding.loops(0) > 0;
  if (moves && !shapes_.has_pattern()) return estimate_by_plan(planner_.plan(size, &memo_));
  if (moves) add_time(binding, protocol, prediction);
  prediction.trust = trust_of(planner_.spec().cost.trust, planner_.topology(), planner_.spec().gpus,
                              std::vector(kinds_.begin(), kinds_.end()), prediction.algorithm,
                              !planner_.is_nccl());
  prediction.trust = trust_by(*prediction.method, prediction.trust);
  return prediction;
}

/// What claims to be exact must keep the bound; what is near is raised to it.
void TextbookEstimator::settle(Prediction& prediction) const {
  const Seconds bound = prediction.bounds.largest();
  if (prediction.method != EstimateMethod::closed_form) return raise_to(prediction, bound);
  check_not_below(prediction.time, bound,
                  fmt::format("the closed form of {} for {} on {} ranks", prediction.algorithm,
                              to_string(prediction.size), planner_.ranks()));
}

/// To the time of the launch.
void TextbookEstimator::add_time(const Binding& binding, Protocol protocol,
                                 Prediction& prediction) {
  if (may_have_closed_form(planner_.cost(), protocol)) {
    if (const auto closed = shapes_.closed(binding, planner_.cost().of(protocol))) {
      // The terms know no launch.
      if (prediction.time.value == 0) prediction.form = closed->form;
      prediction.time += closed->time;
      prediction.method = closed->method;
      settle(prediction);
      return;
    }
  }
  TextbookCall call;
  call.protocol = protocol;
  call.setting =
      step_setting(protocol, full_warps(protocol), binding.chunking(), planner_.cost().proxy);
  call.loops = binding.loops(0);
  call.chunk = static_cast<double>(binding.chunk_bytes(0, 0, {0, 1}).count);
  const auto bytes = static_cast<double>(binding.bytes_of(0).count);
  const double chunks = call.loops * planner_.textbook_chunks();
  if (call.chunk > 0) call.filled = std::min(1.0, std::ceil(bytes / call.chunk) / chunks);
  const FormTime time = textbook_time(shapes_.shape(binding.channels()), costs(protocol), call);
  prediction.method = EstimateMethod::formula;
  prediction.time += Seconds{time.total};
  const Seconds issue = planner_.cost().issue_of(planner_.spec().collective, planner_.ranks());
  prediction.time = std::max(prediction.time, issue);
  settle(prediction);
}

}  // namespace collsim
