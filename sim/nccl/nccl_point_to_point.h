#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "sim/algorithms/registry.h"
#include "sim/plan/collective.h"
#include "sim/plan/plan.h"

namespace collsim {

/// A collective as one group of ncclSend and ncclRecv, the way nccl-tests does send_recv,
/// all_to_all, gather and scatter (NCCL src/init.cc: p2pSchedule; src/enqueue.cc: addP2pToPlan,
/// src/include/channel.h).
///
/// All ranks go through the pairs in the same rounds: in one node in round d from r to r + d, else
/// group by group of at most 8 ranks of a node. Where nodes have unequally many ranks, all
/// go as the ranks of one node do. A message is cut into `parts`, nccl_parts() of its
/// size, each on a channel of its own: the first on the round's bits reversed, the others on
/// those after it (so 4 ranks on 32 channels, 8 parts each, are on all: recordings/h200x4, where a
/// pair reaches three times what 8 thread blocks could). A channel of a rank works on up to 8 peers
/// at once, so its messages have lanes in turn: 2 i to send, 2 i + 1 to receive. What a rank sends
/// to itself is no message.
///
/// Chunks: `parts` per block. `channels` is a power of two (NCCL rounds up). `sends`, if it is
/// given, says which of the messages are there; the places of others stay empty. Throws
/// InputError for another collective and for a root that is no rank.
Plan make_nccl_point_to_point_plan(Collective collective, const Placement& placement,
                                   std::uint32_t channels, std::uint32_t parts, Rank root = 0,
                                   const std::function<bool(Rank from, Rank to)>& sends = {});

/// The rounds of make_nccl_point_to_point_plan(), without a plan: which channel carries what.
class MessageRounds {
 public:
  MessageRounds(const Placement& placement, std::uint32_t channels);

  /// The round in which one rank sends the other; ranks are numbered node by node.
  std::uint32_t round(Rank from, Rank to) const;
  /// The channel of a part of what is sent in a round.
  std::uint32_t channel_of(std::uint32_t round, std::uint32_t part) const;
  /// The channel of a part of what one rank sends the other.
  std::uint32_t channel(Rank from, Rank to, std::uint32_t part) const {
    return channel_of(round(from, to), part);
  }
  std::uint32_t rounds() const {
    return static_cast<std::uint32_t>(place_of_distance_.size()) * size_;
  }

 private:
  std::uint32_t nodes_;
  std::uint32_t per_node_;  // of the fullest node
  std::uint32_t channels_;
  std::uint32_t size_;                            // of a group
  std::vector<std::uint32_t> place_of_distance_;  // of groups, among those that are met
};

}  // namespace collsim
