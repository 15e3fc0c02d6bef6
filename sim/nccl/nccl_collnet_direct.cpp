#include <vector>

#include "sim/nccl/nccl_schedules.h"
#include "sim/nccl/nccl_stripes.h"

namespace collsim {

namespace {

/// Writes what the head of one stripe on one node does, and what its node does for it.
class CollnetStripe {
 public:
  CollnetStripe(ScheduleWriter& writer, const NcclStripes& stripes, std::uint32_t node,
                std::uint32_t stripe)
      : writer_(writer),
        stripes_(stripes),
        node_(node),
        stripe_(stripe),
        head_(stripes.head(node, stripe)),
        network_(writer, stripes, stripes.ranks()) {}

  /// The ranks of the node scatter a chunk to the head, which sends the node's sum on.
  void reduce(std::uint32_t chunk) {
    writer_.phase("scatter");
    for (const Rank rank : stripes_.nodes[node_]) {
      if (rank == head_) continue;
      const std::uint32_t lane = hand_in_lane(stripe_);
      writer_.append(rank, lane, PrimitiveKind::send, {chunk, 1}, 0,
                     writer_.group({rank, head_, lane}));
    }
    writer_.phase("network");
    const PeerGroupId handed_in = group_of_others(Way::in);
    const auto kind = handed_in == 0 ? PrimitiveKind::send : PrimitiveKind::recv_reduce_send;
    writer_.append(head_, head_up_lane(stripes_), kind, {chunk, 1}, handed_in, up());
  }

  /// The head takes a chunk from the network, or has it, and the node gathers it.
  void gather(std::uint32_t chunk, bool from_network) {
    writer_.phase("gather");
    const PeerGroupId handed_out = group_of_others(Way::out);
    if (from_network || handed_out != 0) {
      auto kind = handed_out == 0 ? PrimitiveKind::recv : PrimitiveKind::recv_copy_send;
      if (!from_network) kind = PrimitiveKind::copy_send;
      writer_.append(head_, head_down_lane(stripes_), kind, {chunk, 1}, from_network ? down() : 0,
                     handed_out);
    }
    for (const Rank rank : stripes_.nodes[node_]) {
      if (rank == head_) continue;
      const std::uint32_t lane = hand_out_lane(stripes_, stripe_);
      writer_.append(rank, lane, PrimitiveKind::recv, {chunk, 1},
                     writer_.group({head_, rank, lane}), 0);
    }
  }

  void all_reduce() {
    reduce(stripe_);
    gather(stripe_, true);
  }

  void all_gather() {
    if (stripes_.node_count() > 1) {
      writer_.phase("network");
      writer_.append(head_, head_up_lane(stripes_), PrimitiveKind::send, {head_, 1}, 0, up());
    }
    gather(head_, false);
    for (std::uint32_t other = 0; other < stripes_.node_count(); ++other) {
      if (other != node_) gather(stripes_.head(other, stripe_), true);
    }
  }

  void reduce_scatter() {
    for (std::uint32_t owner = 0; owner < stripes_.node_count(); ++owner) {
      reduce(stripes_.head(owner, stripe_));
    }
    writer_.append(head_, head_down_lane(stripes_), PrimitiveKind::recv, {head_, 1}, down(), 0);
  }

 private:
  enum class Way : std::uint8_t { in, out };
  PeerGroupId up() { return writer_.group(network_.up(node_, stripe_)); }
  PeerGroupId down() { return writer_.group(network_.down(node_, stripe_)); }
  /// Between the head and the other ranks of its node.
  PeerGroupId group_of_others(Way way) {
    std::vector<Connection> connections;
    for (const Rank rank : stripes_.nodes[node_]) {
      if (rank == head_) continue;
      connections.push_back(way == Way::in
                                ? Connection{rank, head_, hand_in_lane(stripe_)}
                                : Connection{head_, rank, hand_out_lane(stripes_, stripe_)});
    }
    return writer_.group(connections);
  }

  ScheduleWriter& writer_;
  const NcclStripes& stripes_;
  std::uint32_t node_;
  std::uint32_t stripe_;
  Rank head_;
  NetworkSwitches network_;
};

}  // namespace

Schedule nccl_collnet_direct_schedule(Collective collective, const NcclStripes& stripes) {
  return schedule_by_stripes<CollnetStripe>(
      collective, stripes, std::vector<SwitchReducer>(stripes.stripes(), SwitchReducer::network));
}

}  // namespace collsim
