// What changed in NCCL's estimates from release to release.

#include "models/nccl/settings/version.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string_view>
#include <utility>
#include <vector>

#include "models/nccl/launch_size.h"
#include "models/nccl/search/speed_table.h"
#include "models/nccl/system/link_bandwidth.h"
#include "sim/base/data_directory.h"
#include "sim/base/input_error.h"
#include "sim/topologies/loader.h"
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

/// DGX B200 under the rules of a release.
Nccl b200(std::string_view version, std::uint32_t gpus = 8) {
  Nccl::LocalGpus own(gpus);
  std::iota(own.begin(), own.end(), 0U);
  return Nccl(load_topology(find_data_file("dgx-b200", "topologies")), {},
              parse_nccl_version(version), 1, own);
}

double ring_simple(const Nccl& nccl, NcclFunction function, Bytes size) {
  return *nccl.estimate(function, NcclAlgorithm::ring, Protocol::simple, size);
}

// NCCL 2.31 src/tuning/ring.cc. A ring of 8 on NVLink: 8.4 + 7 x 3.4 = 32.2 us for an AllGather,
// 8.4 + 14 x 3.4 = 56 us for an AllReduce. Of 1 MiB a channel and rank have 4 KiB.
TEST(NcclVersion, BlackwellsRingsHaveAPlateauInsideANodeSince231) {
  const Bytes mebibyte{1 << 20};
  const auto time = [&](std::string_view version, NcclFunction function) {
    return ring_simple(b200(version), function, mebibyte);
  };
  const auto grown = [&](const char* before, const char* after, NcclFunction function) {
    return time(after, function) - time(before, function);
  };
  EXPECT_NEAR(grown("2.30", "2.31", NcclFunction::all_gather), 0.4 * 32.2, 0.01);
  EXPECT_NEAR(grown("2.30", "2.31", NcclFunction::reduce_scatter), 0.4 * 32.2, 0.01);
  EXPECT_NEAR(grown("2.30", "2.31", NcclFunction::all_reduce), 0, 1e-9);
  EXPECT_NEAR(grown("2.30", "2.31", NcclFunction::broadcast), 0, 1e-9);
  // Of the 0.4, a ring of 7 steps has 1 - 0.25^6 = 0.99976 since 2.32.
  EXPECT_NEAR(grown("2.31", "2.32", NcclFunction::all_gather), -0.4 * 0.00024 * 32.2, 0.001);
  EXPECT_NEAR(grown("2.30", "2.32", NcclFunction::all_reduce), 0.4 * 56, 0.01);
}

// Since 2.32 two ranks, whose ring has one step, have no plateau, and pieces of 512 KiB, here of
// 32 channels x 8 ranks x 512 KiB = 128 MiB, one of 0.3 in place of 0.4.
TEST(NcclVersion, BlackwellsPlateauIsLessForFewStepsAndLongPiecesSince232) {
  const Nccl before = b200("2.30");
  const Nccl after = b200("2.32");
  ASSERT_EQ(after.channel_count(), 32U);
  const auto grown = [&](std::int64_t mebibytes) {
    const Bytes size{mebibytes << 20};
    return ring_simple(after, NcclFunction::all_reduce, size) -
           ring_simple(before, NcclFunction::all_reduce, size);
  };
  EXPECT_NEAR(grown(64), 0.4 * 56, 0.05);
  EXPECT_NEAR(grown(128), 0.3 * 56, 0.05);
  EXPECT_NEAR(grown(1024), 0.3 * 56, 0.05);
  const Bytes mebibyte{1 << 20};
  EXPECT_DOUBLE_EQ(ring_simple(b200("2.32", 2), NcclFunction::all_gather, mebibyte),
                   ring_simple(b200("2.30", 2), NcclFunction::all_gather, mebibyte));
}

// NCCL src/graph/search.cc, sm100SpeedArrayInter; other generations' tables stay.
TEST(NcclVersion, BlackwellsStepOf902CameWith231) {
  const auto has = [](std::string_view version) {
    const auto speeds = speed_table(100, true, parse_nccl_version(version));
    return std::find(speeds.begin(), speeds.end(), 90.2F) != speeds.end();
  };
  EXPECT_FALSE(has("2.30"));
  EXPECT_TRUE(has("2.31"));
  EXPECT_TRUE(has("2.32"));
  for (const char* version : {"2.30", "2.31", "2.32"}) {
    EXPECT_EQ(speed_table(90, true, parse_nccl_version(version)).size(), 17U) << version;
  }
}

// Rings of one channel of 10 GB/s, as slow as PCIe gen3, had half of the threads.
TEST(NcclVersion, SlowRingsHaveAllThreadsSince231) {
  NcclGraphs graphs;
  graphs.ring.channels.resize(1);
  graphs.ring.intra_bandwidth = 10;
  const NcclEnvironment environment{};
  const auto threads = [&](std::string_view version) {
    LaunchInput input;
    input.graphs = &graphs;
    input.environment = &environment;
    input.version = parse_nccl_version(version);
    return max_threads(NcclAlgorithm::ring, Protocol::simple, input);
  };
  EXPECT_EQ(threads("2.30"), 256U);
  EXPECT_EQ(threads("2.31"), 512U);
}

// What 2.31 and 2.32 changed is Blackwell's, but for slow rings' threads: on Hopper and Ampere
// every estimate is that of 2.30.
TEST(NcclVersion, OldGenerationsChooseAsBeforeSince231) {
  for (const std::string& machine : {h100, a100}) {
    for (const std::uint32_t nodes : {1U, 2U, 4U}) {
      const Nccl before = nccl_on(machine, nodes, {}, "2.30");
      for (const char* version : {"2.31", "2.32"}) {
        const Nccl after = nccl_on(machine, nodes, {}, version);
        for (const NcclFunction function : all_nccl_functions) {
          for (int log2_size = 3; log2_size <= 33; ++log2_size) {
            const Bytes size{std::int64_t{1} << log2_size};
            EXPECT_DOUBLE_EQ(before.choose(function, size).time, after.choose(function, size).time)
                << machine << ' ' << nodes << ' ' << version << ' ' << log2_size;
          }
        }
      }
    }
  }
}

// Releases as logs write them, those that are not known among them.
TEST(NcclVersion, of_a_log_is_the_nearest_whose_rules_are_known) {
  const std::vector<std::pair<const char*, NcclVersion>> logged{
      {"2.28.9", {2, 28, 9}},          {"2.28.9+cuda12.4", {2, 28, 9}},
      {"2.29.9.1", {2, 29, 9}},        {"2.30", {2, 30, last_patch}},
      {"2.10.3", oldest_nccl_version}, {"1.8.1", oldest_nccl_version},
      {"2.99.1", newest_nccl_version}, {"3.0.0", newest_nccl_version},
      {"", default_nccl_version},      {"unknown", default_nccl_version},
  };
  for (const auto& [text, release] : logged) EXPECT_EQ(nearest_nccl_version(text), release) << text;
}

}  // namespace
}  // namespace collsim::test
