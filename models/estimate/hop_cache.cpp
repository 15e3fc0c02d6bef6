#include "models/estimate/hop_cache.h"

#include <algorithm>

#include "sim/nccl/nccl_plan.h"

namespace collsim {

CallHops::CallHops(const CallCompiler& compiler, const MachineView& view, HopCache* cache,
                   std::set<LinkKind>& kinds)
    : compiler_(compiler),
      view_(view),
      cache_(cache),
      kinds_(kinds),
      keeps_ways_(!compiler.topology().takes_detours() &&
                  std::none_of(view.states().begin(), view.states().end(),
                               [](const auto& each) { return each.second.avoided; })) {}

/// Whether hops go where they went on the healthy machine. Of many nodes, which hops of rings and
/// trees are looked at depends on the faults.
bool CallHops::lays_as_known(std::optional<NcclAlgorithm> algorithm) const {
  const bool counts_all = algorithm == NcclAlgorithm::ring || algorithm == NcclAlgorithm::tree;
  return cache_ != nullptr && keeps_ways_ && !(counts_all && view_.shows_some());
}

AlgorithmHops& CallHops::of(std::optional<NcclAlgorithm> algorithm) {
  const bool is_known = lays_as_known(algorithm);
  if (is_known && !cache_->compiler) {
    cache_->compiler = std::make_unique<const CallCompiler>(compiler_.with_faults({}));
  }
  auto& all = is_known ? cache_->algorithms : own_;
  const auto found = all.find(algorithm);
  if (found != all.end()) return found->second;
  return all
      .try_emplace(algorithm, is_known ? *cache_->compiler : compiler_, algorithm, view_.states(),
                   ways(algorithm))
      .first->second;
}

const HopClasses& CallHops::classes(NcclAlgorithm algorithm, const UsedChannels& channels) {
  AlgorithmHops& hops = of(algorithm);
  auto found = hops.classes.find(channels);
  if (found == hops.classes.end()) {
    const auto schedules = nccl_schedules(algorithm, compiler_.nccl()->channels(), channels.count);
    found = hops.classes.emplace(channels, HopClasses(hops.laid, channels, schedules)).first;
  }
  kinds_.insert(found->second.kinds().begin(), found->second.kinds().end());
  return found->second;
}

}  // namespace collsim
