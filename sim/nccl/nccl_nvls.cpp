#include <vector>

#include "sim/nccl/nccl_schedules.h"
#include "sim/nccl/nccl_stripes.h"

namespace collsim {

namespace {

/// The agents: an NVSwitch per node, and between several nodes the network of each stripe.
std::vector<SwitchReducer> agents_of(const NcclStripes& stripes) {
  std::vector<SwitchReducer> agents(stripes.node_count(), SwitchReducer::nvswitch);
  if (stripes.node_count() > 1) {
    agents.insert(agents.end(), stripes.stripes(), SwitchReducer::network);
  }
  return agents;
}

/// Writes what the head of one stripe on one node does, and its switch's part.
class NvlsStripe {
 public:
  NvlsStripe(ScheduleWriter& writer, const NcclStripes& stripes, std::uint32_t node,
             std::uint32_t stripe)
      : writer_(writer),
        stripes_(stripes),
        node_(node),
        stripe_(stripe),
        node_switches_(writer, stripes),
        network_(writer, stripes, stripes.ranks() + stripes.node_count()) {}

  void all_reduce() {
    node_switches_.reduce(node_, stripe_, stripe_);
    if (stripes_.node_count() == 1) {
      writer_.phase("multicast");
      append(head_up_lane(stripes_), PrimitiveKind::recv_send, stripe_, sum(), spread());
    } else {
      writer_.phase("network");
      append(head_up_lane(stripes_), PrimitiveKind::recv_send, stripe_, sum(), up());
      writer_.phase("multicast");
      append(head_down_lane(stripes_), PrimitiveKind::recv_send, stripe_, down(), spread());
    }
    node_switches_.multicast(node_, stripe_, stripe_);
  }

  /// The own block first, then those of the other nodes as the network brings them.
  void all_gather() {
    const Rank own = stripes_.head(node_, stripe_);
    if (stripes_.node_count() > 1) {
      writer_.phase("network");
      append(head_up_lane(stripes_), PrimitiveKind::send, own, 0, up());
    }
    writer_.phase("multicast");
    append(head_down_lane(stripes_), PrimitiveKind::send, own, 0, spread());
    node_switches_.multicast(node_, stripe_, own);
    for (std::uint32_t other = 0; other < stripes_.node_count(); ++other) {
      if (other == node_) continue;
      const Rank block = stripes_.head(other, stripe_);
      writer_.phase("multicast");
      append(head_down_lane(stripes_), PrimitiveKind::recv_send, block, down(), spread());
      node_switches_.multicast(node_, stripe_, block);
    }
  }

  void reduce_scatter() {
    for (std::uint32_t owner = 0; owner < stripes_.node_count(); ++owner) {
      const Rank block = stripes_.head(owner, stripe_);
      node_switches_.reduce(node_, stripe_, block);
      if (stripes_.node_count() == 1) break;
      writer_.phase("network");
      append(head_up_lane(stripes_), PrimitiveKind::recv_send, block, sum(), up());
    }
    const PeerGroupId from = stripes_.node_count() == 1 ? sum() : down();
    append(head_down_lane(stripes_), PrimitiveKind::recv, stripes_.head(node_, stripe_), from, 0);
  }

 private:
  PeerGroupId sum() { return writer_.group(node_switches_.sum(node_, stripe_)); }
  PeerGroupId spread() { return writer_.group(node_switches_.spread(node_, stripe_)); }
  PeerGroupId up() { return writer_.group(network_.up(node_, stripe_)); }
  PeerGroupId down() { return writer_.group(network_.down(node_, stripe_)); }
  void append(std::uint32_t lane, PrimitiveKind kind, std::uint32_t chunk, PeerGroupId from,
              PeerGroupId to) {
    writer_.append(stripes_.head(node_, stripe_), lane, kind, {chunk, 1}, from, to);
  }

  ScheduleWriter& writer_;
  const NcclStripes& stripes_;
  std::uint32_t node_;
  std::uint32_t stripe_;
  NodeSwitches node_switches_;
  NetworkSwitches network_;
};

}  // namespace

Schedule nccl_nvls_schedule(Collective collective, const NcclStripes& stripes) {
  return schedule_by_stripes<NvlsStripe>(collective, stripes, agents_of(stripes));
}

}  // namespace collsim
