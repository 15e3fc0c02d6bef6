#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "models/call/call_compiler.h"
#include "models/call/machine_view.h"
#include "models/estimate/hop_classes.h"
#include "models/estimate/tree_time.h"
#include "models/machine/laid_hops.h"

namespace collsim {

/// One channel's tree as it lies on a machine.
struct LaidTree {
  std::vector<std::vector<Rank>> children;  ///< by rank
  std::vector<Rank> farthest;               ///< by rank: of the leaves below it
  /// The hops of each rank to its parent and back; no_hop where they are not looked at.
  std::vector<LaidHops::Id> up;
  std::vector<LaidHops::Id> down;
};
inline constexpr LaidHops::Id no_hop = ~LaidHops::Id{0};

/// The places of a tree's ranks.
struct TreePlaces {
  std::vector<TreePlace> places;       ///< alike ones once, of no weight
  std::vector<std::uint32_t> of_rank;  ///< of ranks whose hops are looked at
};

/// What is known of the hops of one algorithm.
struct AlgorithmHops {
  AlgorithmHops(const CallCompiler& compiler, std::optional<NcclAlgorithm> algorithm,
                const LinkStates& states, RouteCache* ways)
      : laid(compiler.topology(), compiler.spec().gpus, compiler.cost_of(algorithm),
             compiler.hop_rules(algorithm), states, ways) {}

  LaidHops laid;
  std::map<UsedChannels, HopClasses> classes;
  std::map<std::uint32_t, LaidTree> trees;  ///< by channel
  std::map<std::pair<UsedChannels, std::uint32_t>, TreePlaces> places;
};

/// Remembers the hops of a call, for estimates that differ by faults alone. Not for several threads
/// at once.
struct HopCache {
  std::unique_ptr<const CallCompiler> compiler{};  ///< of the healthy machine: hops refer to it
  std::map<std::optional<NcclAlgorithm>, RouteCache> ways{};
  std::map<std::optional<NcclAlgorithm>, AlgorithmHops> algorithms{};
};

/// The hops of a call as a view of its machine needs them: those that are known, where no fault
/// lays them otherwise; else its own.
class CallHops {
 public:
  /// Adds the kinds of links that hops use to `kinds`. Refers to all; without a `cache`, nothing is
  /// kept.
  CallHops(const CallCompiler& compiler, const MachineView& view, HopCache* cache,
           std::set<LinkKind>& kinds);

  const MachineView& view() const { return view_; }
  /// The hops of an algorithm or, without one, of sends and receives.
  AlgorithmHops& of(std::optional<NcclAlgorithm> algorithm);
  LaidHops& laid(std::optional<NcclAlgorithm> algorithm) { return of(algorithm).laid; }
  /// None yet, for a few that others do not share.
  AlgorithmHops none(NcclAlgorithm algorithm) const {
    return {compiler_, algorithm, view_.states(), ways(algorithm)};
  }
  /// The classes of all hops that are laid of the channels.
  const HopClasses& classes(NcclAlgorithm algorithm, const UsedChannels& channels);
  LinkConditions now(const LaidHops& hops) const { return hops.conditions(view_.states()); }
  void add_kind(LinkKind kind) { kinds_.insert(kind); }

 private:
  bool lays_as_known(std::optional<NcclAlgorithm> algorithm) const;
  RouteCache* ways(std::optional<NcclAlgorithm> algorithm) const {
    return cache_ != nullptr ? &cache_->ways[algorithm] : nullptr;
  }

  const CallCompiler& compiler_;
  const MachineView& view_;
  HopCache* cache_;
  std::set<LinkKind>& kinds_;
  bool keeps_ways_;  // whether no fault leads hops around a link
  std::map<std::optional<NcclAlgorithm>, AlgorithmHops> own_;
};

}  // namespace collsim
