#pragma once

#include <algorithm>
#include <vector>

#include "sim/topologies/topology.h"

namespace collsim {

/// Which ranks are on which node of a communicator, nodes and ranks numbered from 0, ranks node by
/// node. It is a view: where nodes have unequally many ranks, it refers to the list that it was
/// made of.
class RankNodes {
 public:
  /// Every node has `per_node` ranks.
  explicit RankNodes(Rank per_node) : per_node_(per_node) {}
  /// `first_ranks`: the first rank of every node, rising, and then how many ranks there are.
  explicit RankNodes(const std::vector<Rank>& first_ranks) : first_ranks_(&first_ranks) {}

  Rank node_of(Rank rank) const {
    if (first_ranks_ == nullptr) return rank / per_node_;
    const auto after = std::upper_bound(first_ranks_->begin(), first_ranks_->end(), rank);
    return static_cast<Rank>(after - first_ranks_->begin()) - 1;
  }
  Rank first_rank(Rank node) const {
    return first_ranks_ == nullptr ? node * per_node_ : (*first_ranks_)[node];
  }
  /// The rank's number among those of its node.
  Rank place_of(Rank rank) const { return rank - first_rank(node_of(rank)); }

 private:
  Rank per_node_ = 1;
  const std::vector<Rank>* first_ranks_ = nullptr;
};

}  // namespace collsim
