#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "sim/nccl/nccl_channels.h"
#include "sim/plan/plan.h"
#include "sim/plan/schedule_writer.h"

namespace collsim {

// What the algorithms that reduce stripes at heads have in common. Lanes of a rank: one per stripe
// that hands in, one per stripe that hands out, and a head's two.

inline std::uint32_t hand_in_lane(std::uint32_t stripe) {
  return stripe;
}
inline std::uint32_t hand_out_lane(const NcclStripes& stripes, std::uint32_t stripe) {
  return stripes.stripes() + stripe;
}
inline std::uint32_t head_up_lane(const NcclStripes& stripes) {
  return 2 * stripes.stripes();
}
inline std::uint32_t head_down_lane(const NcclStripes& stripes) {
  return 2 * stripes.stripes() + 1;
}
inline std::uint32_t stripe_lanes(const NcclStripes& stripes) {
  return 2 * stripes.stripes() + 2;
}

/// The NVSwitches, agent k that of node k. For every stripe they add up what the ranks of the node
/// hand in and give it to the head; what the head hands them they copy to all its node, itself too
/// (NCCL src/device/all_reduce.h, RunWorkColl of NVLS: scatter, reduce and broadcast, gather).
class NodeSwitches {
 public:
  NodeSwitches(ScheduleWriter& writer, const NcclStripes& stripes)
      : writer_(&writer), stripes_(&stripes) {}

  /// Every rank of the node hands a chunk in, and its sum goes to the head.
  void reduce(std::uint32_t node, std::uint32_t stripe, std::uint32_t chunk);
  /// What the head hands in goes to every rank of the node.
  void multicast(std::uint32_t node, std::uint32_t stripe, std::uint32_t chunk);
  /// The connection by which the head gets the sum.
  Connection sum(std::uint32_t node, std::uint32_t stripe) const;
  /// The connection by which the head hands in what is multicast.
  Connection spread(std::uint32_t node, std::uint32_t stripe) const;

 private:
  Rank agent(std::uint32_t node) const { return stripes_->ranks() + node; }

  ScheduleWriter* writer_;
  const NcclStripes* stripes_;
};

/// The switches between the nodes, one agent for every stripe, numbered from `first_agent` on: they
/// join the heads of the stripe.
class NetworkSwitches {
 public:
  NetworkSwitches(ScheduleWriter& writer, const NcclStripes& stripes, Rank first_agent)
      : writer_(&writer), stripes_(&stripes), first_agent_(first_agent) {}

  Connection up(std::uint32_t node, std::uint32_t stripe) const;
  Connection down(std::uint32_t node, std::uint32_t stripe) const;
  /// All heads hand a chunk in, and all get the sum.
  void all_reduce(std::uint32_t stripe, std::uint32_t chunk);
  /// Node after node, its head hands its block in, and the others get it.
  void all_gather(std::uint32_t stripe);
  /// Node after node, all heads hand in the block of its head, which gets the sum.
  void reduce_scatter(std::uint32_t stripe);

 private:
  std::vector<Connection> all_up(std::uint32_t stripe) const;
  std::vector<Connection> all_down(std::uint32_t stripe) const;
  void pass_on(std::uint32_t stripe, std::uint32_t chunk, const std::vector<Connection>& from,
               const std::vector<Connection>& to);

  ScheduleWriter* writer_;
  const NcclStripes* stripes_;
  Rank first_agent_;
};

/// The schedule in which a `Stripe` (of a writer, the stripes, a node and a stripe) writes what
/// each node does for each stripe, and the network's switches, if they are among the agents, join
/// them. NVSwitches come first among the agents.
template <typename Stripe>
Schedule schedule_by_stripes(Collective collective, const NcclStripes& stripes,
                             const std::vector<SwitchReducer>& agents) {
  const bool whole = collective == Collective::all_reduce;
  ScheduleWriter writer(stripes.ranks(), stripe_lanes(stripes),
                        whole ? stripes.stripes() : stripes.ranks(), agents);
  const auto first = std::find(agents.begin(), agents.end(), SwitchReducer::network);
  NetworkSwitches network(writer, stripes,
                          stripes.ranks() + static_cast<Rank>(first - agents.begin()));
  for (std::uint32_t stripe = 0; stripes.ranks() > 1 && stripe < stripes.stripes(); ++stripe) {
    for (std::uint32_t node = 0; node < stripes.node_count(); ++node) {
      Stripe part(writer, stripes, node, stripe);
      if (whole) part.all_reduce();
      if (collective == Collective::all_gather) part.all_gather();
      if (collective == Collective::reduce_scatter) part.reduce_scatter();
    }
    if (first == agents.end()) continue;
    if (whole) network.all_reduce(stripe, stripe);
    if (collective == Collective::all_gather) network.all_gather(stripe);
    if (collective == Collective::reduce_scatter) network.reduce_scatter(stripe);
  }
  return std::move(writer).build();
}

}  // namespace collsim
