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

/// One channel's tree as it lies on a machine.
struct LaidTree {
  using Hop = std::pair<Rank, Rank>;
  std::vector<std::vector<Rank>> children;
  std::map<Hop, Wire> wires;  ///< that are looked at
  std::set<LinkKind> kinds;   ///< of those
};

/// Of a rank, the wires of all channels that leave for the network, and those that come from it.
struct NetworkEnds {
  std::vector<double> sends;
  std::vector<double> receives;
};

/// Trees as they lie on the healthy machine, for machines on which faults change no more than what
/// links carry and how fast ranks are. Not for several threads at once.
struct KnownTrees {
  std::unique_ptr<const CallCompiler> compiler;  ///< that the wires refer to
  std::unique_ptr<HopWires> wires;
  std::map<std::uint32_t, std::shared_ptr<const LaidTree>> trees;  ///< by channel
  std::map<UsedChannels, LinkUsers> users;
  std::map<UsedChannels, NetworkEnds> ends;
};

/// The trees of NCCL's channels by classes of ranks, and CollNetChain's chains.
class TreeShapes {
 public:
  /// Adds the kinds of links that trees use to `kinds`. Refers to all, and keeps trees that faults
  /// do not lay otherwise in `known`; null: in itself.
  TreeShapes(const CallCompiler& compiler, const MachineView& view, std::set<LinkKind>& kinds,
             KnownTrees* known);

  /// The trees of the channels, equal ones once.
  const std::vector<TreeShape>& trees(const UsedChannels& channels);
  /// The chains of unlike nodes, up to the network's switches and down again.
  const std::vector<TreeShape>& chains(std::uint32_t channels);

 private:
  using Hop = LaidTree::Hop;
  struct Laid {
    std::shared_ptr<const LaidTree> tree;
    /// From the farthest leaf to the root, and from the farthest beyond what faults touch.
    std::vector<std::vector<Rank>> ways;
  };
  const RootedTree& tree(std::uint32_t channel) const {
    return compiler_.nccl()->channels().channels[channel].tree;
  }
  bool lays_as_healthy() const;
  HopWires& wires();
  std::shared_ptr<const LaidTree> lay(std::uint32_t channel, LaidTree tree,
                                      const std::vector<std::vector<Rank>>& ways);
  const Laid& laid(std::uint32_t channel);
  std::vector<std::vector<Rank>> longest_ways(const RootedTree& tree,
                                              const std::vector<std::vector<Rank>>& children) const;
  std::vector<Hop> siblings(const Hop& hop, std::uint32_t channel);
  /// What the channels of a call have in common.
  struct Usage {
    const LinkUsers& users;
    const NetworkEnds& ends;
  };
  LinkUsers link_users(const UsedChannels& channels);
  NetworkEnds network_ends(const UsedChannels& channels);
  HopClass class_of(const Hop& hop, std::uint32_t channel,
                    const std::vector<std::uint32_t>& in_step, const Usage& usage);
  TreeShape shape(std::uint32_t channel, const std::vector<std::uint32_t>& in_step,
                  const Usage& usage);
  TreeShape chain(std::uint32_t channels, Rank node);

  const CallCompiler& compiler_;
  const MachineView& view_;
  std::set<LinkKind>& kinds_;
  KnownTrees own_;
  KnownTrees* known_;
  std::map<std::uint32_t, Laid> laid_;  // by channel
  std::map<UsedChannels, std::vector<TreeShape>> trees_;
  std::map<std::uint32_t, std::vector<TreeShape>> chains_;
};

}  // namespace collsim
