#pragma once

#include <set>
#include <vector>

#include "models/call/call_compiler.h"
#include "models/machine/link_state.h"

namespace collsim {

/// Nodes whose hops are looked at one by one: of more, these stand for all.
inline constexpr Rank window_of_nodes = 64;

/// Whether a fault changes each rank, or a link of its node. A cable between switches changes the
/// nodes of the switches that it joins.
std::vector<bool> touched_ranks(const CallCompiler& compiler);

/// How fast the thread blocks of each rank move data, 1 as they should; empty: all do.
std::vector<double> speeds_of(const CallCompiler& compiler);

/// The nodes of a call, in the order of its ranks, that have any of touched_ranks(). Ranks are
/// grouped by node; a textbook's nodes have equally many.
std::set<Rank> touched_nodes(const CallCompiler& compiler);

/// The machine of a call as it is at one instant, under NCCL's rules: what faults have made of
/// links and ranks, and the nodes to look at. Nodes that no fault touches are taken to be equal
/// where the same of their GPUs take part; else each is looked at.
class MachineView {
 public:
  /// The compiler must outlive it.
  MachineView(const CallCompiler& compiler, Seconds at);

  /// Links that faults have changed.
  const LinkStates& states() const { return states_; }
  Rank node_of(Rank rank) const { return nodes_.node_of(rank); }
  /// Whether the hops that begin at a node are looked at: of the first 64 nodes, and of those that
  /// faults touch; of all where not all have the same GPUs in the call.
  bool shows(Rank node) const {
    return !alike_ || node < window_of_nodes || touched_.contains(node);
  }
  /// Whether a hop is looked at: those that begin at nodes that are shown, and those that end at
  /// one that faults touch, wherever they come from.
  bool shows_hop(Rank from, Rank to) const { return shows(node_of(from)) || touches(node_of(to)); }
  /// Whether there are nodes that are not looked at.
  bool shows_some() const { return alike_ && compiler_.nccl()->nodes() > window_of_nodes; }
  /// Whether all nodes have the same GPUs in the call.
  bool has_like_nodes() const { return alike_; }
  /// How many nodes a node that is shown stands for.
  double weight(Rank node) const { return touches(node) ? 1 : weight_; }
  bool touches(Rank node) const { return touched_.contains(node); }
  /// Whether a fault touches the node of either rank.
  bool touches_hop(Rank from, Rank to) const {
    return touches(node_of(from)) || touches(node_of(to));
  }
  /// The ranks of nodes that faults touch.
  std::vector<Rank> touched_ranks() const;
  /// The first node, which stands for all that no fault touches, and those that faults touch; or
  /// all nodes where not all have the same GPUs in the call.
  std::vector<Rank> unlike_nodes() const;
  /// How fast a rank's thread blocks move data, 1 as it should be.
  double speed(Rank rank) const { return speed_.empty() ? 1 : speed_[rank]; }
  /// The speed of the slowest rank.
  double min_speed() const;

 private:
  const CallCompiler& compiler_;
  RankNodes nodes_;
  bool alike_;
  LinkStates states_;
  std::set<Rank> touched_;
  double weight_ = 1;
  std::vector<double> speed_;  // by rank; empty: of all 1
};

}  // namespace collsim
