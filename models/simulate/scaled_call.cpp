#include "models/simulate/scaled_call.h"

#include <algorithm>
#include <utility>

#include "models/estimate/small_cluster.h"
#include "models/simulate/likely_seconds.h"
#include "models/simulate/scalable_textbook.h"
#include "sim/execution/effort.h"
#include "sim/execution/machine_events.h"
#include "sim/execution/symmetry.h"

namespace collsim {

namespace {

/// Fewer ranks stand for no cluster.
constexpr Rank min_representatives = 32;

/// A textbook's all_to_all of no more ranks is simulated whole.
constexpr Rank max_ranks_of_whole_exchange = 256;

/// Whether every rank has a part of the buffer, which is smaller the more ranks there are.
bool is_cut_by_ranks(Collective collective, const std::optional<Candidate>& choice) {
  if (!choice) return collective != Collective::send_recv;
  if (choice->algorithm == NcclAlgorithm::pat) return true;
  return choice->algorithm == NcclAlgorithm::ring && !has_root(collective);
}

}  // namespace

bool ScaledCall::may_scale() const {
  const CallCompiler& compiler = model().compiler();
  return may_scale_ && compiler.ranks() > min_representatives &&
         (compiler.nccl() != nullptr || is_scalable_textbook(compiler));
}

bool ScaledCall::applies(AskedCall& call) {
  return may_scale() && !is_within_budget(call) && small_of(min_representatives) != nullptr;
}

std::optional<Prediction> ScaledCall::predict(AskedCall& call) {
  if (!applies(call)) return std::nullopt;
  try {
    return scaled(call);
  } catch (const HangError&) {
    may_scale_ = false;  // the whole has to say which of its ranks wait
    return std::nullopt;
  }
}

bool ScaledCall::is_within_budget(AskedCall& call) {
  if (!compiler().is_nccl()) return is_textbook_within_budget(call);
  if (compiler().ranks() > model().budget().max_ranks) return false;
  return !takes_longer(evened_.evened(call.plan()).value_or(call.plan()),
                       model().budget().max_seconds);
}

bool ScaledCall::is_textbook_within_budget(AskedCall& call) {
  const CallCompiler& compiler = model().compiler();
  const double most = model().budget().max_seconds;
  // Small exchanges are simulated whole: scaled ones may be off by half where cables are busy.
  const bool is_small = compiler.ranks() <= max_ranks_of_whole_exchange;
  if (is_small && is_textbook_exchange(compiler)) return true;
  if (max_seconds_of_textbook(compiler, call.size()) <= most) return true;
  if (!joins_every_pair(compiler)) {
    return !takes_longer(evened_.evened(call.plan()).value_or(call.plan()), most);
  }
  CallModel* const small = small_of(min_representatives);
  if (small == nullptr) return true;
  const Execution execution = execution_of(call_on(*small, call).call);
  const double share = folded_share(execution, max_share_of_classes);
  return likely_seconds_of_pairs(compiler, call.size(), share, call.estimate()) <= most;
}

/// The small cluster of about so many ranks; null where none is like the whole. Few nodes of many
/// ranks are the same cluster for several numbers.
CallModel* ScaledCall::small_of(Rank ranks) {
  auto [small, is_new] = smalls_.try_emplace(ranks);
  if (!is_new) return small->second.get();
  auto spec = small_cluster(compiler(), ranks);
  if (!spec) return nullptr;
  const auto same = std::find_if(smalls_.begin(), smalls_.end(), [&](const auto& other) {
    return other.second && other.second->compiler().ranks() == spec->gpus.size();
  });
  small->second =
      same != smalls_.end()
          ? same->second
          : std::make_shared<CallModel>(std::make_shared<const CallCompiler>(std::move(*spec)),
                                        model().method());
  return small->second.get();
}

/// Of the largest small cluster that `fits` into `max_seconds`, or else of the smallest. What takes
/// longer to lay out is not looked at, to judge by the smallest.
template <typename Fits>
ScaledCall::SmallCall ScaledCall::representing(const AskedCall& asked, double max_seconds,
                                               const Fits& fits) {
  CallModel* const smallest = small_of(min_representatives);
  SmallCall least = call_on(*smallest, asked);
  const double of_rank = likely_seconds_of_layout(least.call) / smallest->compiler().ranks();
  for (Rank ranks = model().budget().max_ranks; ranks > min_representatives; ranks /= 2) {
    CallModel* const small = small_of(ranks);
    if (small == smallest) break;
    if (small == nullptr || of_rank * small->compiler().ranks() > max_seconds) continue;
    SmallCall found = call_on(*small, asked);
    if (fits(found)) return found;
  }
  return least;
}

bool ScaledCall::is_small_within_budget(const SmallCall& small) const {
  const CallCompiler& compiler = small.cluster.compiler();
  const double most = model().budget().max_seconds;
  if (!joins_every_pair(compiler)) return !takes_longer(small.call, most);
  const Prediction estimate = small.cluster.estimate(small.call.size, {});
  return likely_seconds_of_pairs(compiler, small.call.size, 1, estimate) <= most;
}

/// It is launched as the whole is: how many channels NCCL takes may depend on how many ranks there
/// are.
ScaledCall::SmallCall ScaledCall::call_on(CallModel& small, const AskedCall& asked) const {
  const CallCompiler& compiler = model().compiler();
  std::optional<Candidate> choice = asked.given();
  if (!choice && compiler.nccl() != nullptr) choice = compiler.decide(asked.size()).candidate;
  if (choice) {
    const NcclDecision whole = compiler.decide(asked.size(), *choice);
    choice->launch = LaunchSize{whole.channels, whole.call.threads};
  }
  Bytes size = asked.size();
  if (is_cut_by_ranks(compiler.spec().collective, choice)) {
    size = size_for(small.compiler(), size, compiler.ranks());
  }
  return {small, choice, small.plan(size, choice)};
}

Prediction ScaledCall::scaled(const AskedCall& asked) {
  const SmallCall small =
      representing(asked, model().budget().max_seconds,
                   [&](const SmallCall& each) { return is_small_within_budget(each); });
  const Prediction simulated = model().run(small.call);
  Prediction whole = asked.estimate();
  const Seconds more = compiler().is_nccl()
                           ? whole.time - small.cluster.estimate(small.call.size, small.choice).time
                           : time_of_more_ranks(small, simulated.time, asked);
  whole.time = simulated.time + more;
  clamp_to(whole, whole.bounds.largest());
  whole.mean_over_ranks = simulated.mean_over_ranks + more;
  whole.transfers = simulated.transfers;
  whole.classes = simulated.classes;
  whole.extent = Extent::scaled;
  whole.method.reset();
  return whole;
}

/// Of a textbook's call: a rank adds to it what the ranks add of which half of the small cluster is
/// short of the small cluster.
Seconds ScaledCall::time_of_more_ranks(const SmallCall& small, Seconds simulated,
                                       const AskedCall& asked) {
  const Rank ranks = small.cluster.compiler().ranks();
  CallModel* const half = small_of(ranks / 2);
  if (half == nullptr) return Seconds{};
  const bool is_asked = false;
  const Seconds of_half = model().run(call_on(*half, asked).call, is_asked).time;
  const double step = ranks - half->compiler().ranks();
  return (compiler().ranks() - ranks) / step * (simulated - of_half);
}

RepresentativeCall ScaledCall::representative(AskedCall& call, double max_seconds) {
  const auto is_short = [&](const CompiledCall& each) {
    return likely_seconds_by_message(each) <= max_seconds;
  };
  const bool may_be_small = may_scale() && small_of(min_representatives) != nullptr;
  if (!may_be_small ||
      (compiler().ranks() <= model().budget().max_ranks && is_short(call.plan()))) {
    return {compiler(), call.plan()};
  }
  SmallCall small =
      representing(call, max_seconds, [&](const SmallCall& each) { return is_short(each.call); });
  return {small.cluster.compiler(), std::move(small.call)};
}

}  // namespace collsim
