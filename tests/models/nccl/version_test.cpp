// What changed in NCCL's estimates from release to release.

#include "models/nccl/settings/version.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "models/nccl/search/speed_table.h"
#include "models/nccl/system/link_bandwidth.h"
#include "sim/base/input_error.h"
#include "tests/models/nccl/nccl_test_support.h"

namespace collsim::test {
namespace {

const std::string h100 = golden_folder + "topologies/dgxh100.xml";
const std::string a100 = golden_folder + "topologies/dgxa100.xml";

Tuning all_reduce(const Nccl& nccl, NcclAlgorithm algorithm, Protocol protocol) {
  return nccl.tuning(NcclFunction::all_reduce, algorithm, protocol);
}

TEST(NcclVersion, IsReadWithOrWithoutPatch) {
  EXPECT_EQ(parse_nccl_version("2.28.9"), (NcclVersion{2, 28, 9}));
  // Without a patch it is the last of the series.
  EXPECT_GT(parse_nccl_version("2.18"), (NcclVersion{2, 18, 6}));
  EXPECT_LT(parse_nccl_version("2.18"), (NcclVersion{2, 19}));
  EXPECT_EQ(to_string(parse_nccl_version("2.28.9")), "2.28.9");
  EXPECT_EQ(to_string(parse_nccl_version("2.28")), "2.28");
  for (const char* bad : {"", "2", "2.", "2.28.", "2.28.9.1", "two", "2.17", "2.99", "3.0", "-2.28",
                          "1.1030.0", "2.2147483647", "2147483647.28", "2.28.1000"}) {
    EXPECT_THROW(parse_nccl_version(bad), InputError) << bad;
  }
}

TEST(NcclVersion, NvlsBefore228) {
  // 8 channels of min(40, 60) GB/s, 5/6 of it; 25 us from 2.21 on, 23 before.
  const Tuning new_one =
      all_reduce(nccl_on(h100, 1, {}, "2.27"), NcclAlgorithm::nvls, Protocol::simple);
  EXPECT_NEAR(new_one.bandwidth, 8 * 40 * 5.0 / 6, 0.01);
  EXPECT_FLOAT_EQ(new_one.latency, 25);
  const Tuning old_one =
      all_reduce(nccl_on(h100, 1, {}, "2.20"), NcclAlgorithm::nvls, Protocol::simple);
  EXPECT_FLOAT_EQ(old_one.latency, 23);
}

TEST(NcclVersion, RingLlBefore221) {
  // A100 x 8: min(240 / 4, 87.7) * 8 / 14 for AllReduce, min(240 / 3, 87.7) * 8 / 7 for AllGather.
  const Nccl nccl = nccl_on(a100, 1, {}, "2.20");
  EXPECT_NEAR(all_reduce(nccl, NcclAlgorithm::ring, Protocol::ll).bandwidth, 60 * 8.0 / 14, 0.01);
  EXPECT_NEAR(nccl.tuning(NcclFunction::all_gather, NcclAlgorithm::ring, Protocol::ll).bandwidth,
              80 * 8.0 / 7, 0.01);
}

TEST(NcclVersion, TreeSimpleLatency) {
  // A100 x 8 alone, depth 7 up and down: 14 hops of 4 us (2.18), 28 us (2.19 to 2.22), then 4 us
  // and a base of 8.4 us.
  const auto latency = [](std::string_view version) {
    return all_reduce(nccl_on(a100, 1, {}, version), NcclAlgorithm::tree, Protocol::simple).latency;
  };
  EXPECT_FLOAT_EQ(latency("2.18"), 56);
  EXPECT_FLOAT_EQ(latency("2.19"), 392);
  EXPECT_FLOAT_EQ(latency("2.22"), 392);
  EXPECT_FLOAT_EQ(latency("2.23"), 64.4F);
}

TEST(NcclVersion, AllGatherByNvlsCameWith219) {
  const auto bandwidth = [](std::string_view version) {
    return nccl_on(h100, 1, {}, version)
        .tuning(NcclFunction::all_gather, NcclAlgorithm::nvls, Protocol::simple)
        .bandwidth;
  };
  EXPECT_EQ(bandwidth("2.18"), 0);
  EXPECT_GT(bandwidth("2.19"), 0);
}

TEST(NcclVersion, ChannelsWereAtMost32) {
  const Nccl::Variables many{{"NCCL_MIN_NCHANNELS", "64"}};
  EXPECT_EQ(nccl_on(a100, 1, many, "2.24").channels().channels.size(), 32U);
  EXPECT_EQ(nccl_on(a100, 1, many, "2.25").channels().channels.size(), 64U);
}

// NCCL src/transport/nvls.cc: "gpuCount <= 2" until 2.28.6, then "gpuCount < 2".
TEST(NcclVersion, NvlsOfTwoGpusCameWith2287) {
  const std::string two = machine_folder + "h100_2.xml";
  EXPECT_EQ(nccl_on(two, 1, {}, "2.28.6").nvls_channels(), 0U);
  EXPECT_EQ(nccl_on(two, 1, {}, "2.28.7").nvls_channels(), 16U);
  EXPECT_EQ(nccl_on(two, 1, {}, "2.28").nvls_channels(), 16U);
}

// NCCL src/graph/search.cc, sm100SpeedArrayIntra.
TEST(NcclVersion, BlackwellsStepOf45CameWith2292) {
  const auto has_45 = [](std::string_view version) {
    const auto speeds = speed_table(100, false, parse_nccl_version(version));
    return std::find(speeds.begin(), speeds.end(), 45.0F) != speeds.end();
  };
  EXPECT_FALSE(has_45("2.28"));
  EXPECT_FALSE(has_45("2.29.1"));
  EXPECT_TRUE(has_45("2.29.2"));
  EXPECT_TRUE(has_45("2.30"));
}

// NVIDIA/nccl pull request 2036: 16 GB/s for Zen 1 and 2, 24 for 3 and 4, 32 for 5; before, and of
// families that NCCL does not know, 16.
TEST(NcclVersion, AmdsSocketsDifferByGenerationSince2305) {
  const auto between = [](int family, std::string_view version) {
    return cpu_link_bandwidth({CpuArchitecture::x86, CpuVendor::amd, family, 1},
                              parse_nccl_version(version));
  };
  for (const int family : {23, 25, 26, 27}) {
    EXPECT_DOUBLE_EQ(between(family, "2.30.4"), 16) << family;
    EXPECT_DOUBLE_EQ(between(family, "2.18"), 16) << family;
  }
  EXPECT_DOUBLE_EQ(between(23, "2.30.5"), 16);
  EXPECT_DOUBLE_EQ(between(25, "2.30.5"), 24);
  EXPECT_DOUBLE_EQ(between(26, "2.30.5"), 32);
  EXPECT_DOUBLE_EQ(between(27, "2.30.5"), 16);
}

// NVIDIA/nccl issue 2441: the same host as 2.30.4 (family 175) and 2.30.5 (25) write it. The ring
// crosses the sockets: 15 is the first speed of NCCL's table below 16 GB/s, 24 the one that is
// there.
TEST(NcclVersion, AGenoaIsTheSameInOldAndNewDumps) {
  for (const char* file : {"family-175.xml", "family-25.xml"}) {
    const std::string path = report_folder + "amd-family-id/" + file;
    EXPECT_FLOAT_EQ(nccl_on(path, 2, {}, "2.30.4").graphs().ring.inter_bandwidth, 15) << file;
    EXPECT_FLOAT_EQ(nccl_on(path, 2, {}, "2.30.5").graphs().ring.inter_bandwidth, 24) << file;
  }
}

TEST(NcclVersion, BlackwellsLinksGrewWith2275) {
  EXPECT_DOUBLE_EQ(nvlink_bandwidth(100, parse_nccl_version("2.27.4")), 40.0);
  EXPECT_DOUBLE_EQ(nvlink_bandwidth(100, parse_nccl_version("2.27.5")), 40.1);
}

}  // namespace
}  // namespace collsim::test
