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
#include "models/machine/hop_wires.h"

namespace collsim {

/// The trees of NCCL's channels by classes of ranks, and CollNetChain's chains.
class TreeShapes {
 public:
  /// Adds the kinds of links that trees use to `kinds`. Refers to all.
  TreeShapes(const CallCompiler& compiler, const MachineView& view, std::set<LinkKind>& kinds)
      : compiler_(compiler), view_(view), kinds_(kinds) {}

  /// The trees of the channels, equal ones once.
  const std::vector<TreeShape>& trees(const UsedChannels& channels);
  /// The chains of unlike nodes, up to the network's switches and down again.
  const std::vector<TreeShape>& chains(std::uint32_t channels);

 private:
  using Hop = std::pair<Rank, Rank>;
  struct Laid {
    std::vector<std::vector<Rank>> children;
    std::map<Hop, Wire> wires;  // that are looked at
    /// From the farthest leaf to the root, and from the farthest beyond what faults touch.
    std::vector<std::vector<Rank>> ways;
  };
  const RootedTree& tree(std::uint32_t channel) const {
    return compiler_.nccl()->channels().channels[channel].tree;
  }
  const Laid& laid(std::uint32_t channel);
  std::vector<std::vector<Rank>> longest_ways(const RootedTree& tree,
                                              const std::vector<std::vector<Rank>>& children) const;
  std::vector<Hop> siblings(const Hop& hop, std::uint32_t channel);
  /// Of a rank, the wires of all channels that leave for the network, and those that come from it.
  struct NetworkEnds {
    std::vector<double> sends;
    std::vector<double> receives;
  };
  /// What the channels of a call have in common.
  struct Usage {
    const LinkUsers& users;
    const NetworkEnds& ends;
  };
  NetworkEnds network_ends(const UsedChannels& channels);
  HopClass class_of(const Hop& hop, std::uint32_t channel,
                    const std::vector<std::uint32_t>& in_step, const Usage& usage);
  TreeShape shape(std::uint32_t channel, const std::vector<std::uint32_t>& in_step,
                  const Usage& usage);
  TreeShape chain(std::uint32_t channels, Rank node);

  const CallCompiler& compiler_;
  const MachineView& view_;
  std::set<LinkKind>& kinds_;
  std::unique_ptr<HopWires> wires_;
  std::map<std::uint32_t, Laid> laid_;  // by channel
  std::map<UsedChannels, std::vector<TreeShape>> trees_;
  std::map<std::uint32_t, std::vector<TreeShape>> chains_;
};

}  // namespace collsim
