#include "models/estimate/hop_cache.h"

#include <algorithm>

#include "sim/nccl/nccl_plan.h"

namespace collsim {

/// Whether hops go where they went on the healthy machine. Of many nodes, which hops of rings and
/// trees are looked at depends on the faults.
bool CallHops::lays_as_known(std::optional<NcclAlgorithm> algorithm) const {
  if (cache_ == nullptr || compiler_.topology().takes_detours()) return false;
  const bool counts_all = algorithm == NcclAlgorithm::ring || algorithm == NcclAlgorithm::tree;
  if (counts_all && view_.shows_some()) return false;
  return std::none_of(view_.states().begin(), view_.states().end(),
                      [](const auto& each) { return each.second.avoided; });
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
