#include "models/estimate/estimator.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "models/calibration/trust.h"
#include "models/call/far_above.h"
#include "models/call/machine_view.h"
#include "models/estimate/hop_cache.h"
#include "models/estimate/hop_classes.h"
#include "models/estimate/message_shapes.h"
#include "models/estimate/pat_time.h"
#include "models/estimate/ring_shapes.h"
#include "models/estimate/small_cluster.h"
#include "models/estimate/stripe_shapes.h"
#include "models/estimate/textbook_estimator.h"
#include "models/estimate/tree_shapes.h"
#include "sim/base/input_error.h"
#include "sim/cost/warps.h"
#include "sim/execution/effort.h"

namespace collsim {

/// The formulas of a machine as it is at one instant of a call.
class Estimator::Forms {
 public:
  Forms(const CallCompiler& compiler, Seconds at, HopCache* cache)
      : compiler_(compiler),
        view_(compiler, at),
        hops_(compiler, view_, cache, kinds_),
        rings_(compiler, hops_),
        trees_(compiler, hops_),
        stripes_(compiler, hops_),
        messages_(compiler, hops_) {}

  /// Were the machine so all the time.
  Prediction estimate(Bytes size, const NcclDecision& decision);

 private:
  Prediction outline(Bytes size, const NcclDecision& decision) const;
  FormulaTime collective(const NcclDecision& decision, const NcclChunking& cut);
  FormulaTime ring(const NcclDecision& decision, const NcclChunking& cut);
  FormulaTime tree(const PipelineCall& call, const NcclChunking& cut);
  PatShape pat_shape(std::uint32_t channels);
  FormulaTime pat(const PipelineCall& call, const NcclChunking& cut);
  FormulaTime chain(const PipelineCall& call, std::uint32_t channels);
  FormulaTime messages(const NcclDecision& decision, std::uint32_t& channels);
  PipelineCall pipeline(const NcclDecision& decision, const NcclChunking& cut) const;
  Seconds of_calls(const FormulaTime& time, const NcclDecision& decision,
                   std::uint32_t channels) const;
  Trust trust(const std::string& algorithm);
  /// What the hops so far cross.
  Medium medium() const;
  const ThreadBlockCosts& costs(Protocol protocol);
  bool contends() const { return contends_for_links(compiler_.cost()); }

  const CallCompiler& compiler_;
  MachineView view_;
  std::set<LinkKind> kinds_;  // of hops so far
  CallHops hops_;
  std::optional<RingPrograms> ring_programs_;
  RingShapes rings_;
  TreeShapes trees_;
  StripeShapes stripes_;
  MessageShapes messages_;
  std::map<std::uint32_t, PatShape> pats_;
  std::array<std::optional<ThreadBlockCosts>, protocol_count> costs_;
  std::optional<ThreadBlockCosts> nvls_costs_;  // of Simple, where NVSwitches add up
  std::map<std::string, Trust> trust_;
};

const ThreadBlockCosts& Estimator::Forms::costs(Protocol protocol) {
  auto& known = costs_[static_cast<std::size_t>(protocol)];
  if (!known) known = thread_block_costs(compiler_.cost(), protocol);
  return *known;
}

/// The first channel has the largest share.
PipelineCall Estimator::Forms::pipeline(const NcclDecision& decision,
                                        const NcclChunking& cut) const {
  const NcclShare& share = cut.shares.front();
  PipelineCall call;
  call.protocol = decision.call.protocol;
  call.warps = decision.warps;
  call.loops = share.loops;
  call.full = static_cast<double>(share.full.count);
  call.last = static_cast<double>(std::min(share.last, share.last_total).count);
  call.credits = cut.credits;
  call.cost = &compiler_.cost();
  call.synchronized = compiler_.cost().jitter == 0;
  return call;
}

FormulaTime Estimator::Forms::ring(const NcclDecision& decision, const NcclChunking& cut) {
  const NcclShare& share = cut.shares.front();
  const auto channels = static_cast<std::uint32_t>(cut.shares.size());
  RingCall call;
  if (!ring_programs_) {
    ring_programs_ = ring_programs(under_nccl(compiler_.spec().collective), compiler_.ranks(),
                                   compiler_.spec().run.in_place);
  }
  call.programs = &*ring_programs_;
  call.ranks = compiler_.ranks();
  call.loops = share.loops;
  call.full = static_cast<double>(share.full.count);
  call.last = static_cast<double>(std::min(share.last, share.last_total).count);
  call.filled = call.ranks;
  if (share.stride.count > 0) {
    call.filled =
        std::min<double>(call.ranks, std::ceil(static_cast<double>(share.last_total.count) /
                                               static_cast<double>(share.stride.count)));
  }
  call.setting = {decision.call.protocol,
                  decision.warps,
                  {.largest_chunk = cut.chunk,
                   .slices = cut.slices,
                   .smallest_slice = cut.smallest_slice,
                   .slice_unit = 16 * decision.call.element_size,
                   .credits = cut.credits},
                  &compiler_.cost()};
  call.startup =
      compiler_.cost()
          .startup(decision.call.protocol, compiler_.spec().collective, channels, decision.warps)
          .value;
  call.calls = compiler_.calls();
  if (!ring_programs_->in_step) call.turn = rings_.turn(channels);
  FormulaTime longest;
  for (const Ring& ring : rings_.rings(used_channels(cut))) {
    longest = longer(longest, ring_time(ring, costs(decision.call.protocol), call));
  }
  return longest;
}

FormulaTime Estimator::Forms::tree(const PipelineCall& call, const NcclChunking& cut) {
  FormulaTime longest;
  for (const TreeShape& tree : trees_.trees(used_channels(cut))) {
    longest = longer(longest, tree_time(tree, costs(call.protocol), call, contends()));
  }
  return longest;
}

/// Every rank is at every place in some tree: the hop that leaves least, of the first few ranks and
/// of those that faults touch, stands for all. All of them are at the same time.
PatShape Estimator::Forms::pat_shape(std::uint32_t channels) {
  PatShape shape;
  const Rank ranks = compiler_.ranks();
  shape.collective = compiler_.spec().collective;
  shape.in_place = compiler_.spec().run.in_place;
  shape.ranks = ranks;
  shape.speed = view_.min_speed();
  AlgorithmHops own = hops_.none(NcclAlgorithm::pat);
  LaidHops& laid = own.laid;
  for (std::uint32_t channel = 0; channel < channels; ++channel) {
    for (Rank from = 0; from < ranks; ++from) {
      const Rank to = (from + 1) % ranks;
      if (from < window_of_nodes || view_.touches_hop(from, to)) laid.lay(channel, from, to);
    }
  }
  const HopClasses classes(laid, {channels, 1}, std::vector<std::uint32_t>(channels));
  const LinkConditions now = hops_.now(laid);
  kinds_.insert(classes.kinds().begin(), classes.kinds().end());
  shape.slowest = *classes.kinds().rbegin();
  LaidHops::Id longest = 0;
  for (LaidHops::Id hop = 0; hop < laid.size(); ++hop) {
    if (laid.latency(longest, now) < laid.latency(hop, now)) longest = hop;
  }
  shape.hop = classes.of(longest, now);
  for (LaidHops::Id hop = 0; hop < laid.size(); ++hop) {
    if (!laid.is_changed(hop, now)) continue;
    const HopClass changed = classes.of(hop, now);
    if (changed.share(1) < shape.hop.share(1)) shape.hop = changed;
  }
  if (shape.hop.network_users > 0) shape.hop.sends = shape.hop.receives = channels;
  return shape;
}

FormulaTime Estimator::Forms::pat(const PipelineCall& call, const NcclChunking& cut) {
  const auto channels = static_cast<std::uint32_t>(cut.shares.size());
  const auto [found, added] = pats_.try_emplace(channels);
  if (added) found->second = pat_shape(channels);
  return pat_time(found->second, costs(call.protocol), call);
}

FormulaTime Estimator::Forms::messages(const NcclDecision& decision, std::uint32_t& channels) {
  const MessageShapes::Laid& laid = messages_.of(decision.parts);
  channels = laid.channels;
  const NcclChunking cut = chunk_nccl_messages(compiler_.spec().collective, compiler_.ranks(),
                                               decision.channels, decision.parts, decision.call);
  const NcclShare& share = cut.shares.front();
  if (share.loops == 0) return {};
  MessageCall call;
  call.protocol = decision.call.protocol;
  call.warps_of_block = decision.warps;
  call.warps = warps_of_message(decision.warps, static_cast<std::uint32_t>(laid.shape.lanes));
  call.part = static_cast<double>(std::min(share.stride, share.last_total).count);
  call.mean_part = static_cast<double>(share.last_total.count) / decision.parts;
  call.chunk = static_cast<double>(share.full.count);
  call.proxy = &compiler_.cost().proxy;
  call.synchronized = compiler_.cost().jitter == 0;
  return message_time(laid.shape, costs(decision.call.protocol), call);
}

/// What is known of the call before its time.
Prediction Estimator::Forms::outline(Bytes size, const NcclDecision& decision) const {
  const CallSpec& spec = compiler_.spec();
  Prediction prediction;
  prediction.size = size;
  prediction.algorithm = "p2p";
  prediction.protocol = decision.call.protocol;
  prediction.method = EstimateMethod::formula;
  if (decision.candidate) {
    prediction.algorithm = nccl_report_name(decision.candidate->algorithm);
    prediction.nccl_estimate = microseconds(decision.candidate->time);
    prediction.wire_factor =
        wire_factor(spec.collective, decision.candidate->algorithm, compiler_.ranks(),
                    compiler_.ranks() / compiler_.nccl()->nodes());
  }
  prediction.bounds =
      compiler_.bounds(rounded_size(under_nccl(spec.collective), compiler_.ranks(),
                                    decision.call.size, decision.call.element_size));
  return prediction;
}

Prediction Estimator::Forms::estimate(Bytes size, const NcclDecision& decision) {
  Prediction prediction = outline(size, decision);
  FormulaTime time;
  Bytes message = decision.call.buffers.point_to_point_chunk;
  if (decision.candidate) {
    const NcclChunking cut = chunk_nccl_call(under_nccl(compiler_.spec().collective),
                                             compiler_.ranks(), decision.channels, decision.call);
    prediction.channels = static_cast<std::uint32_t>(cut.shares.size());
    message.count = cut.chunk.count / cut.slices;
    if (prediction.channels > 0) time = collective(decision, cut);
  } else {
    time = messages(decision, prediction.channels);
  }
  prediction.time = of_calls(time, decision, prediction.channels);
  clamp_to(prediction, prediction.bounds.largest());
  check_not_far_above(compiler_, prediction, message);
  prediction.trust = trust_by(EstimateMethod::formula, trust(prediction.algorithm));
  prediction.medium = medium();
  return prediction;
}

FormulaTime Estimator::Forms::collective(const NcclDecision& decision, const NcclChunking& cut) {
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
      return chain(call, channels);
    case NcclAlgorithm::nvls:
    case NcclAlgorithm::nvls_tree:
    case NcclAlgorithm::collnet_direct:
      break;
  }
  const StripeShape& shape = stripes_.shape(algorithm, channels);
  if (!shape.in_switch) return stripe_time(shape, costs(call.protocol), call);
  if (!nvls_costs_) {
    nvls_costs_ = thread_block_costs(compiler_.cost_of(algorithm), call.protocol);
  }
  return stripe_time(shape, *nvls_costs_, call);
}

FormulaTime Estimator::Forms::chain(const PipelineCall& call, std::uint32_t channels) {
  FormulaTime longest;
  for (const TreeShape& chain : trees_.chains(channels)) {
    longest = longer(longest, tree_time(chain, costs(call.protocol), call, contends()));
  }
  return longest;
}

/// A call's time, of several in a row their mean: all but the first wait only for what keeps the
/// busiest rank busy.
Seconds Estimator::Forms::of_calls(const FormulaTime& time, const NcclDecision& decision,
                                   std::uint32_t channels) const {
  const Calibration& cost = compiler_.cost();
  const Collective collective = compiler_.spec().collective;
  const double startup =
      cost.startup(decision.call.protocol, collective, channels, decision.warps).value;
  const double calls = compiler_.calls();
  const double between = std::max(startup + time.busy, time.network_busy);
  const double total = (startup + time.total + (calls - 1) * between) / calls;
  return std::max(Seconds{total}, cost.issue_of(collective, compiler_.ranks(), channels));
}

Trust Estimator::Forms::trust(const std::string& algorithm) {
  const auto [found, added] = trust_.try_emplace(algorithm);
  if (added) {
    const CallSpec& spec = compiler_.spec();
    found->second =
        trust_of(spec.cost.trust, compiler_.topology(), spec.gpus,
                 std::vector(kinds_.begin(), kinds_.end()), algorithm, !compiler_.is_nccl());
  }
  return found->second;
}

Medium Estimator::Forms::medium() const {
  return medium_of(compiler_.cost(), std::vector(kinds_.begin(), kinds_.end()), compiler_.hosts());
}

namespace {

[[noreturn]] void refuse_dead_link() {
  throw InputError("a link is dead and nothing leads around it, which formulas cannot answer",
                   "`collsim run`, which says who waits in vain");
}

}  // namespace

/// Formulas for every state that a machine is in while a call runs.
class Estimator::States {
 public:
  States(const CallCompiler& compiler, HopCache* cache)
      : compiler_(compiler),
        hop_cache_(cache),
        instants_(instants_of(compiler.spec().faults)),
        forms_(instants_.size()),
        textbook_(instants_.size()) {}

  const CallCompiler& compiler() const { return compiler_; }
  Prediction estimate_textbook(Bytes size);
  Prediction estimate(Bytes size, const NcclDecision& decision);
  bool talks_through_memory() const;
  bool needs_plan();
  Prediction estimate_through_memory(Bytes size, const NcclDecision& decision);

 private:
  struct SmallCluster;
  Prediction estimate_laid_out(const CompiledCall& call, const NcclDecision& decision);
  SmallCluster* small();
  Prediction estimate_in(std::size_t state, Bytes size, const NcclDecision& decision);
  TextbookEstimator& textbook_in(std::size_t state);
  template <typename InState>
  Prediction through_states(const InState& in_state) const;
  Seconds latest() const;

  const CallCompiler& compiler_;
  HopCache* hop_cache_;
  std::vector<Seconds> instants_;                             // at which a state begins
  std::vector<std::unique_ptr<Forms>> forms_;                 // by state, as they are needed
  std::vector<std::unique_ptr<TextbookEstimator>> textbook_;  // the same
  LayoutCache layout_cache_;
  bool has_looked_for_small_ = false;
  std::unique_ptr<SmallCluster> small_;
};

/// What stands for a large cluster.
struct Estimator::States::SmallCluster {
  explicit SmallCluster(CallSpec spec) : compiler(std::move(spec)) {}
  CallCompiler compiler;
  States states{compiler, nullptr};
};

Prediction Estimator::States::estimate_in(std::size_t state, Bytes size,
                                          const NcclDecision& decision) {
  if (!forms_[state])
    forms_[state] = std::make_unique<Forms>(compiler_, instants_[state], hop_cache_);
  return forms_[state]->estimate(size, decision);
}

/// How long after the others the last rank begins.
Seconds Estimator::States::latest() const {
  std::map<Rank, Seconds> ranks;
  for (const RankFault& fault : compiler_.spec().faults.ranks) ranks[fault.rank] += fault.late;
  std::map<std::int32_t, Seconds> hosts;
  for (const HostFault& fault : compiler_.spec().faults.hosts) hosts[fault.node] += fault.late;
  Seconds latest;
  for (const auto& [node, late] : hosts) latest = std::max(latest, late);
  for (const auto& [rank, late] : ranks) {
    const auto host = hosts.find(compiler_.topology().node_of(compiler_.spec().gpus[rank]));
    latest = std::max(latest, host == hosts.end() ? late : late + host->second);
  }
  return latest;
}

TextbookEstimator& Estimator::States::textbook_in(std::size_t state) {
  auto& known = textbook_[state];
  if (!known) known = std::make_unique<TextbookEstimator>(compiler_, instants_[state]);
  return *known;
}

Prediction Estimator::States::estimate_textbook(Bytes size) {
  const auto in_state = [&](std::size_t state) {
    try {
      return textbook_in(state).estimate(size);
    } catch (const HangError&) {
      Prediction never;
      never.time = Seconds{std::numeric_limits<double>::infinity()};
      return never;
    }
  };
  if (!textbook_in(0).is_whole()) return through_states(in_state);
  Prediction prediction = in_state(0);
  if (prediction.time.value > stands_still) refuse_dead_link();
  return prediction;
}

Prediction Estimator::States::estimate(Bytes size, const NcclDecision& decision) {
  return through_states([&](std::size_t state) { return estimate_in(state, size, decision); });
}

/// Nothing moves before the last rank begins. From then on a state that would have the call take T
/// moves a part dt / T of it in dt.
template <typename InState>
Prediction Estimator::States::through_states(const InState& in_state) const {
  const double calls = compiler_.calls();
  double begun = latest().value;
  double left = 1;
  for (std::size_t state = 0; state < instants_.size(); ++state) {
    const bool last = state + 1 == instants_.size();
    if (!last && instants_[state + 1].value <= begun) continue;
    Prediction prediction = in_state(state);
    const double all = calls * prediction.time.value;
    const bool stands = prediction.time.value > stands_still;
    // A call that moves nothing waits for nobody.
    if (!stands && prediction.bounds.largest().value <= 0) return prediction;
    const double end = begun + left * all;
    if (!stands && (last || end <= instants_[state + 1].value)) {
      prediction.time = Seconds{end / calls};
      clamp_to(prediction, prediction.bounds.largest());
      return prediction;
    }
    if (last) break;
    if (!stands) left -= (instants_[state + 1].value - begun) / all;
    begun = instants_[state + 1].value;
  }
  refuse_dead_link();
}

/// The formula knows links alone, and takes longer than what they carry for a rest: latencies,
/// costs per slice, filling the pipeline. Where host memory is what limits, its time counts, and
/// half of that rest: the other half passes while host memory works. The whole plan, which adds up
/// what it takes to fill, is never exceeded; of more messages it is not known, since its longest
/// chain takes seconds, and over 600 MB, to follow. That it is half is a choice (docs/formulas.md).
constexpr double rest_beside_memory = 0.5;
constexpr double max_messages_followed = 4e6;

Prediction Estimator::States::estimate_laid_out(const CompiledCall& call,
                                                const NcclDecision& decision) {
  CompiledCall links_alone = call;
  links_alone.own_wiring = nullptr;  // the layout's, in which host memory has no limit
  const Seconds form = estimate(call.size, decision).time;
  const Seconds rest = form - collsim::outline(links_alone).floor.largest();
  const bool is_followed = effort_of(execution_of(call)).whole <= max_messages_followed;
  Prediction prediction = is_followed ? estimate_by_plan(call) : collsim::outline(call);
  const Seconds through_memory = prediction.floor.largest() + rest_beside_memory * rest;
  const Seconds time = is_followed ? std::min(prediction.time, through_memory) : through_memory;
  prediction.time = std::max(form, time);
  clamp_to(prediction, std::max(prediction.bounds.largest(), prediction.floor.largest()));
  return prediction;
}

/// The longest chain of a larger cluster takes seconds, and a GB, to follow.
constexpr Rank max_ranks_laid_out = 256;

/// Null where the cluster is not large, or none is like it. A chain from or to a root grows with
/// all of its hops, as its plan alone says.
Estimator::States::SmallCluster* Estimator::States::small() {
  const bool is_large = compiler_.ranks() > max_ranks_laid_out;
  if (!has_looked_for_small_ && is_large && !has_root(compiler_.spec().collective)) {
    constexpr Rank ranks = 64;
    auto spec = small_cluster(compiler_, ranks, Likeness::near);
    if (spec) small_ = std::make_unique<SmallCluster>(std::move(*spec));
  }
  has_looked_for_small_ = true;
  return small_.get();
}

bool Estimator::States::talks_through_memory() const {
  return compiler_.nccl() != nullptr && compiler_.cost().memory.used &&
         compiler_.nccl()->talks_through_host_memory();
}

bool Estimator::States::needs_plan() {
  return talks_through_memory() && small() == nullptr;
}

/// Whether the size counts a part for every rank: one byte is none for two.
bool has_parts_of_ranks(Collective collective) {
  return rounded_size(collective, 2, Bytes{1}, Bytes{1}).count == 0;
}

/// As many bytes cross the host memory of a node of a small cluster. What comes on top of it grows
/// as the forms say. Where every further rank adds a part, and a step that moves it, all grows by
/// as many times.
Prediction Estimator::States::estimate_through_memory(Bytes size, const NcclDecision& decision) {
  const auto& choice = decision.candidate;
  if (small() == nullptr) {
    return estimate_laid_out(choice ? compiler_.plan(size, *choice, &layout_cache_)
                                    : compiler_.plan(size, &layout_cache_),
                             decision);
  }
  const CallCompiler& compiler = small_->compiler;
  const bool has_parts = has_parts_of_ranks(compiler.spec().collective);
  const Bytes part = has_parts ? size_for(compiler, size, compiler_.ranks()) : size;
  NcclDecision of_small = compiler.decide(part);
  if (choice) {
    Candidate launched = *choice;
    launched.launch = LaunchSize{decision.channels, decision.call.threads};
    of_small = compiler.decide(part, launched);
  }
  const Prediction laid_out = small_->states.estimate_through_memory(part, of_small);
  const Seconds by_form = small_->states.estimate(part, of_small).time;
  Prediction prediction = estimate(size, decision);
  const Seconds more = rest_beside_memory * (prediction.time - by_form);
  prediction.time = has_parts ? (laid_out.time.value / by_form.value) * prediction.time
                              : std::max(prediction.time, laid_out.time + more);
  prediction.method = laid_out.method;
  prediction.form.reset();
  return prediction;
}

Estimator::Estimator(const CallCompiler& compiler, HopCache* cache)
    : states_(std::make_unique<States>(compiler, cache)) {}
Estimator::~Estimator() = default;
Estimator::Estimator(Estimator&&) noexcept = default;
Estimator& Estimator::operator=(Estimator&&) noexcept = default;

bool Estimator::needs_plan() const {
  return states_->needs_plan();
}

Prediction Estimator::estimate(Bytes size) {
  const CallCompiler& compiler = states_->compiler();
  if (compiler.nccl() == nullptr) return states_->estimate_textbook(size);
  const NcclDecision decision = compiler.decide(size);
  return states_->talks_through_memory() ? states_->estimate_through_memory(size, decision)
                                         : states_->estimate(size, decision);
}

Prediction Estimator::estimate(Bytes size, const Candidate& candidate) {
  const CallCompiler& compiler = states_->compiler();
  if (compiler.nccl() == nullptr) {
    return estimate_by_plan(compiler.plan(size, candidate));
  }
  const NcclDecision decision = compiler.decide(size, candidate);
  return states_->talks_through_memory() ? states_->estimate_through_memory(size, decision)
                                         : states_->estimate(size, decision);
}

}  // namespace collsim
