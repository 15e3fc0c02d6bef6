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
#include "sim/execution/effort.h"

namespace collsim {

const ThreadBlockCosts& TextbookEstimator::costs(Protocol protocol) {
  auto& known = costs_[static_cast<std::size_t>(protocol)];
  if (!known) known = thread_block_costs(compiler_.cost(), protocol);
  return *known;
}

Prediction TextbookEstimator::estimate(Bytes size) {
  const RunSpec& run = compiler_.spec().run;
  const bool alone = compiler_.is_nccl();
  const Protocol protocol = run.protocol.value_or(Protocol::simple);
  const DataPartition partition = compiler_.textbook_binding(size);
  Prediction prediction;
  prediction.size = size;
  prediction.algorithm = alone ? "none" : run.algorithm;
  prediction.protocol = protocol;
  prediction.channels = partition.channels();
  prediction.bounds = compiler_.bounds(size);
  const std::uint32_t warps = full_warps(protocol);
  prediction.time =
      compiler_.cost().startup(protocol, compiler_.spec().collective, partition.channels(), warps);
  prediction.method = EstimateMethod::closed_form;
  const bool moves = compiler_.ranks() > 1 && partition.loops(0) > 0;
  if (moves) add_time(partition, protocol, prediction);
  const std::vector<LinkKind> kinds(kinds_.begin(), kinds_.end());
  prediction.trust =
      trust_of(compiler_.spec().cost.trust, compiler_.topology(), compiler_.spec().gpus, kinds,
               prediction.algorithm, !compiler_.is_nccl());
  prediction.medium = medium_of(compiler_.cost(), kinds);
  prediction.trust = trust_by(*prediction.method, prediction.trust);
  return prediction;
}

/// What claims to be exact must keep the bound; what is near is raised to it.
void TextbookEstimator::settle(Prediction& prediction) const {
  const Seconds bound = prediction.bounds.largest();
  if (prediction.method != EstimateMethod::closed_form) return raise_to(prediction, bound);
  check_not_below(prediction.time, bound,
                  fmt::format("the closed form of {} for {} on {} ranks", prediction.algorithm,
                              to_string(prediction.size), compiler_.ranks()));
}

/// To the time of the launch.
void TextbookEstimator::add_time(const DataPartition& partition, Protocol protocol,
                                 Prediction& prediction) {
  const bool is_healthy = compiler_.spec().faults.empty();
  if (is_healthy && may_have_closed_form(compiler_.cost(), protocol)) {
    if (const auto closed = shapes_.closed(partition, compiler_.cost().of(protocol))) {
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
      step_setting(protocol, full_warps(protocol), partition.chunking(), compiler_.cost().proxy);
  call.loops = partition.loops(0);
  call.chunk = static_cast<double>(partition.chunk_bytes(0, 0, {0, 1}).count);
  const auto bytes = static_cast<double>(partition.bytes_of(0).count);
  const double chunks = call.loops * compiler_.textbook_chunks();
  if (call.chunk > 0) call.filled = std::min(1.0, std::ceil(bytes / call.chunk) / chunks);
  const FormulaTime time =
      textbook_time(shapes_.shape(partition.channels()), costs(protocol), call);
  prediction.method = EstimateMethod::formula;
  prediction.time += Seconds{time.total};
  const Seconds issue = compiler_.cost().issue_of(compiler_.spec().collective, compiler_.ranks());
  prediction.time = std::max(prediction.time, issue);
  settle(prediction);
}

Prediction estimate_by_messages(const CompiledCall& call) {
  constexpr double max_messages = 200'000;  // about 0.2 s
  if (effort_of(execution_of(call)).whole > max_messages) return estimate_by_plan(call);
  Prediction prediction = simulate(call);
  prediction.method = EstimateMethod::critical_path;
  return prediction;
}

}  // namespace collsim
