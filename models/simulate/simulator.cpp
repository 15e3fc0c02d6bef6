#include "models/simulate/simulator.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "models/call/memory_need.h"
#include "models/estimate/small_cluster.h"
#include "models/simulate/folded_exchange.h"
#include "models/simulate/known_calls.h"
#include "models/simulate/likely_seconds.h"
#include "models/simulate/scalable_textbook.h"
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

/// More messages than this take seconds: ring, LL128, on 256 GPUs whose chunks are all unlike takes
/// 3 to 5 s for 8.4 million, and 0.6 s where equals are folded; trees whose messages contend for
/// links 7 us each.
constexpr double many_messages = 2e6;
/// Fewer ranks stand for no cluster.
constexpr Rank min_representatives = 32;
/// A steady call is continued from periods that are even to 1e-3 (SteadyState): more bytes by less
/// than this make no larger error.
constexpr double max_added = 1e-3;

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

/// No simulation takes so many times what formulas say: 1.14 at the most, of 330 calls of 32 to 512
/// GPUs of six clusters.
constexpr double max_off_of_estimates = 1.5;

/// A textbook's all_to_all of no more ranks is simulated whole.
constexpr Rank max_ranks_of_whole_exchange = 256;

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
  explicit Small(CallSpec spec) : compiler(std::move(spec)), estimator(compiler) {}

  CallCompiler compiler;
  Estimator estimator;
  LayoutMemo memo;
};

struct Simulator::SmallCall {
  Small& cluster;
  std::optional<Candidate> choice;  // NCCL's for the whole
  CompiledCall call;

  Seconds estimate() const {
    Estimator& estimator = cluster.estimator;
    return (choice ? estimator.estimate(call.size, *choice) : estimator.estimate(call.size)).time;
  }
};

Simulator::Simulator(const CallCompiler& compiler, SimulationOptions options,
                     SimulationBudget budget, KnownCalls* known)
    : compiler_(compiler), options_(std::move(options)), budget_(budget), known_(known) {}

Prediction Simulator::run(const CompiledCall& call, const SimulationOptions& options) const {
  return known_ != nullptr ? known_->simulate(call, options) : collsim::simulate(call, options);
}

bool Simulator::may_be_scaled() const {
  return may_scale_ && !options_.exact && compiler_.ranks() > min_representatives &&
         (compiler_.nccl() != nullptr || is_scalable_textbook(compiler_));
}

/// The one place that decides whether a small cluster stands for the whole. Known before anything
/// is simulated; Prediction::extent says it afterwards.
bool Simulator::is_scaled(Bytes size, const Given& given) {
  return may_be_scaled() && !is_within_budget(size, given) &&
         small_of(min_representatives) != nullptr;
}

bool Simulator::is_within_budget(Bytes size, const Given& given) {
  if (!compiler_.is_nccl()) return is_textbook_within_budget(size, given);
  if (compiler_.ranks() > budget_.max_ranks) return false;
  const CompiledCall call = plan(size, given);
  return !takes_longer(evened(call).value_or(call), budget_.max_seconds);
}

bool Simulator::is_textbook_within_budget(Bytes size, const Given& given) {
  // Small exchanges are simulated whole: scaled ones may be off by half where cables are busy.
  const bool is_small = compiler_.ranks() <= max_ranks_of_whole_exchange;
  if (is_small && is_textbook_exchange(compiler_)) return true;
  if (max_seconds_of_textbook(compiler_, size) <= budget_.max_seconds) return true;
  if (!joins_every_pair(compiler_)) {
    const CompiledCall call = plan(size, given);
    return !takes_longer(evened(call).value_or(call), budget_.max_seconds);
  }
  Small* const small = small_of(min_representatives);
  if (small == nullptr) return true;
  const double share = folded_share(execution_of(call_on(*small, size, given).call));
  const Prediction estimate = estimator().estimate(size);
  return likely_seconds_of_pairs(compiler_, size, share, estimate) <= budget_.max_seconds;
}

Estimator& Simulator::estimator() {
  if (!estimator_) estimator_.emplace(compiler_);
  return *estimator_;
}

/// The small cluster of about so many ranks; null where none is like the whole. Few nodes of many
/// ranks are the same cluster for several numbers.
Simulator::Small* Simulator::small_of(Rank ranks) {
  auto [small, is_new] = smalls_.try_emplace(ranks);
  if (!is_new) return small->second.get();
  auto spec = small_cluster(compiler_, ranks);
  if (!spec) return nullptr;
  const auto same = std::find_if(smalls_.begin(), smalls_.end(), [&](const auto& other) {
    return other.second && other.second->compiler.ranks() == spec->gpus.size();
  });
  small->second = same != smalls_.end() ? same->second : std::make_shared<Small>(std::move(*spec));
  return small->second.get();
}

/// Of the largest small cluster that `fits`, or else of the smallest.
template <typename Fits>
Simulator::SmallCall Simulator::representing(Bytes size, const Given& given, const Fits& fits) {
  Small* const smallest = small_of(min_representatives);
  for (Rank ranks = budget_.max_ranks; ranks > min_representatives; ranks /= 2) {
    Small* const small = small_of(ranks);
    if (small == smallest) break;
    if (small == nullptr) continue;
    SmallCall found = call_on(*small, size, given);
    if (fits(found)) return found;
  }
  return call_on(*smallest, size, given);
}

bool Simulator::is_small_within_budget(const SmallCall& small) {
  if (!joins_every_pair(small.cluster.compiler)) {
    return !takes_longer(small.call, budget_.max_seconds);
  }
  const Prediction estimate = small.cluster.estimator.estimate(small.call.size);
  return likely_seconds_of_pairs(small.cluster.compiler, small.call.size, 1, estimate) <=
         budget_.max_seconds;
}

/// Of the whole. It may be laid out only where there is memory for it.
CompiledCall Simulator::plan(Bytes size, const Given& given) {
  require_memory(compiler_, size);
  return given ? compiler_.plan(size, *given, &memo_) : compiler_.plan(size, &memo_);
}

struct Simulator::Healthy {
  Healthy(const CallCompiler& faulty, const SimulationOptions& options, SimulationBudget budget,
          KnownCalls* known)
      : compiler(faulty.with_faults({})),
        simulator(compiler, options, budget, known),
        estimator(compiler) {}

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
  Estimator estimator;
  std::map<std::pair<Bytes, PairOfGiven>, Prediction> predictions;
};

Simulator::Healthy& Simulator::healthy() {
  if (!healthy_) {
    SimulationOptions options = options_;
    options.begin = nullptr;  // it is not what was asked for
    healthy_ = std::make_shared<Healthy>(compiler_, options, budget_, known_);
  }
  return *healthy_;
}

Prediction Simulator::simulate(Bytes size) {
  return beside_healthy(size, {});
}

Prediction Simulator::simulate(Bytes size, const Candidate& candidate) {
  return beside_healthy(size, candidate);
}

RepresentativeCall Simulator::representative(Bytes size, double max_messages) {
  const auto has_few = [&](const CompiledCall& call) {
    Execution execution = execution_of(call);
    execution.calls = 1;
    return effort_of(execution).whole <= max_messages;
  };
  const bool may_be_small = may_be_scaled() && small_of(min_representatives) != nullptr;
  if (!may_be_small || compiler_.ranks() <= budget_.max_ranks) {
    CompiledCall whole = plan(size, {});
    if (!may_be_small || has_few(whole)) return {compiler_, std::move(whole)};
  }
  SmallCall small =
      representing(size, {}, [&](const SmallCall& each) { return has_few(each.call); });
  return {small.cluster.compiler, std::move(small.call)};
}

Prediction Simulator::beside_healthy(Bytes size, const Given& given) {
  Prediction prediction = on_machine(size, given);
  if (compiler_.spec().faults.empty() || !options_.beside_healthy) return prediction;
  if (is_clearly_slower(prediction, size, given)) return prediction;
  const Prediction& without = healthy().simulate(size, given);
  raise_to(prediction, without.time);
  prediction.mean_over_ranks = std::max(prediction.mean_over_ranks, without.mean_over_ranks);
  return prediction;
}

/// Whether the call takes so much longer than formulas say of the machine without its faults, that
/// there is no need to simulate that.
bool Simulator::is_clearly_slower(const Prediction& prediction, Bytes size, const Given& given) {
  Estimator& estimator = healthy().estimator;
  const Seconds estimated =
      (given ? estimator.estimate(size, *given) : estimator.estimate(size)).time;
  return prediction.time > max_off_of_estimates * estimated;
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
      may_scale_ = false;  // the whole has to say which of its ranks wait
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
    if (options_.exact || likely_seconds(call, 1) <= budget_.max_seconds) return std::nullopt;
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
  if (size == call.size || !is_near || simulated_effort(call).steady < many_messages) {
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
Simulator::SmallCall Simulator::call_on(Small& small, Bytes size, const Given& given) {
  Given choice = given;
  if (!choice && compiler_.nccl() != nullptr) choice = compiler_.decide(size).candidate;
  if (choice) {
    const NcclDecision whole = compiler_.decide(size, *choice);
    choice->launch = LaunchSize{whole.channels, whole.call.threads};
  }
  Bytes small_size = size;
  if (is_cut_by_ranks(compiler_.spec().collective, algorithm_of(choice))) {
    small_size = size_for(small.compiler, size, compiler_.ranks());
  }
  CompiledCall call = choice ? small.compiler.plan(small_size, *choice, &small.memo)
                             : small.compiler.plan(small_size, &small.memo);
  return {small, choice, std::move(call)};
}

Prediction Simulator::scaled(Bytes size, const Given& given) {
  const SmallCall small = representing(
      size, given, [&](const SmallCall& each) { return is_small_within_budget(each); });
  const Prediction simulated = run(small.call, options_);
  Prediction whole = given ? estimator().estimate(size, *given) : estimator().estimate(size);
  const Seconds more = compiler_.is_nccl() ? whole.time - small.estimate()
                                           : time_of_more_ranks(small, simulated.time, size);
  whole.time = simulated.time + more;
  raise_to(whole, whole.bounds.largest());
  whole.mean_over_ranks = simulated.mean_over_ranks + more;
  whole.transfers = simulated.transfers;
  whole.classes = simulated.classes;
  whole.extent = Extent::scaled;
  whole.method.reset();
  return whole;
}

/// Of a textbook's call: a rank adds to it what the ranks add of which half of the small cluster is
/// short of the small cluster.
Seconds Simulator::time_of_more_ranks(const SmallCall& small, Seconds simulated, Bytes size) {
  const Rank ranks = small.cluster.compiler.ranks();
  Small* const half = small_of(ranks / 2);
  if (half == nullptr) return Seconds{};
  SimulationOptions options = options_;
  options.begin = nullptr;  // it is not what was asked for
  const Seconds of_half = run(call_on(*half, size, {}).call, options).time;
  const double step = ranks - half->compiler.ranks();
  return (compiler_.ranks() - ranks) / step * (simulated - of_half);
}

}  // namespace collsim
