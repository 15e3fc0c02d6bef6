// By which NICs NCCL's channels reach other nodes, and that the wires go there.

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "models/calibration/transport.h"
#include "models/call/prediction.h"
#include "models/call/rank_gpus.h"
#include "sim/base/data_directory.h"
#include "sim/topologies/loader.h"

namespace collsim {
namespace {

/// The NICs of the first node at which a wire of the call ends, by name.
std::set<std::string> nics_in_use(std::string_view machine, const std::string& algorithm,
                                  const std::map<std::string, std::string>& variables,
                                  Collective collective = Collective::all_reduce) {
  const Topology topology = load_topology(find_data_file(machine, "topologies"));
  RunSpec run;
  run.algorithm = algorithm;
  run.variables = variables;
  const auto ranks = static_cast<Rank>(topology.gpus().size());
  const CallCompiler compiler(
      {&topology, calibration_for(topology), collective, run, first_gpus(topology, ranks)});
  const CompiledCall call = compiler.plan(Bytes{1 << 28});
  std::set<std::string> nics;
  for (const ResourceOrigin& origin : call.layout->wiring.origins) {
    if (origin.shared) continue;
    for (const DeviceId end : {topology.link(origin.id).from, topology.link(origin.id).to}) {
      const Device device = topology.device(end);
      if (device.kind == DeviceKind::nic && device.node == 0)
        nics.insert(topology.device_name(end));
    }
  }
  return nics;
}

// One NIC beside each of eight GPUs.
TEST(HopNics, rails_are_all_in_use) {
  EXPECT_EQ(nics_in_use("dgx-h100-x4", "ring", {}).size(), 8U);
  EXPECT_EQ(nics_in_use("dgx-h100-x4", "tree", {}).size(), 8U);
}

// Sixteen ports, four beside each pair of GPUs: NCCL's search gives each to a channel, where the
// nearest one of a GPU would be one of two.
TEST(HopNics, of_several_beside_a_gpu_all_are_in_use) {
  EXPECT_EQ(nics_in_use("oci-a100-x4", "ring", {}).size(), 16U);
}

// Channels of sends and receives take turns at the two ports of a GPU's switch.
TEST(HopNics, sends_and_receives_use_several_beside_a_gpu_too) {
  EXPECT_EQ(nics_in_use("oci-h100-x4", "auto", {}, Collective::all_to_all).size(), 16U);
}

// Heads of NVLSTree take the NICs of their search channels in turn, not one each.
TEST(HopNics, of_heads_are_all_ports) {
  EXPECT_EQ(nics_in_use("oci-h100-x4", "nvlstree", {}).size(), 16U);
}

// Each of two trees has every other channel, and each of the two ports beside a head is to carry
// half of either: else one tree waits for a full port beside an empty one.
TEST(HopNics, of_heads_have_as_much_of_both_trees) {
  const Nccl nccl(load_topology(find_data_file("oci-h100-x4", "topologies")));
  for (std::uint32_t gpu = 0; gpu < 8; ++gpu) {
    for (std::uint32_t tree = 0; tree < 2; ++tree) {
      std::map<int, int> channels;  // by port
      for (std::uint32_t channel = tree; channel < 16; channel += 2) {
        ++channels[nccl.head_nets().of(channel, gpu)->nic];
      }
      ASSERT_EQ(channels.size(), 2U) << gpu;
      EXPECT_EQ(channels.begin()->second, 4) << gpu;
    }
  }
}

TEST(HopNics, hidden_ones_are_not_in_use) {
  const std::map<std::string, std::string> one{{"NCCL_IB_HCA", "=mlx5_2"}};
  EXPECT_EQ(nics_in_use("dgx-h100-x4", "ring", one), std::set<std::string>{"node0/nic2"});
  EXPECT_EQ(nics_in_use("dgx-h100-x4", "tree", one), std::set<std::string>{"node0/nic2"});
}

// The first GPU of a channel has the NIC that the channel begins at, the others that of its end.
TEST(HopNics, of_a_channel_are_those_of_its_ends) {
  const Nccl nccl(load_topology(find_data_file("dgx-h100-x4", "topologies")));
  const GraphChannel& channel = nccl.graphs().ring.channels.front();
  const auto device = [&](std::uint32_t net) {
    return nccl.system().node(nccl.system().of_kind(NcclNodeKind::net)[net]).net.device;
  };
  EXPECT_EQ(nccl.ring_nets().of(0, channel.gpus.front())->nic, device(*channel.first_net));
  EXPECT_EQ(nccl.ring_nets().of(0, channel.gpus.back())->nic, device(*channel.last_net));
}

// With one NIC left, all but the GPU beside it send through that GPU (PXN), which is on NVLink.
TEST(HopNics, far_ones_are_reached_through_the_gpu_beside_them) {
  const Topology topology = load_topology(find_data_file("dgx-h100-x4", "topologies"));
  const Nccl nccl(topology, {{"NCCL_IB_HCA", "=mlx5_2"}});
  const GraphChannel& channel = nccl.graphs().ring.channels.front();
  ASSERT_EQ(channel.gpus.front(), 2U);
  EXPECT_EQ(nccl.ring_nets().of(0, 2), (ChannelNet{2, std::nullopt}));
  EXPECT_EQ(nccl.ring_nets().of(0, channel.gpus.back()), (ChannelNet{2, 2U}));
  const Nccl without(topology, {{"NCCL_IB_HCA", "=mlx5_2"}, {"NCCL_PXN_DISABLE", "1"}});
  EXPECT_EQ(without.ring_nets().of(0, channel.gpus.back()), (ChannelNet{2, std::nullopt}));
}

TEST(HopNics, one_node_has_none) {
  const Nccl nccl(load_topology(find_data_file("dgx-h100", "topologies")));
  EXPECT_FALSE(nccl.ring_nets().of(0, 0).has_value());
}

}  // namespace
}  // namespace collsim
