#include "models/simulate/simulator.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "models/call/memory_need.h"
#include "models/simulate/folded_exchange.h"
#include "models/simulate/known_calls.h"
#include "models/simulate/scalable_textbook.h"
#include "models/simulate/small_cluster.h"
#include "sim/base/division.h"
#include "sim/execution/disturbance.h"
#include "sim/execution/effort.h"

namespace collsim {

namespace {

/// Whether every rank has a part of the buffer, which is smaller the more ranks there are.
bool is_cut_by_ranks(Collective collective, std::optional<NcclAlgorithm> algorithm) {
  if (!algorithm) return collective != Collective::send_recv;
  if (*algorithm == NcclAlgorithm::pat) return true;
  return *algorithm == NcclAlgorithm::ring && !has_root(collective);
}

std::optional<NcclAlgorithm> algorithm_of(const std::optional<Candidate>& choice) {
  return choice ? std::optional(choice->algorithm) : std::nullopt;
}

/// As many bytes for each rank as `size` has for each of `ranks`.
Bytes size_for(const CallCompiler& small, Bytes size, Rank ranks) {
  const std::int64_t unit = size_of(small.spec().run.reduction.type).count * small.ranks();
  const double share = static_cast<double>(small.ranks()) / ranks;
  const std::int64_t whole = size.count / unit;
  const auto units = static_cast<std::int64_t>(share * static_cast<double>(whole));
  return Bytes{std::max<std::int64_t>(units, 1) * unit};
}

/// More messages than this take seconds: ring, LL128, on 256 GPUs whose chunks are all unlike takes
/// 3 to 5 s for 8.4 million, and 0.6 s where equals are folded; trees whose messages contend for
/// links 7 us each.
constexpr double many_messages = 2e6;
/// Fewer ranks stand for no cluster.
constexpr Rank min_representatives = 32;
/// A steady call is continued from periods that are even to 1e-3 (SteadyState): more bytes by less
/// than this make no larger error.
constexpr double max_added = 1e-3;

/// What a message takes to simulate, and from where on a call is too long; on one core of 2026.
constexpr double seconds_per_ring_message = 6e-7;
constexpr double seconds_per_message = 3e-6;  // of trees: 2 us, 7 where they contend for links
constexpr double max_seconds = 5;

/// Of `share` of the ranks, which stand for all. A ring is steady as soon as can be. What else is
/// not folded contends for links, and takes longer to become so, if it does.
double likely_seconds(const CompiledCall& call, double share) {
  constexpr double patience = 4;
  const Effort effort = effort_of(execution_of(call));
  const bool is_nccl_ring = call.nccl_choice && call.nccl_choice->algorithm == NcclAlgorithm::ring;
  if (is_nccl_ring) return seconds_per_ring_message * share * effort.steady;
  if (is_textbook_ring(*call.compiler)) {
    return seconds_per_message_of_ring(*call.compiler, call.size) * share * effort.whole;
  }
  if (call.plan().collective == Collective::all_to_all) {
    const double ranks = share * call.compiler->ranks();
    return seconds_per_rank_of_exchange * ranks * share * effort.whole;
  }
  return seconds_per_message * share * std::min(effort.whole, patience * effort.steady);
}

bool takes_seconds(const CompiledCall& call) {
  return likely_seconds(call, 1) > max_seconds &&
         likely_seconds(call, folded_share(execution_of(call))) > max_seconds;
}

/// Where cables are busy for less than this share of the time, 64 ranks say what 128 do.
constexpr double busy_share_of_few = 0.1;

/// Fewer ranks are laid out in some milliseconds, pair by pair.
constexpr Rank min_ranks_to_fold_first = 128;

/// What the ranks of one node say of all.
Prediction of_all(Prediction prediction, const FoldedExchange& folded) {
  const CallCompiler& compiler = *folded.call.compiler;
  const Seconds launch = compiler.cost().startup(prediction.protocol, Collective::all_to_all, 1, 0);
  prediction.floor.latency = launch + folded.latency;
  prediction.time = std::max(prediction.time, folded.issue);
  prediction.mean_over_ranks = std::max(prediction.mean_over_ranks, folded.issue);
  prediction.transfers *= folded.copies;
  return prediction;
}

/// Of a textbook's all_to_all, twice as many ranks represent the cluster: where cables are busy, 64
/// ranks stay in step, of which half of the time is waiting, and larger clusters do not. (256 GPUs
/// of dgx-h100-x64, 1 GiB: 31 % too slow by 64 ranks.) Where everybody sends to all others at once,
/// half as many: 64 ranks have 64,000 messages on their way, and take 10 s.
Rank representatives(const CallCompiler& compiler, const Representation& representation) {
  const bool is_first = representation.max > representation.ranks;
  if (!is_first || !joins_every_pair(compiler)) return representation.ranks;
  return is_textbook_exchange(compiler) ? 2 * representation.ranks
                                        : std::max(representation.ranks / 2, min_representatives);
}

/// Simulated times that grow more, or less, than this many times as much as formulas say are of
/// calls that formulas see too little of; and where formulas say that a call takes as long on
/// fewer ranks but for this share, they say nothing of its growth.
constexpr double max_steepness = 2;
constexpr double min_growth = 1e-2;
/// Trees over fewer nodes grow unlike larger ones: over two, no node has both a parent and a child
/// in the same tree. all_reduce of 1 MiB on 64 DGX H100 comes out 5 % too fast from 2 and 4 nodes,
/// within 0.1 % from 4 and 8.
constexpr Rank min_nodes_of_tree = 4;

/// The least size from `size` on that a ring's channels cut into chunks of one size: NCCL's cells
/// (sim/nccl/nccl_chunking.h) are parts of 16 KiB, and chunks of a last loop are multiples of 16
/// bytes.
Bytes even_size(Bytes size, Rank ranks, std::uint32_t channels) {
  constexpr std::int64_t cell = 16 << 10;
  constexpr std::int64_t grain = 16;
  const std::int64_t unit = channels * std::lcm(cell, grain * ranks);
  return {divide_up(size.count, unit) * unit};
}

}  // namespace

struct Simulator::Small {
  std::optional<Candidate> choice;  // NCCL's for the whole
  Bytes size;

  CompiledCall plan(const CallCompiler& compiler, LayoutMemo& memo) const {
    return choice ? compiler.plan(size, *choice, &memo) : compiler.plan(size, &memo);
  }
  Seconds estimate(Estimator& estimator) const {
    return (choice ? estimator.estimate(size, *choice) : estimator.estimate(size)).time;
  }
};

Simulator::Simulator(const CallCompiler& compiler, SimulationOptions options,
                     Representation representation, KnownCalls* known)
    : compiler_(compiler),
      options_(std::move(options)),
      representation_(representation),
      known_(known) {}

Prediction Simulator::run(const CompiledCall& call, const SimulationOptions& options) const {
  return known_ != nullptr ? known_->simulate(call, options) : collsim::simulate(call, options);
}

bool Simulator::may_be_scaled() const {
  return !options_.exact && (compiler_.nccl() != nullptr || is_scalable_textbook(compiler_)) &&
         compiler_.ranks() > std::min(representation_.max, representation_.ranks);
}

/// The one place that decides whether a small cluster stands for the whole. Known before anything
/// is simulated; Prediction::extent says it afterwards.
bool Simulator::is_scaled(Bytes size, const Given& given) {
  if (!may_be_scaled()) return false;
  if (!compiler_.is_nccl()) {
    // An exchange of fewer is simulated whole: scaled ones may be off by half where cables are
    // busy.
    const bool is_small = compiler_.ranks() <= representation_.max;
    if (is_small && is_textbook_exchange(compiler_)) return false;
    if (max_seconds_of_textbook(compiler_, size) <= max_seconds) return false;
    if (!find_small_cluster()) return false;
    if (!joins_every_pair(compiler_)) {
      const CompiledCall call = plan(size, given);
      return takes_seconds(evened(call).value_or(call));
    }
    const CompiledCall small = small_call(size, given).plan(*small_, small_memo_);
    const Prediction estimate = estimator_->estimate(size);
    return likely_seconds_of_pairs(compiler_, size, folded_share(execution_of(small)), estimate) >
           max_seconds;
  }
  if (compiler_.ranks() <= representation_.max) {
    const CompiledCall call = plan(size, given);
    if (!takes_seconds(evened(call).value_or(call))) return false;
  }
  return find_small_cluster();
}

/// Once: there may be none.
bool Simulator::find_small_cluster() {
  if (looked_for_small_) return small_ != nullptr;
  looked_for_small_ = true;
  auto small = small_cluster(compiler_, representatives(compiler_, representation_));
  if (!small) return false;
  small_ = std::make_unique<const CallCompiler>(std::move(*small));
  estimator_.emplace(compiler_);
  small_estimator_.emplace(*small_);
  return true;
}

/// Nothing where the small cluster's call takes no seconds, or no fewer ranks would do.
Simulator* Simulator::smaller(const CompiledCall& small) {
  const Rank now = representatives(compiler_, representation_);
  if (now <= min_representatives) return nullptr;
  bool too_many = false;
  if (is_textbook_exchange(compiler_)) {
    const Prediction estimate = small_estimator_->estimate(small.size);
    too_many = likely_seconds_of_pairs(*small_, small.size, 1, estimate) > max_seconds ||
               (now > representation_.ranks && busy_share_of(estimate) < busy_share_of_few);
  } else {
    too_many = takes_seconds(small);
  }
  if (!too_many) return nullptr;
  const Rank ranks = std::max(now / 2, min_representatives);
  if (!smaller_) {
    smaller_ =
        std::make_unique<Simulator>(compiler_, options_, Representation{ranks, ranks}, known_);
  }
  return smaller_->find_small_cluster() ? smaller_.get() : nullptr;
}

/// Of the whole. It may be laid out only where there is memory for it.
CompiledCall Simulator::plan(Bytes size, const Given& given) {
  require_memory(compiler_, size);
  return given ? compiler_.plan(size, *given, &memo_) : compiler_.plan(size, &memo_);
}

struct Simulator::Healthy {
  Healthy(const CallCompiler& faulty, const CallCompiler* small_of_faulty,
          const SimulationOptions& options, Representation representation, KnownCalls* known)
      : compiler(faulty.with_faults({})), simulator(compiler, options, representation, known) {
    if (small_of_faulty == nullptr) return;
    small = std::make_unique<const CallCompiler>(small_of_faulty->with_faults({}));
    estimator.emplace(compiler);
  }

  const Prediction& simulate(Bytes size, const Given& given) {
    const PairOfGiven pair =
        given ? PairOfGiven({given->algorithm, given->protocol}) : std::nullopt;
    const auto known = predictions.find({size, pair});
    if (known != predictions.end()) return known->second;
    const Prediction found = given ? simulator.simulate(size, *given) : simulator.simulate(size);
    return predictions.emplace(std::pair(size, pair), found).first->second;
  }

  using PairOfGiven = std::optional<std::pair<NcclAlgorithm, Protocol>>;

  CallCompiler compiler;
  Simulator simulator;
  std::map<std::pair<Bytes, PairOfGiven>, Prediction> predictions;
  // Where the faulty machine is scaled: its small cluster without faults.
  std::unique_ptr<const CallCompiler> small;
  LayoutMemo small_memo;
  std::optional<Estimator> estimator;  // of the whole, likewise
};

Simulator::Healthy& Simulator::healthy() {
  if (!healthy_) {
    SimulationOptions options = options_;
    options.begin = nullptr;  // it is not what was asked for
    healthy_ = std::make_shared<Healthy>(compiler_, small_.get(), options, representation_, known_);
  }
  return *healthy_;
}

Prediction Simulator::simulate(Bytes size) {
  return beside_healthy(size, {});
}

Prediction Simulator::simulate(Bytes size, const Candidate& candidate) {
  return beside_healthy(size, candidate);
}

RepresentativeCall Simulator::representative(Bytes size) {
  if (!is_scaled(size, {})) return {compiler_, plan(size, {})};
  CompiledCall call = small_call(size, {}).plan(*small_, small_memo_);
  if (Simulator* by_fewer = smaller(call)) return by_fewer->representative(size);
  return {*small_, std::move(call)};
}

Prediction Simulator::beside_healthy(Bytes size, const Given& given) {
  Prediction prediction = on_machine(size, given);
  if (compiler_.spec().faults.empty() || !options_.beside_healthy) return prediction;
  const Prediction& without = healthy().simulate(size, given);
  raise_to(prediction, without.time);
  prediction.mean_over_ranks = std::max(prediction.mean_over_ranks, without.mean_over_ranks);
  return prediction;
}

Prediction Simulator::on_machine(Bytes size, const Given& given) {
  const bool may_fold = !options_.exact && options_.engine == Engine::native &&
                        compiler_.ranks() >= min_ranks_to_fold_first;
  if (may_fold && !given) {
    if (const auto folded = folded_exchange(compiler_, size, memo_)) {
      return of_all(run(folded->call, options_), *folded);
    }
  }
  if (is_scaled(size, given)) {
    try {
      return scaled(size, given);
    } catch (const HangError&) {
      small_.reset();  // the whole has to say which of its ranks wait
      healthy_.reset();
    }
  }
  const CompiledCall call = plan(size, given);
  if (const auto even = evened(call)) return simulate_evened(call, *even);
  return run(call, options_);
}

/// A long call of a ring whose chunks are unlike by a hair, so that no two ranks are equal: the
/// next larger one whose chunks are alike.
std::optional<CompiledCall> Simulator::evened(const CompiledCall& call) {
  if (is_textbook_ring(compiler_)) {
    if (options_.exact || likely_seconds(call, 1) <= max_seconds) return std::nullopt;
    const auto size = even_textbook_size(call, max_added);
    return size ? std::optional(compiler_.plan(*size, &memo_)) : std::nullopt;
  }
  const auto& choice = call.nccl_choice;
  const bool is_ring = choice && choice->algorithm == NcclAlgorithm::ring;
  const bool is_empty = call.partition.channels() == 0;
  if (options_.exact || !is_ring || is_empty ||
      compiler_.spec().collective != Collective::all_reduce) {
    return std::nullopt;
  }
  const Bytes size = even_size(call.size, compiler_.ranks(), call.partition.channels());
  const double added = static_cast<double>((size - call.size).count);
  const bool is_near = added <= max_added * static_cast<double>(call.size.count);
  if (size == call.size || !is_near || effort_of(execution_of(call)).steady < many_messages) {
    return std::nullopt;
  }
  return compiler_.plan(size, *choice, &memo_);
}

/// In proportion to the bytes.
Prediction Simulator::simulate_evened(const CompiledCall& call, const CompiledCall& even) {
  Prediction prediction = run(even, options_);
  const double scale = static_cast<double>(call.size.count) / static_cast<double>(even.size.count);
  const Prediction known = outline(call);
  prediction.size = call.size;
  prediction.bounds = known.bounds;
  prediction.floor = known.floor;
  prediction.mean_over_ranks = scale * prediction.mean_over_ranks;
  prediction.time = scale * prediction.time;
  raise_to(prediction,
           std::max(known.bounds.largest(), surely_needed(known.floor, compiler_.cost().jitter)));
  return prediction;
}

/// It is launched as the whole is: how many channels NCCL takes may depend on how many ranks there
/// are.
Simulator::Small Simulator::small_call(Bytes size, const Given& given) const {
  Small small{given, size};
  if (!given && compiler_.nccl() != nullptr) small.choice = compiler_.decide(size).candidate;
  if (small.choice) {
    const NcclDecision whole = compiler_.decide(size, *small.choice);
    small.choice->launch = LaunchSize{whole.channels, whole.call.threads};
  }
  if (is_cut_by_ranks(compiler_.spec().collective, algorithm_of(small.choice))) {
    small.size = size_for(*small_, size, compiler_.ranks());
  }
  return small;
}

Prediction Simulator::scaled(Bytes size, const Given& given) {
  const Small small = small_call(size, given);
  const CompiledCall call = small.plan(*small_, small_memo_);
  if (Simulator* by_fewer = smaller(call)) return by_fewer->on_machine(size, given);
  const Prediction simulated = run(call, options_);
  if (!compiler_.spec().faults.empty() && !model_sees_faults(size, given)) {
    return with_cost_on_top(size, given, simulated);
  }
  Prediction whole = given ? estimator_->estimate(size, *given) : estimator_->estimate(size);
  const double scale =
      growth(size, given, {simulated.time, small.estimate(*small_estimator_)}, whole.time);
  whole.time = scale * simulated.time;
  raise_to(whole, whole.bounds.largest());
  whole.mean_over_ranks = scale * simulated.mean_over_ranks;
  whole.transfers = simulated.transfers;
  whole.classes = simulated.classes;
  whole.extent = Extent::scaled;
  whole.method.reset();
  return whole;
}

/// How many times as long the whole takes as the small cluster: of a textbook's all_to_all by its
/// ranks, each of which is a step like those that half as many lack; of others by what a cluster of
/// half as many ranks takes less, or else by formulas alone: so where there are faults, which half
/// as many ranks meet at other places of their trees.
double Simulator::growth(Bytes size, const Given& given, const TwiceTimed& small,
                         Seconds estimated) {
  const double by_formulas = estimated.value / small.estimated.value;
  if (!compiler_.spec().faults.empty()) return by_formulas;
  const auto half = time_half(size, given);
  if (!half) return by_formulas;
  const double simulated_step = (small.simulated - half->simulated).value;
  if (is_textbook_exchange(compiler_)) {
    const Rank step = small_->ranks() - half_->small_->ranks();
    const double steps = static_cast<double>(compiler_.ranks() - small_->ranks()) / step;
    return 1 + steps * simulated_step / small.simulated.value;
  }
  const double estimated_step = (small.estimated - half->estimated).value;
  if (estimated_step <= min_growth * small.estimated.value) return by_formulas;
  const double steepness = simulated_step / estimated_step;
  if (steepness < 1 / max_steepness || steepness > max_steepness) return by_formulas;
  return 1 + steepness * (estimated - small.estimated).value / small.simulated.value;
}

/// The call of half as many ranks, simulated and by formulas; nothing where no such cluster has
/// fewer nodes, or has too few for what runs.
std::optional<Simulator::TwiceTimed> Simulator::time_half(Bytes size, const Given& given) {
  if (!half_) {
    const Rank ranks = small_->ranks() / 2;
    half_ = std::make_unique<Simulator>(compiler_, options_, Representation{ranks, ranks}, known_);
    half_->find_small_cluster();
  }
  if (!half_->small_ || half_->small_->ranks() >= small_->ranks()) return std::nullopt;
  const Small half = half_->small_call(size, given);
  const bool is_tree = half.choice && half.choice->algorithm != NcclAlgorithm::ring;
  if (is_tree && half_->small_->nccl()->nodes() < min_nodes_of_tree) return std::nullopt;
  SimulationOptions options = options_;
  options.begin = nullptr;  // it is not what was asked for
  const Prediction simulated = run(half.plan(*half_->small_, half_->small_memo_), options);
  return TwiceTimed{simulated.time, half.estimate(*half_->small_estimator_)};
}

/// Whether the model says that the faults cost the whole something.
bool Simulator::model_sees_faults(Bytes size, const Given& given) {
  constexpr double rounding = 1e-9;
  const auto time_by = [&](Estimator& estimator) {
    return (given ? estimator.estimate(size, *given) : estimator.estimate(size)).time.value;
  };
  return time_by(*estimator_) > time_by(*healthy().estimator) * (1 + rounding);
}

/// What the faults cost the small cluster comes on top of the time of the whole without them.
Prediction Simulator::with_cost_on_top(Bytes size, const Given& given, const Prediction& faulty) {
  const Small small = small_call(size, given);
  Healthy& without = healthy();
  SimulationOptions options = options_;
  options.begin = nullptr;
  const Prediction sound = run(small.plan(*without.small, without.small_memo), options);
  Prediction whole = without.simulate(size, given);
  whole.time += std::max(faulty.time - sound.time, Seconds{});
  whole.mean_over_ranks += std::max(faulty.mean_over_ranks - sound.mean_over_ranks, Seconds{});
  whole.transfers += faulty.transfers + sound.transfers;
  whole.classes = faulty.classes;
  return whole;
}

}  // namespace collsim
