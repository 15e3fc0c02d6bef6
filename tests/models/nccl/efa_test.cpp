// What NCCL knows of EFA from its plug-in.

#include "models/nccl/system/efa.h"

#include <gtest/gtest.h>

#include <string>

#include "models/nccl/net_plugin.h"
#include "models/nccl/tuning/efa_tuner.h"
#include "sim/topologies/loader.h"
#include "tests/models/nccl/nccl_test_support.h"

namespace collsim::test {
namespace {

Topology shipped(const std::string& name) {
  return load_topology(source + "/topologies/" + name + ".yaml");
}

TEST(Efa, MachinesAreKnownByTheirGpus) {
  EXPECT_EQ(efa_platform(shipped("aws-p3dn-x4")), EfaPlatform::p3dn);
  EXPECT_EQ(efa_platform(shipped("aws-p4d-x4")), EfaPlatform::p4d);
  EXPECT_EQ(efa_platform(shipped("aws-p5-x4")), EfaPlatform::p5);
  EXPECT_EQ(efa_platform("EFAv3", "H200"), EfaPlatform::p5en);
  EXPECT_EQ(efa_platform("EFA", "B200"), EfaPlatform::p6);
  EXPECT_EQ(efa_platform(shipped("dgx-h100-x4")), std::nullopt);
}

// Ring/LL over two p5: 6.6 + 28 steps of 2 us (an AMD host's overhead) inside nodes, and two
// between them of 2.7 us and the plug-in's 75: 218 us. Sockets report no latency: 68.
TEST(Efa, LatencyCountsForEveryStepBetweenNodes) {
  const auto latency = [](const Nccl::Variables& variables) {
    const Nccl nccl(shipped("aws-p5-x4"), variables, default_nccl_version, 2);
    return nccl.tuning(NcclFunction::all_reduce, NcclAlgorithm::ring, Protocol::ll).latency;
  };
  EXPECT_FLOAT_EQ(latency({}), 218);
  EXPECT_FLOAT_EQ(latency({{"NCCL_NET", "Socket"}}), 68);
}

TEST(Efa, PluginSetsVariables) {
  using Variables = Nccl::Variables;
  const Topology p3dn = shipped("aws-p3dn-x4");
  const Topology p4d = shipped("aws-p4d-x4");
  const Topology p5 = shipped("aws-p5-x4");
  EXPECT_EQ(with_net_plugin(p3dn, {}, {2, 26}), (Variables{{"NCCL_PROTO", "Simple"}}));
  EXPECT_EQ(with_net_plugin(p4d, {{"NCCL_BUFFSIZE", "4194304"}}, {2, 26}),
            (Variables{{"NCCL_PROTO", "Simple"},
                       {"NCCL_BUFFSIZE", "4194304"},
                       {"NCCL_P2P_NET_CHUNKSIZE", "524288"}}));
  EXPECT_EQ(with_net_plugin(p5, {}, {2, 18, 5}), (Variables{{"NCCL_NVLS_ENABLE", "0"}}));
  EXPECT_TRUE(with_net_plugin(p5, {}, {2, 19, 3}).empty());
  EXPECT_EQ(with_net_plugin(p5, {}, {2, 26}).size(), 4U);
  EXPECT_TRUE(with_net_plugin(shipped("dgx-h100-x4"), {}, {2, 26}).empty());
}

// 512 KiB instead of 128, and on four Hopper nodes of 64.
TEST(Efa, PluginWidensChunksOfNvls) {
  const Nccl p5(shipped("aws-p5-x4"));
  EXPECT_EQ(p5.nvls_chunk(NcclAlgorithm::nvls_tree), Bytes{512 << 10});
  const Nccl dgx(shipped("dgx-h100-x4"));
  EXPECT_EQ(dgx.nvls_chunk(NcclAlgorithm::nvls_tree), Bytes{64 << 10});
  EXPECT_EQ(dgx.nvls_chunk(NcclAlgorithm::nvls), Bytes{128 << 10});
}

std::optional<AlgorithmProtocol> tuned(double mebibytes, std::uint32_t nodes,
                                       std::uint32_t per_node = 8) {
  const Bytes size{static_cast<std::int64_t>(mebibytes * (1 << 20))};
  return efa_tuner_choice(EfaPlatform::p5, NcclFunction::all_reduce, size, nodes * per_node, nodes);
}

// On 32 ranks, log2 of which is 5, Tree with LL128 ends at 36 MiB, the corner of its region there.
// Ring with LL128 begins where it ends and goes on to 2^x bytes, x between 30 at 17 ranks and 31 at
// 64: 30 + (5 - 4.087) / (6 - 4.087) = 30.48, 1.39 GiB. Ring with Simple begins at 1.5 GiB, a
// corner of its region. Between them NCCL chooses.
TEST(EfaTuner, HasRegionsOfSizeAndRanks) {
  constexpr AlgorithmProtocol tree_ll128{NcclAlgorithm::tree, Protocol::ll128};
  constexpr AlgorithmProtocol ring_ll128{NcclAlgorithm::ring, Protocol::ll128};
  constexpr AlgorithmProtocol ring_simple{NcclAlgorithm::ring, Protocol::simple};
  EXPECT_EQ(tuned(1.0 / 1024, 4), tree_ll128);
  EXPECT_EQ(tuned(35.9, 4), tree_ll128);
  EXPECT_EQ(tuned(36.1, 4), ring_ll128);
  EXPECT_EQ(tuned(1.38 * 1024, 4), ring_ll128);
  EXPECT_EQ(tuned(1.45 * 1024, 4), std::nullopt);
  EXPECT_EQ(tuned(1.6 * 1024, 4), ring_simple);
  // 512 ranks: Tree until 320 MiB, then NVLSTree.
  EXPECT_EQ(tuned(319, 64), tree_ll128);
  EXPECT_EQ(tuned(321, 64), (AlgorithmProtocol{NcclAlgorithm::nvls_tree, Protocol::simple}));
}

TEST(EfaTuner, LeavesTwoNodesAndOtherMachinesToNccl) {
  EXPECT_EQ(tuned(1, 2), std::nullopt);
  EXPECT_EQ(tuned(1, 4, 4), std::nullopt);
  EXPECT_EQ(efa_tuner_choice(EfaPlatform::p4d, NcclFunction::all_reduce, Bytes{1 << 20}, 32, 4),
            std::nullopt);
}

TEST(EfaTuner, DecidesUnlessItMayNot) {
  const auto choice = [](const Nccl::Variables& variables, NcclVersion version) {
    const Nccl nccl(shipped("aws-p5-x4"), variables, version);
    const Choice found = nccl.choose(NcclFunction::all_reduce, Bytes{40 << 20});
    return AlgorithmProtocol{found.algorithm, found.protocol};
  };
  constexpr AlgorithmProtocol ring_ll128{NcclAlgorithm::ring, Protocol::ll128};
  EXPECT_EQ(choice({}, default_nccl_version), ring_ll128);
  EXPECT_NE(choice({{"NCCL_TUNER_PLUGIN", "none"}}, default_nccl_version), ring_ll128);
  EXPECT_NE(choice({}, {2, 20}), ring_ll128);
  EXPECT_EQ(choice({{"NCCL_TUNER_PLUGIN", "libnccl-ofi-tuner.so"}}, {2, 20}), ring_ll128);
  EXPECT_NE(choice({{"NCCL_ALGO", "Tree"}}, default_nccl_version), ring_ll128);
}

}  // namespace
}  // namespace collsim::test
