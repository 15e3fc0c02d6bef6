// What calls of several groups share of a network.

#include "models/program/shared_network.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "models/call/rank_gpus.h"
#include "models/program/call_costs.h"
#include "tools/collsim/request/change.h"

namespace collsim {
namespace {

Topology thinned(std::uint32_t nodes, int ratio) {
  return compose(
      changed(load_parts("dgx-h100", "ndr-fat-tree"), fmt::format("oversubscription={}", ratio)),
      nodes);
}

/// A node of a leaf of four sends to one of another, each node as much.
TEST(SharedNetwork, has_cables_upwards_that_fill_before_nics) {
  for (const int ratio : {1, 2, 4}) {
    const Topology topology = thinned(8, ratio);
    const FabricLeaves leaves(topology);
    SharedNetwork network(topology, leaves, 1);
    NodeTraffic far;
    NodeTraffic near;
    for (std::uint32_t node = 0; node < 8; ++node) {
      far[{node, (node + 4) % 8}] = 400e9;  // a second of eight NICs of 50 GB/s
      near[{node, node ^ 1U}] = 400e9;
    }
    EXPECT_NEAR(network.busy_time(far).value, ratio, 1e-6);
    EXPECT_NEAR(network.busy_time(near).value, 1, 1e-6);
  }
}

/// The time of a call of groups of ranks, of which so many are on a node at once.
Seconds time_of(const Topology& topology, ProgramCallKind kind, const std::vector<Rank>& ranks,
                std::uint32_t alike, Bytes bytes) {
  const auto gpus = topology.gpus();
  MachineCallCosts costs({&topology, {gpus.begin(), gpus.end()}, {}, false, {}});
  ProgramCommunicator communicator;
  communicator.ranks = ranks;
  communicator.alike = alike;
  return costs.cost_of(communicator, {0, kind, bytes}).alone;
}

/// One GPU of each node, or two, or all.
std::vector<Rank> group_of(Rank per_node, Rank nodes) {
  std::vector<Rank> ranks;
  for (Rank node = 0; node < nodes; ++node) {
    for (Rank place = 0; place < per_node; ++place) ranks.push_back(8 * node + place);
  }
  return ranks;
}

/// Groups that exchange at once fill the cables upwards as one call of as much does: on thinner
/// fabrics they take longer, those of all-to-all more than rings, which cross leaves once.
TEST(MachineCallCosts, of_groups_at_once_feel_thin_fabrics) {
  for (const Rank per_node : {1U, 2U, 4U, 8U}) {
    std::vector<double> times;
    for (const int ratio : {1, 2, 4}) {
      times.push_back(time_of(thinned(8, ratio), ProgramCallKind::all_to_all, group_of(per_node, 8),
                              8 / per_node, Bytes{256 << 20})
                          .value);
    }
    EXPECT_GT(times[1], 1.05 * times[0]) << per_node << " GPUs of a node";
    EXPECT_GT(times[2], 1.6 * times[1]) << per_node << " GPUs of a node";
  }
}

/// Inside one leaf no fabric is thin.
TEST(MachineCallCosts, of_groups_on_one_leaf_feel_no_fabric) {
  for (const Rank per_node : {1U, 4U, 8U}) {
    for (const auto kind : {ProgramCallKind::all_to_all, ProgramCallKind::all_reduce}) {
      const auto time = [&](int ratio) {
        return time_of(thinned(8, ratio), kind, group_of(per_node, 4), 8 / per_node,
                       Bytes{256 << 20})
            .value;
      };
      EXPECT_NEAR(time(4), time(1), 0.01 * time(1)) << per_node << " GPUs of a node";
    }
  }
}

}  // namespace
}  // namespace collsim
