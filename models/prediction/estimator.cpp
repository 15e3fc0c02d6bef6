#include "models/prediction/estimator.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "models/analytic/pat_time.h"
#include "models/calibration/trust.h"
#include "models/machine/hop_wires.h"
#include "models/prediction/hop_classes.h"
#include "models/prediction/message_shapes.h"
#include "models/prediction/ring_shapes.h"
#include "models/prediction/stripe_shapes.h"
#include "models/prediction/textbook_shapes.h"
#include "models/prediction/tree_shapes.h"
#include "sim/cost/warps.h"

namespace collsim {

class Estimator::Forms {
 public:
  explicit Forms(const Planner& planner)
      : planner_(planner),
        rings_(planner, kinds_),
        trees_(planner, kinds_),
        stripes_(planner, kinds_),
        messages_(planner, kinds_),
        textbook_(planner, kinds_) {}

  Prediction estimate(Bytes size, const NcclDecision& decision);
  /// Of a textbook's schedule, or of a single rank.
  Prediction estimate_textbook(Bytes size);
  const Planner& planner() const { return planner_; }
  /// Whether no formula knows the call: with faults, or through measured host memory.
  bool needs_plan() const;
  LayoutMemo* memo() { return &memo_; }
  /// What an estimate by the plan makes of faults, as a share of what it says without, times what
  /// the formula says without.
  Prediction with_faults(Prediction by_plan);

 private:
  Prediction outline(Bytes size, const NcclDecision& decision) const;
  void add_textbook(const Binding& binding, Protocol protocol, Prediction& prediction);
  FormTime collective(const NcclDecision& decision, const NcclCut& cut);
  FormTime ring(const NcclDecision& decision, const NcclCut& cut);
  FormTime tree(const PipelineCall& call, const NcclCut& cut);
  FormTime pat(const PipelineCall& call, const NcclCut& cut);
  FormTime messages(const NcclDecision& decision, std::uint32_t& channels);
  PipelineCall pipeline(const NcclDecision& decision, const NcclCut& cut) const;
  StepSetting setting(Protocol protocol, std::uint32_t warps, const Chunking& chunking) const;
  Seconds of_calls(const FormTime& time, const NcclDecision& decision,
                   std::uint32_t channels) const;
  Trust trust(const std::string& algorithm);
  const ThreadBlockCosts& costs(Protocol protocol);
  bool contends() const { return planner_.cost().corrections.link_contention > 0; }

  const Planner& planner_;
  std::set<LinkKind> kinds_;  // of hops so far
  RingShapes rings_;
  TreeShapes trees_;
  StripeShapes stripes_;
  MessageShapes messages_;
  TextbookShapes textbook_;
  std::map<std::uint32_t, PatShape> pats_;
  std::array<std::optional<ThreadBlockCosts>, protocol_count> costs_;
  std::map<std::string, Trust> trust_;
  LayoutMemo memo_;
  std::optional<Planner> healthy_;  // the same call without faults
  LayoutMemo healthy_memo_;
  std::unique_ptr<Forms> healthy_forms_;
};

Prediction Estimator::Forms::with_faults(Prediction by_plan) {
  if (planner_.spec().faults.empty()) return by_plan;
  if (!healthy_) {
    CallSpec spec = planner_.spec();
    spec.faults = {};
    healthy_.emplace(std::move(spec));
    healthy_forms_ = std::make_unique<Forms>(*healthy_);
  }
  if (healthy_forms_->needs_plan()) return by_plan;
  const Bytes size = by_plan.size;
  const Seconds without = estimate_by_plan(healthy_->plan(size, &healthy_memo_)).time;
  const Prediction formula = healthy_->nccl() == nullptr
                                 ? healthy_forms_->estimate_textbook(size)
                                 : healthy_forms_->estimate(size, healthy_->decide(size));
  if (without.value > 0) by_plan.time.value *= formula.time.value / without.value;
  by_plan.time = std::max(by_plan.time, by_plan.bounds.largest());
  return by_plan;
}

bool Estimator::Forms::needs_plan() const {
  if (!planner_.spec().faults.empty()) return true;
  if (planner_.nccl() == nullptr || !planner_.cost().memory.used) return false;
  const Rank per_node = planner_.ranks() / planner_.nccl()->nodes();
  for (Rank from = 0; from < per_node; ++from) {
    for (Rank to = 0; to < per_node; ++to) {
      if (from != to && planner_.nccl()->through_host_memory(from, to)) return true;
    }
  }
  return false;
}

const ThreadBlockCosts& Estimator::Forms::costs(Protocol protocol) {
  auto& known = costs_[static_cast<std::size_t>(protocol)];
  if (!known) known = thread_block_costs(planner_.cost(), protocol);
  return *known;
}

Prediction Estimator::Forms::estimate_textbook(Bytes size) {
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
  if (planner_.ranks() > 1 && binding.loops(0) > 0) add_textbook(binding, protocol, prediction);
  prediction.trust = trust(prediction.algorithm);
  return prediction;
}

/// To the time of the launch.
void Estimator::Forms::add_textbook(const Binding& binding, Protocol protocol,
                                    Prediction& prediction) {
  if (may_have_closed_form(planner_.cost(), protocol)) {
    if (const auto closed = textbook_.closed(binding, planner_.cost().of(protocol))) {
      // The terms know no launch.
      if (prediction.time.value == 0) prediction.form = closed->form;
      prediction.time += closed->time;
      return;
    }
  }
  TextbookCall call;
  call.protocol = protocol;
  call.setting = setting(protocol, full_warps(protocol), binding.chunking());
  call.loops = binding.loops(0);
  call.chunk = static_cast<double>(binding.chunk_bytes(0, 0, {0, 1}).count);
  const auto bytes = static_cast<double>(binding.bytes_of(0).count);
  const double chunks = call.loops * planner_.textbook_chunks();
  if (call.chunk > 0) call.filled = std::min(1.0, std::ceil(bytes / call.chunk) / chunks);
  const FormTime time = textbook_time(textbook_.shape(binding.channels()), costs(protocol), call);
  prediction.method = EstimateMethod::formula;
  prediction.time += Seconds{time.total};
  const Seconds issue = planner_.cost().issue_of(planner_.spec().collective, planner_.ranks());
  prediction.time = std::max({prediction.time, issue, prediction.bounds.largest()});
}

/// The first channel has the largest share.
PipelineCall Estimator::Forms::pipeline(const NcclDecision& decision, const NcclCut& cut) const {
  const NcclShare& share = cut.shares.front();
  PipelineCall call;
  call.protocol = decision.call.protocol;
  call.warps = decision.warps;
  call.loops = share.loops;
  call.full = static_cast<double>(share.full.count);
  call.last = static_cast<double>(std::min(share.last, share.last_total).count);
  call.credits = cut.credits;
  call.proxy = &planner_.cost().proxy;
  return call;
}

StepSetting Estimator::Forms::setting(Protocol protocol, std::uint32_t warps,
                                      const Chunking& chunking) const {
  return {warps, static_cast<double>(full_warps(protocol)), is_half_block(protocol, warps),
          chunking, &planner_.cost().proxy};
}

FormTime Estimator::Forms::ring(const NcclDecision& decision, const NcclCut& cut) {
  const NcclShare& share = cut.shares.front();
  const auto channels = static_cast<std::uint32_t>(cut.shares.size());
  RingCall call;
  call.collective = under_nccl(planner_.spec().collective);
  call.in_place = planner_.spec().run.in_place;
  call.ranks = planner_.ranks();
  call.loops = share.loops;
  call.full = static_cast<double>(share.full.count);
  call.last = static_cast<double>(std::min(share.last, share.last_total).count);
  call.filled = call.ranks;
  if (share.stride.count > 0) {
    call.filled =
        std::min<double>(call.ranks, std::ceil(static_cast<double>(share.last_total.count) /
                                               static_cast<double>(share.stride.count)));
  }
  call.setting = setting(decision.call.protocol, decision.warps,
                         {.largest_chunk = cut.chunk,
                          .slices = cut.slices,
                          .smallest_slice = cut.smallest_slice,
                          .slice_unit = 16 * decision.call.element_size,
                          .credits = cut.credits});
  call.startup =
      planner_.cost()
          .startup(decision.call.protocol, planner_.spec().collective, channels, decision.warps)
          .value;
  call.calls = planner_.calls();
  if (has_root(call.collective)) call.turn = rings_.turn(channels);
  FormTime longest;
  for (const Ring& ring : rings_.rings(used_channels(cut))) {
    longest = longer(longest, ring_time(ring, costs(decision.call.protocol), call));
  }
  return longest;
}

FormTime Estimator::Forms::tree(const PipelineCall& call, const NcclCut& cut) {
  FormTime longest;
  for (const TreeShape& tree : trees_.trees(used_channels(cut))) {
    longest = longer(longest, tree_time(tree, costs(call.protocol), call, contends()));
  }
  return longest;
}

/// All ranks are alike: the hops of the first few stand for all.
FormTime Estimator::Forms::pat(const PipelineCall& call, const NcclCut& cut) {
  const auto channels = static_cast<std::uint32_t>(cut.shares.size());
  const auto [found, added] = pats_.try_emplace(channels);
  PatShape& shape = found->second;
  if (added) {
    const Rank ranks = planner_.ranks();
    HopWires wires(planner_.topology(), planner_.spec().gpus, planner_.cost(),
                   planner_.hop_rules(NcclAlgorithm::pat));
    LinkUsers users(wires);
    shape.collective = planner_.spec().collective;
    shape.in_place = planner_.spec().run.in_place;
    shape.ranks = ranks;
    Wire longest;
    for (std::uint32_t channel = 0; channel < channels; ++channel) {
      for (Rank from = 0; from < std::min(ranks, window_of_nodes); ++from) {
        const Wire wire = wires.lay(channel, from, (from + 1) % ranks);
        users.add(wire);
        shape.slowest = std::max(shape.slowest, wire.kind);
        kinds_.insert(wire.kind);
        if (longest.resources.empty() || longest.latency < wire.latency) longest = wire;
      }
    }
    shape.hop = hop_class(longest, users, [&](ResourceId id) { return users.of(id); });
    if (!longest.network.empty()) shape.hop.sends = shape.hop.receives = channels;
  }
  return pat_time(shape, costs(call.protocol), call);
}

FormTime Estimator::Forms::messages(const NcclDecision& decision, std::uint32_t& channels) {
  const MessageShapes::Laid& laid = messages_.of(decision.parts);
  channels = laid.channels;
  const NcclCut cut = cut_nccl_messages(planner_.spec().collective, planner_.ranks(),
                                        decision.channels, decision.parts, decision.call);
  const NcclShare& share = cut.shares.front();
  if (share.loops == 0) return {};
  MessageCall call;
  call.protocol = decision.call.protocol;
  call.warps = warps_of_message(decision.warps, static_cast<std::uint32_t>(laid.shape.lanes));
  call.part = static_cast<double>(std::min(share.stride, share.last_total).count);
  call.mean_part = static_cast<double>(share.last_total.count) / decision.parts;
  call.chunk = static_cast<double>(share.full.count);
  call.proxy = &planner_.cost().proxy;
  call.in_step = planner_.cost().jitter == 0;
  return message_time(laid.shape, costs(decision.call.protocol), call);
}

/// What is known of the call before its time.
Prediction Estimator::Forms::outline(Bytes size, const NcclDecision& decision) const {
  const CallSpec& spec = planner_.spec();
  Prediction prediction;
  prediction.size = size;
  prediction.algorithm = "p2p";
  prediction.protocol = decision.call.protocol;
  prediction.method = EstimateMethod::formula;
  if (decision.candidate) {
    prediction.algorithm = nccl_report_name(decision.candidate->algorithm);
    prediction.nccl_estimate = microseconds(decision.candidate->time);
    prediction.wire_factor =
        wire_factor(spec.collective, decision.candidate->algorithm, planner_.ranks(),
                    planner_.ranks() / planner_.nccl()->nodes());
  }
  prediction.bounds = planner_.bounds(rounded_size(under_nccl(spec.collective), planner_.ranks(),
                                                   decision.call.size, decision.call.element_size));
  return prediction;
}

Prediction Estimator::Forms::estimate(Bytes size, const NcclDecision& decision) {
  Prediction prediction = outline(size, decision);
  FormTime time;
  if (decision.candidate) {
    const NcclCut cut = cut_nccl_call(under_nccl(planner_.spec().collective), planner_.ranks(),
                                      decision.channels, decision.call);
    prediction.channels = static_cast<std::uint32_t>(cut.shares.size());
    if (prediction.channels > 0) time = collective(decision, cut);
  } else {
    time = messages(decision, prediction.channels);
  }
  prediction.time = of_calls(time, decision, prediction.channels);
  prediction.time = std::max(prediction.time, prediction.bounds.largest());
  prediction.trust = trust(prediction.algorithm);
  return prediction;
}

FormTime Estimator::Forms::collective(const NcclDecision& decision, const NcclCut& cut) {
  const NcclAlgorithm algorithm = decision.call.algorithm;
  const auto channels = static_cast<std::uint32_t>(cut.shares.size());
  const PipelineCall call = pipeline(decision, cut);
  switch (algorithm) {
    case NcclAlgorithm::ring:
      return ring(decision, cut);
    case NcclAlgorithm::tree:
      return tree(call, cut);
    case NcclAlgorithm::pat:
      return pat(call, cut);
    case NcclAlgorithm::collnet_chain:
      return tree_time(trees_.chain(channels), costs(call.protocol), call, contends());
    case NcclAlgorithm::nvls:
    case NcclAlgorithm::nvls_tree:
    case NcclAlgorithm::collnet_direct:
      break;
  }
  return stripe_time(stripes_.shape(algorithm, channels), costs(call.protocol), call);
}

/// A call's time, of several in a row their mean: all but the first wait only for what keeps the
/// busiest rank busy.
Seconds Estimator::Forms::of_calls(const FormTime& time, const NcclDecision& decision,
                                   std::uint32_t channels) const {
  const Calibration& cost = planner_.cost();
  const Collective collective = planner_.spec().collective;
  const double startup =
      cost.startup(decision.call.protocol, collective, channels, decision.warps).value;
  const double calls = planner_.calls();
  const double between = std::max(startup + time.busy, time.apart);
  const double total = (startup + time.total + (calls - 1) * between) / calls;
  return std::max(Seconds{total}, cost.issue_of(collective, planner_.ranks()));
}

Trust Estimator::Forms::trust(const std::string& algorithm) {
  const auto [found, added] = trust_.try_emplace(algorithm);
  if (added) {
    const CallSpec& spec = planner_.spec();
    found->second =
        trust_of(spec.cost.trust, planner_.topology(), spec.gpus,
                 std::vector(kinds_.begin(), kinds_.end()), algorithm, !planner_.is_nccl());
  }
  return found->second;
}

Estimator::Estimator(const Planner& planner) : forms_(std::make_unique<Forms>(planner)) {}
Estimator::~Estimator() = default;
Estimator::Estimator(Estimator&&) noexcept = default;
Estimator& Estimator::operator=(Estimator&&) noexcept = default;

Prediction Estimator::estimate(Bytes size) {
  const Planner& planner = forms_->planner();
  if (forms_->needs_plan()) {
    return forms_->with_faults(estimate_by_plan(planner.plan(size, forms_->memo())));
  }
  if (planner.nccl() == nullptr) return forms_->estimate_textbook(size);
  return forms_->estimate(size, planner.decide(size));
}

Prediction Estimator::estimate(Bytes size, const Candidate& candidate) {
  const Planner& planner = forms_->planner();
  if (forms_->needs_plan() || planner.nccl() == nullptr)
    return estimate_by_plan(planner.plan(size, candidate, forms_->memo()));
  return forms_->estimate(size, planner.decide(size, candidate));
}

}  // namespace collsim
