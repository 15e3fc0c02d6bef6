#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "models/call/call_compiler.h"
#include "models/call/machine_view.h"
#include "models/estimate/hop_classes.h"
#include "models/estimate/tree_hops.h"
#include "models/estimate/tree_time.h"

namespace collsim {

/// Trees as they lie on the healthy machine, for machines on which faults lay none otherwise. Not
/// for several threads at once.
struct KnownTrees {
  std::unique_ptr<const CallCompiler> compiler;  ///< that the hops refer to
  std::unique_ptr<TreeHops> hops;
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
  using Id = LaidWires::Id;
  /// What of a channel's tree faults have looked at.
  struct Seen {
    std::vector<std::vector<Rank>> ways;
    std::vector<bool> changed;  ///< by rank, whether its place is not as it was laid
  };

  const RootedTree& rooted(std::uint32_t channel) const {
    return compiler_.nccl()->channels().channels[channel].tree;
  }
  bool lays_as_healthy() const;
  TreeHops& hops();
  void find_changes();
  const Seen& seen(std::uint32_t channel);
  HopClass changed_class(Id hop, const std::vector<std::uint32_t>& in_step, const TreeUse& use);
  TreeShape shape(std::uint32_t channel, const std::vector<std::uint32_t>& in_step,
                  const TreeUse& use);
  TreeShape chain(std::uint32_t channels, Rank node);

  const CallCompiler& compiler_;
  const MachineView& view_;
  std::set<LinkKind>& kinds_;
  KnownTrees* known_;  // null: nothing is kept
  std::unique_ptr<TreeHops> own_;
  // What faults have changed since the hops were laid.
  std::vector<bool> changed_;           // by wire
  std::vector<double> capacities_;      // by ResourceId
  std::vector<double> delays_;          // likewise, in seconds
  std::map<std::uint32_t, Seen> seen_;  // by channel
  std::map<UsedChannels, std::vector<TreeShape>> trees_;
  std::map<std::uint32_t, std::vector<TreeShape>> chains_;
};

}  // namespace collsim
