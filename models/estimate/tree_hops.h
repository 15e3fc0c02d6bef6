#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "models/call/call_compiler.h"
#include "models/call/machine_view.h"
#include "models/estimate/hop_classes.h"
#include "models/estimate/laid_wires.h"
#include "models/estimate/tree_time.h"
#include "models/machine/link_state.h"

namespace collsim {

/// One channel's tree as it lies on a machine.
struct LaidTree {
  std::vector<std::vector<Rank>> children;  ///< by rank
  std::vector<Rank> farthest;               ///< by rank: of the leaves below it
  /// By rank, the wires to its parent and back; LaidWires::none where they are not looked at.
  std::vector<LaidWires::Id> up;
  std::vector<LaidWires::Id> down;
  std::set<LinkKind> kinds;  ///< of the wires
};

/// The links of a hop on which each user has least: up to a proxy's buffer, and from there on.
struct NarrowLinks {
  std::optional<ResourceId> to_proxy;
  std::optional<ResourceId> network;
};

/// What a hop of a tree is, and what it shares.
struct TreeHop {
  std::uint32_t hop_class = 0;  ///< of TreeUse::classes
  NarrowLinks narrow;
  /// Of their users, those that are as far from the root.
  double together = 0;
  double together_in_network = 0;
};

/// The places of a channel's ranks.
struct TreePlaces {
  std::vector<TreePlace> places;       ///< alike ones once, of no weight
  std::vector<std::uint32_t> of_rank;  ///< of ranks whose hops are looked at
};

/// What the channels of a call have in common.
struct TreeUse {
  std::vector<std::vector<std::uint32_t>> in_step;  ///< channels with equal trees
  std::vector<double> users;                        ///< by ResourceId
  std::vector<HopClass> classes;                    ///< of all hops, equal ones once
  std::vector<TreeHop> hops;                        ///< by LaidWires::Id
  std::map<std::uint32_t, TreePlaces> places;       ///< by channel, of those with a full share
};

/// The trees of NCCL's channels, each laid once, for questions that differ by faults. Not for
/// several threads at once.
class TreeHops {
 public:
  /// The compiler must outlive it, and so must `known`, as of HopWires. The compiler's faults do
  /// not count; links are as `states` says.
  explicit TreeHops(const CallCompiler& compiler, LinkStates states = {},
                    KnownWays::OfAlgorithm* known = nullptr);

  /// A channel's tree. Its hops are those that the first view shows, and those on the longest ways.
  const LaidTree& tree(std::uint32_t channel, const MachineView& view);
  /// Of channels whose trees are laid.
  const TreeUse& use(const UsedChannels& channels);

  /// Where a rank is in a channel's tree; `class_of` says what hops are.
  TreePlace place(std::uint32_t channel, Rank rank,
                  const std::function<HopClass(LaidWires::Id)>& class_of) const;

  const LaidWires& wires() const { return wires_; }
  /// What links carry, by ResourceId, in bytes per second, where faults have come as well.
  std::vector<double> capacities(const LinkStates& faults);
  /// By wire, whether it loads a link that these faults change.
  std::vector<bool> loads_changed(const LinkStates& faults) { return wires_.loads_changed(faults); }
  /// Of the hops between a rank and its children in channels that are in step, in one direction,
  /// those that load a resource.
  double together_on(ResourceId resource, LaidWires::Id hop,
                     const std::vector<std::uint32_t>& in_step) const;

 private:
  using Id = LaidWires::Id;
  /// What is counted of a call's channels while classes are found.
  struct Counts {
    std::vector<double> sends;            // by rank, over the network
    std::vector<double> receives;         // likewise
    std::vector<double> capacities;       // by ResourceId
    std::vector<std::uint32_t> together;  // by ResourceId; 0 but for the hops of one rank
  };

  const std::vector<std::optional<Rank>>& parents(std::uint32_t channel) const {
    return compiler_.nccl()->channels().channels[channel].tree.parent;
  }
  bool goes_up(Id hop) const;
  void lay(std::uint32_t channel, const MachineView& view, LaidTree& tree);
  Counts count(const UsedChannels& channels, TreeUse& use);
  /// The hops between a rank and its children, in one direction: all are at the same time.
  std::vector<Id> siblings(const std::vector<std::uint32_t>& in_step, Rank parent, bool up) const;
  void add_classes(const std::vector<Id>& siblings, Counts& counts, TreeUse& use) const;
  void add_places(std::uint32_t channel, TreeUse& use) const;
  HopClass class_alone(Id hop, const std::vector<Id>& siblings, const Counts& counts) const;

  const CallCompiler& compiler_;
  LinkStates states_;
  LaidWires wires_;
  std::map<std::uint32_t, LaidTree> trees_;  // by channel
  std::map<UsedChannels, TreeUse> uses_;
};

/// Ways to the root: from the leaf that is farthest, and from the one that is farthest below each
/// rank that a fault touches; from every leaf where nodes are unlike.
std::vector<std::vector<Rank>> longest_ways(const RootedTree& tree, const LaidTree& laid,
                                            const MachineView& view);

/// The index of a place among all: of one that is alike, or of its own, which is added.
std::uint32_t add_place(std::vector<TreePlace>& places, const TreePlace& place);

/// Of a hop, by how many use each link and what that carries, in bytes per second: both by
/// ResourceId.
NarrowLinks narrow_links(const LaidWires& wires, LaidWires::Id hop,
                         const std::vector<double>& users, const std::vector<double>& capacities);

/// Sets what the users of a hop's narrow links have, of whom those `together` with the hop are as
/// far from the root.
void set_shares(HopClass& hop_class, const TreeHop& hop, const std::vector<double>& users,
                const std::vector<double>& capacities);

}  // namespace collsim
