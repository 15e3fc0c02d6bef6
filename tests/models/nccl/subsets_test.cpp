// NCCL builds its view of a machine from the GPUs of the communicator only.

#include <gtest/gtest.h>

#include <numeric>

#include "models/call/prediction.h"
#include "models/call/rank_gpus.h"
#include "models/nccl/choice.h"
#include "sim/base/data_directory.h"
#include "sim/topologies/loader.h"

namespace collsim {
namespace {

Nccl first_gpus(std::string_view machine, std::uint32_t nodes, std::uint32_t gpus) {
  Nccl::LocalGpus places(gpus);
  std::iota(places.begin(), places.end(), 0U);
  return Nccl(load_topology(find_data_file(machine, "topologies")), {}, default_nccl_version, nodes,
              places);
}

// NCCL's own search on a node of 4 H100: 12 channels of 30 GB/s, doubled to 24; with 2 GPUs trees
// of 60 GB/s. Only four GPUs' worth of switch reduction never beats a ring (B = 160 against 240).
TEST(Subsets, of_a_node_are_searched_as_a_smaller_node) {
  for (const std::uint32_t gpus : {4U, 2U}) {
    const Nccl nccl = first_gpus("dgx-h100", 1, gpus);
    EXPECT_EQ(nccl.ranks(), gpus);
    EXPECT_EQ(nccl.graphs().ring.channel_count(), 12U);
    EXPECT_EQ(nccl.graphs().ring.intra_bandwidth, 30);
    EXPECT_EQ(nccl.graphs().tree.channel_count(), 12U);
    EXPECT_EQ(nccl.graphs().tree.intra_bandwidth, gpus == 2 ? 60 : 30);
    EXPECT_EQ(nccl.channels().channels.size(), 24U);
    for (std::int64_t size = 8; size <= std::int64_t{1} << 33; size *= 2) {
      EXPECT_NE(nccl.choose(NcclFunction::all_reduce, Bytes{size}).algorithm, NcclAlgorithm::nvls);
    }
  }
}

// One H100 with its 400 Gb/s NIC per node: 2 search channels of 24 GB/s, 4 that run.
TEST(Subsets, of_one_gpu_per_node_keep_their_nics) {
  const Nccl nccl = first_gpus("dgx-h100-x4", 4, 1);
  EXPECT_EQ(nccl.ranks(), 4U);
  EXPECT_EQ(nccl.graphs().ring.channel_count(), 2U);
  EXPECT_EQ(nccl.channels().channels.size(), 4U);
}

TEST(Subsets, run) {
  const Topology topology = load_topology(find_data_file("dgx-h100-x4", "topologies"));
  const auto ranks_of = [&](Rank ranks, std::optional<std::uint32_t> per_node) {
    const CallCompiler compiler({&topology, Calibration{}, Collective::all_reduce, RunSpec{},
                                 first_gpus(topology, ranks, per_node)});
    EXPECT_GT(simulate(compiler.plan(Bytes{1 << 20})).time.value, 0);
    return std::pair(compiler.nccl()->nodes(), compiler.nccl()->system().gpu_count());
  };
  EXPECT_EQ(ranks_of(4, std::nullopt), std::pair(1U, std::size_t{4}));
  EXPECT_EQ(ranks_of(16, std::nullopt), std::pair(2U, std::size_t{8}));
  EXPECT_EQ(ranks_of(3, 1), std::pair(3U, std::size_t{1}));
  EXPECT_EQ(ranks_of(6, 3), std::pair(2U, std::size_t{3}));
}

// Channels for sends and receives [per message]: one node of 8: 24 rounded up, 18 links each way
// are more than that; 4 nodes: 16, of which ceil(50 / 14) = 4 fill the NIC of a GPU.
TEST(Subsets, have_channels_for_sends_and_receives) {
  const PointToPoint one = first_gpus("dgx-h100", 1, 8).point_to_point();
  EXPECT_EQ(one.channels, 32U);
  EXPECT_EQ(one.per_peer, 32U);
  EXPECT_EQ(one.step, Bytes{512 << 10});
  const PointToPoint four = first_gpus("dgx-h100-x4", 4, 8).point_to_point();
  EXPECT_EQ(four.channels, 16U);
  EXPECT_EQ(four.per_peer, 4U);
  EXPECT_EQ(four.step, Bytes{128 << 10});
}

// 32 channels, 8 ranks: 4 for each message; LL up to 16 KiB for each of the 32 that one could get.
TEST(Messages, choose_protocol_and_chunk_by_size) {
  const PointToPoint one{32, 32, Bytes{512 << 10}};
  EXPECT_EQ(launch_messages(one, Bytes{512 << 10}, 8, 1).protocol, Protocol::ll);
  EXPECT_EQ(launch_messages(one, Bytes{(512 << 10) + 4}, 8, 1).protocol, Protocol::simple);
  EXPECT_EQ(launch_messages(one, Bytes{256 << 10}, 8, 1).parts, 4U);
  const PointToPoint four{16, 4, Bytes{128 << 10}};
  EXPECT_EQ(launch_messages(four, Bytes{8}, 32, 4).protocol, Protocol::simple);
  EXPECT_EQ(launch_messages(four, Bytes{64 << 10}, 32, 4).chunk, Bytes{32 << 10});
  EXPECT_EQ(launch_messages(four, Bytes{512 << 10}, 32, 4).chunk, Bytes{64 << 10});
  EXPECT_EQ(launch_messages(four, Bytes{1 << 20}, 32, 4).chunk, Bytes{128 << 10});
}

// 4 channels, 2 for a message of 2 ranks; LL up to 1 KiB for each of the four, chunks of 64 KiB.
TEST(Messages, obey_the_variables_for_sends_and_receives) {
  const Nccl nccl(load_topology(find_data_file("hgx-h200", "topologies")),
                  {{"NCCL_MIN_P2P_NCHANNELS", "3"},
                   {"NCCL_MAX_P2P_NCHANNELS", "3"},
                   {"NCCL_P2P_NVL_CHUNKSIZE", "65536"},
                   {"NCCL_P2P_LL_THRESHOLD", "1024"}},
                  default_nccl_version, 1, Nccl::LocalGpus{0, 1});
  EXPECT_TRUE(nccl.environment().warnings.empty());
  const PointToPoint resources = nccl.point_to_point();
  EXPECT_EQ(resources.channels, 4U);
  EXPECT_EQ(launch_messages(resources, Bytes{8192}, 2, 1).parts, 2U);
  EXPECT_EQ(launch_messages(resources, Bytes{4100}, 2, 1).protocol, Protocol::simple);
  EXPECT_EQ(launch_messages(resources, Bytes{4096}, 2, 1).protocol, Protocol::ll);
  EXPECT_EQ(launch_messages(resources, Bytes{1 << 20}, 2, 1).chunk, Bytes{65536});
}

}  // namespace
}  // namespace collsim
