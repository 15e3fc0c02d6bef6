#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "models/call/call_compiler.h"
#include "models/call/machine_view.h"
#include "models/estimate/hop_cache.h"
#include "models/estimate/tree_time.h"

namespace collsim {

/// The trees of NCCL's channels by classes of ranks, and CollNetChain's chains. What does not
/// depend on faults is kept with the hops; a fault looks again at the places that it changes.
class TreeShapes {
 public:
  /// Refers to both.
  TreeShapes(const CallCompiler& compiler, CallHops& hops)
      : compiler_(compiler), view_(hops.view()), hops_(hops) {}

  /// The trees of the channels, equal ones once.
  const std::vector<TreeShape>& trees(const UsedChannels& channels);
  /// The chains of unlike nodes, up to the network's switches and down again.
  const std::vector<TreeShape>& chains(std::uint32_t channels);

 private:
  using Id = LaidHops::Id;
  using ClassOf = std::function<HopClass(Id)>;
  /// The ways of a channel's tree whose faults have been looked at.
  struct Seen {
    std::vector<std::vector<Rank>> ways;
    std::vector<bool> changed;  ///< by rank, whether its place is not as it was laid
  };

  const RootedTree& rooted(std::uint32_t channel) const {
    return compiler_.nccl()->channels().channels[channel].tree;
  }
  /// A channel's tree. Its hops are those that the view shows, and those on the longest ways.
  const LaidTree& tree(std::uint32_t channel);
  void lay(std::uint32_t channel, LaidTree& tree);
  std::vector<std::vector<Rank>> longest_ways(std::uint32_t channel, const LaidTree& tree) const;
  const Seen& seen(std::uint32_t channel, const LinkConditions& now);
  const TreePlaces& laid_places(std::uint32_t channel, const UsedChannels& channels,
                                const HopClasses& classes);
  TreePlace place(std::uint32_t channel, Rank rank, const ClassOf& class_of);
  TreeShape shape(std::uint32_t channel, const UsedChannels& channels, const HopClasses& classes,
                  const LinkConditions& now);
  TreeShape chain(std::uint32_t channels, Rank node);

  const CallCompiler& compiler_;
  const MachineView& view_;
  CallHops& hops_;
  std::map<std::uint32_t, Seen> seen_;  // by channel
  std::map<UsedChannels, std::vector<TreeShape>> trees_;
  std::map<std::uint32_t, std::vector<TreeShape>> chains_;
};

}  // namespace collsim
