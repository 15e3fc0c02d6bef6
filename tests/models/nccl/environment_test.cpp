#include "models/nccl/settings/environment.h"

#include <gtest/gtest.h>

#include <string>

#include "sim/base/input_error.h"
#include "sim/topologies/loader.h"
#include "tests/models/nccl/nccl_test_support.h"

namespace collsim::test {
namespace {

const std::string h100 = golden_folder + "topologies/dgxh100.xml";
const std::string a100 = golden_folder + "topologies/dgxa100.xml";

NcclEnvironment parse(const std::string& name, const std::string& value,
                      NcclVersion version = default_nccl_version) {
  return parse_nccl_environment({{name, value}}, version);
}

TEST(NcclEnvironment, ListsNameOrExclude) {
  const auto only = parse("NCCL_ALGO", "ring,Tree").algorithm_allowed;
  EXPECT_TRUE(only[0][index_of(NcclAlgorithm::ring)]);
  EXPECT_TRUE(only[4][index_of(NcclAlgorithm::tree)]);
  EXPECT_FALSE(only[0][index_of(NcclAlgorithm::nvls)]);
  const auto without = parse("NCCL_PROTO", "^LL128").protocol_allowed;
  EXPECT_EQ(without[0][index_of(Protocol::ll128)], false);
  EXPECT_EQ(without[0][index_of(Protocol::ll)], true);
}

TEST(NcclEnvironment, ListsForOneFunctionOverrideTheGeneralOne) {
  const auto allowed = parse("NCCL_PROTO", "^LL128;allreduce:LL128").protocol_allowed;
  EXPECT_EQ(allowed[index_of(NcclFunction::all_reduce)][index_of(Protocol::ll128)], true);
  EXPECT_EQ(allowed[index_of(NcclFunction::all_reduce)][index_of(Protocol::simple)], false);
  EXPECT_EQ(allowed[index_of(NcclFunction::reduce)][index_of(Protocol::ll128)], false);
  // A function that no list speaks of stays NCCL's to decide.
  const auto others = parse("NCCL_PROTO", "allreduce:LL").protocol_allowed;
  EXPECT_EQ(others[index_of(NcclFunction::reduce)][index_of(Protocol::ll)], std::nullopt);
}

TEST(NcclEnvironment, RefusesWhatNcclRefuses) {
  const std::pair<const char*, const char*> bad[] = {
      {"NCCL_ALGO", "rings"},         {"NCCL_ALGO", ""},        {"NCCL_ALGO", "ring;tree"},
      {"NCCL_ALGO", "bcast:ring"},    {"NCCL_PROTO", "LL64"},   {"NCCL_MIN_NCHANNELS", "many"},
      {"NCCL_MAX_NCHANNELS", "0"},    {"NCCL_NTHREADS", "100"}, {"NCCL_LL128_NTHREADS", "1024"},
      {"NCCL_P2P_LEVEL", "NVSWITCH"}, {"NCCL_CROSS_NIC", "3"},  {"NCCL_THREAD_THRESHOLDS", "x"},
      {"NCCL_BUFFSIZE", "4M"}};
  for (const auto& [name, value] : bad) {
    EXPECT_THROW(parse(name, value), InputError) << name << "=" << value;
  }
  EXPECT_THROW(parse("NCCL_ALGO", "allreduce:ring", {2, 23}), InputError);
}

TEST(NcclEnvironment, ChecksQueuePairsAndWarnsThatTheyChangeNothing) {
  EXPECT_TRUE(parse("NCCL_IB_QPS_PER_CONNECTION", "1").warnings.empty());
  EXPECT_TRUE(parse("NCCL_IB_SPLIT_DATA_ON_QPS", "0").warnings.empty());
  EXPECT_EQ(parse("NCCL_IB_QPS_PER_CONNECTION", "4").warnings.size(), 1U);
  EXPECT_EQ(parse("NCCL_IB_SPLIT_DATA_ON_QPS", "1").warnings.size(), 1U);
  EXPECT_THROW(parse("NCCL_IB_QPS_PER_CONNECTION", "129"), InputError);
  EXPECT_THROW(parse("NCCL_IB_SPLIT_DATA_ON_QPS", "2"), InputError);
}

// Two A6000 on an NVLink bridge are of 8.6, which was on no list; the lists ended with 2.27.
TEST(NcclEnvironment, Ll128IsForTheGenerationsOfARelease) {
  const auto bandwidth = [](std::string_view machine, std::string_view version) {
    const Nccl nccl(load_topology(source + "/topologies/" + std::string(machine) + ".yaml"), {},
                    parse_nccl_version(version));
    return nccl.tuning(NcclFunction::all_reduce, NcclAlgorithm::ring, Protocol::ll128).bandwidth;
  };
  EXPECT_EQ(bandwidth("a6000-2-bridged", "2.26"), 0);
  EXPECT_GT(bandwidth("a6000-2-bridged", "2.27"), 0);
  EXPECT_EQ(bandwidth("dgx-b200", "2.24"), 0);
  EXPECT_GT(bandwidth("dgx-b200", "2.25"), 0);
  EXPECT_GT(bandwidth("dgx-a100", "2.18"), 0);
}

// A NIC behind Grace lies behind a host bridge until 2.26, over which LL128 does not run; then its
// path is better than one. Rings that may not use a neighbour's NIC change NICs, as far away. NICs
// below a PCIe switch are as they were.
TEST(NcclEnvironment, ReleasesFindNicsBehindGrace) {
  struct Case {
    const char* machine;
    const char* version;
    Nccl::Variables variables;
    PathType tree;
    bool has_ll128;
  };
  const Nccl::Variables relays{{"NCCL_PXN_C2C", "1"}};
  const Nccl::Variables none{{"NCCL_PXN_C2C", "0"}};
  const std::vector<Case> cases{
      {"gh200-4-x64", "2.23.4", {}, PathType::phb, false},
      {"gh200-4-x64", "2.26", relays, PathType::phb, false},
      {"gh200-4-x64", "2.28", {}, PathType::p2c, true},
      {"gh200-4-x64", "2.30", none, PathType::p2c, true},
      {"gh200-x16", "2.19", {}, PathType::phb, false},
      {"gh200-x16", "2.27", {}, PathType::p2c, true},
      {"dgx-h100-x4", "2.19", {}, PathType::pix, true},
      {"dgx-h100-x4", "2.30", none, PathType::pix, true},
  };
  for (const Case& each : cases) {
    SCOPED_TRACE(std::string(each.machine) + " " + each.version);
    const Nccl nccl(load_topology(source + "/topologies/" + each.machine + ".yaml"), each.variables,
                    parse_nccl_version(each.version));
    EXPECT_EQ(nccl.graphs().tree.inter_type, each.tree);
    const double ll128 =
        nccl.tuning(NcclFunction::all_reduce, NcclAlgorithm::ring, Protocol::ll128).bandwidth;
    EXPECT_EQ(ll128 > 0, each.has_ll128);
  }
}

// To a NIC through another GPU, as on a host whose one NIC is beside GPU 2.
TEST(NcclEnvironment, Ll128MayBeKeptOffPxn) {
  const Nccl::Variables one{{"NCCL_IB_HCA", "=mlx5_2"}};
  Nccl::Variables without = one;
  without["NCCL_LL128_C2C"] = "0";
  const auto bandwidth = [](const Nccl& nccl) {
    return nccl.tuning(NcclFunction::all_reduce, NcclAlgorithm::ring, Protocol::ll128).bandwidth;
  };
  ASSERT_EQ(nccl_on(h100, 4, one).graphs().ring.inter_type, PathType::pxn);
  EXPECT_GT(bandwidth(nccl_on(h100, 4, one)), 0);
  EXPECT_EQ(bandwidth(nccl_on(h100, 4, without)), 0);
}

TEST(NcclEnvironment, NamesWhatItDoesNotModel) {
  const auto environment = parse_nccl_environment(
      {{"NCCL_IB_TIMEOUT", "22"}, {"NCCL_ALGO", "Ring"}}, default_nccl_version);
  ASSERT_EQ(environment.warnings.size(), 1U);
  EXPECT_NE(environment.warnings[0].find("NCCL_IB_TIMEOUT"), std::string::npos);
}

TEST(NcclEnvironment, ChannelsAreCutThenRepeated) {
  // DGX H100 alone has 24; 4 of them four times over are 16.
  EXPECT_EQ(nccl_on(h100, 1, {{"NCCL_MAX_NCHANNELS", "4"}}).channels().channels.size(), 4U);
  EXPECT_EQ(nccl_on(h100, 1, {{"NCCL_MIN_NCHANNELS", "32"}}).channels().channels.size(), 32U);
  const Nccl both = nccl_on(h100, 1, {{"NCCL_MAX_NCHANNELS", "4"}, {"NCCL_MIN_NCHANNELS", "16"}});
  EXPECT_EQ(both.channels().channels.size(), 16U);
}

TEST(NcclEnvironment, ForcedPairIsChosen) {
  const Nccl nccl = nccl_on(h100, 1, {{"NCCL_ALGO", "Tree"}, {"NCCL_PROTO", "Simple"}});
  const Choice choice = nccl.choose(NcclFunction::all_reduce, Bytes{1 << 20});
  EXPECT_EQ(choice.algorithm, NcclAlgorithm::tree);
  EXPECT_EQ(choice.protocol, Protocol::simple);
  EXPECT_EQ(choice.candidates.size(), 1U);
  EXPECT_EQ(choice.threads, 640U);
  EXPECT_THROW(nccl.choose(NcclFunction::broadcast, Bytes{8}), InputError);
}

TEST(NcclEnvironment, ThreadsLimitChannels) {
  // Ring/LL on 8 ranks wants 64 bytes a thread: 64 KiB fill 2 blocks of 512, or 4 of 256.
  EXPECT_EQ(nccl_on(h100, 1).choose(NcclFunction::all_reduce, Bytes{1 << 16}).channels, 2U);
  const Nccl fewer = nccl_on(h100, 1, {{"NCCL_NTHREADS", "256"}});
  EXPECT_EQ(fewer.choose(NcclFunction::all_reduce, Bytes{1 << 16}).channels, 4U);
  // With 8 bytes a thread, 24 blocks are full at 96 KiB.
  const Nccl eager = nccl_on(h100, 1, {{"NCCL_THREAD_THRESHOLDS", "8 8 64 8 8 64"}});
  EXPECT_EQ(eager.choose(NcclFunction::all_reduce, Bytes{1 << 17}).channels, 24U);
}

TEST(NcclEnvironment, WithoutPeerToPeerEverythingGoesThroughTheHost) {
  const Nccl nccl = nccl_on(h100, 1, {{"NCCL_P2P_DISABLE", "1"}});
  EXPECT_GE(nccl.graphs().ring.intra_type, PathType::phb);
  // LL128 is off beyond NVLink.
  EXPECT_EQ(nccl.tuning(NcclFunction::all_reduce, NcclAlgorithm::ring, Protocol::ll128).bandwidth,
            0);
  EXPECT_THROW(nccl_on(h100, 1, {{"NCCL_P2P_DISABLE", "1"}, {"NCCL_SHM_DISABLE", "1"}}),
               InputError);
}

TEST(NcclEnvironment, SwitchesOffNvlsCrossNicAndPxn) {
  const Nccl plain = nccl_on(h100, 4, {{"NCCL_NVLS_ENABLE", "0"}, {"NCCL_CROSS_NIC", "0"}});
  EXPECT_TRUE(plain.graphs().nvls.channels.empty());
  EXPECT_EQ(plain.graphs().ring.cross_nic, 0);
  for (const GraphChannel& channel : plain.graphs().ring.channels) {
    EXPECT_EQ(channel.first_net, channel.last_net);  // every ring stays on its rail
  }
  const Nccl without_pxn = nccl_on(h100, 4, {{"NCCL_PXN_DISABLE", "1"}});
  EXPECT_NE(without_pxn.graphs().ring.inter_type, PathType::pxn);
}

TEST(NcclEnvironment, NicsCanBeHidden) {
  const Nccl two = nccl_on(a100, 4, {{"NCCL_IB_HCA", "=mlx5_0,mlx5_1"}});
  EXPECT_EQ(two.system().of_kind(NcclNodeKind::net).size(), 2U);
  const Nccl seven = nccl_on(a100, 4, {{"NCCL_IB_HCA", "^mlx5_3:1"}});
  EXPECT_EQ(seven.system().of_kind(NcclNodeKind::net).size(), 7U);
  EXPECT_THROW(nccl_on(a100, 4, {{"NCCL_IB_HCA", "mlx6"}}), InputError);
}

TEST(NcclEnvironment, PatCanBeSwitchedOff) {
  const std::string one_gpu = golden_folder + "topologies/a100_1gpu.xml";
  const auto pat = [&](const Nccl& nccl) {
    return nccl.tuning(NcclFunction::all_gather, NcclAlgorithm::pat, Protocol::simple).bandwidth;
  };
  EXPECT_FLOAT_EQ(pat(nccl_on(one_gpu, 8)), 18);  // 24 * 0.75
  EXPECT_EQ(pat(nccl_on(one_gpu, 8, {{"NCCL_PAT_ENABLE", "0"}})), 0);
  EXPECT_EQ(pat(nccl_on(one_gpu, 8, {}, "2.22")), 0);  // came with 2.23
}

}  // namespace
}  // namespace collsim::test
