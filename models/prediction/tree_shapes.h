#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "models/analytic/tree_time.h"
#include "models/machine/hop_wires.h"
#include "models/prediction/hop_classes.h"
#include "models/prediction/planner.h"

namespace collsim {

/// The trees of NCCL's channels by classes of ranks, and CollNetChain's chains.
class TreeShapes {
 public:
  /// Adds the kinds of links that trees use to `kinds`. Refers to both.
  TreeShapes(const Planner& planner, std::set<LinkKind>& kinds)
      : planner_(planner), kinds_(kinds) {}

  /// The trees of the channels, equal ones once.
  const std::vector<TreeShape>& trees(const UsedChannels& channels);
  /// The chain of a node, up to the network's switches and down again.
  const TreeShape& chain(std::uint32_t channels);

 private:
  using Hop = std::pair<Rank, Rank>;
  struct Laid {
    std::vector<std::vector<Rank>> children;
    std::map<Hop, Wire> wires;  // that are looked at
    std::vector<Rank> way;      // from the farthest leaf to the root
  };
  const RootedTree& tree(std::uint32_t channel) const {
    return planner_.nccl()->channels().channels[channel].tree;
  }
  Rank node_of(Rank rank) const { return rank / (planner_.ranks() / planner_.nccl()->nodes()); }
  const Laid& laid(std::uint32_t channel);
  std::vector<Rank> longest_way(const RootedTree& tree,
                                const std::vector<std::vector<Rank>>& children) const;
  std::vector<Hop> siblings(const Hop& hop, std::uint32_t channel);
  HopClass class_of(const Hop& hop, std::uint32_t channel,
                    const std::vector<std::uint32_t>& in_step, const UsedChannels& channels,
                    const LinkUsers& users);
  TreeShape shape(std::uint32_t channel, const std::vector<std::uint32_t>& in_step,
                  const UsedChannels& channels, const LinkUsers& users);

  const Planner& planner_;
  std::set<LinkKind>& kinds_;
  std::optional<HopWires> wires_;
  std::map<std::uint32_t, Laid> laid_;  // by channel
  std::map<UsedChannels, std::vector<TreeShape>> trees_;
  std::map<std::uint32_t, TreeShape> chains_;
};

}  // namespace collsim
