// Public reports about what NCCL chooses and what settings do: the answers that their readers need.

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/temporary_file.h"
#include "tests/tools/command_outcome.h"

namespace collsim::command {
namespace {

using Args = std::vector<std::string>;

const std::string reports = std::string(COLLSIM_SOURCE_DIR) + "/tests/data/reports/";

nlohmann::json json_of(Args args) {
  args.insert(args.end(), {"--format", "json"});
  return nlohmann::json::parse(output_of(args));
}

/// One size on a machine: the row that `run` prints.
nlohmann::json row_of(const std::string& machine, const std::string& size, const Args& more = {}) {
  Args args{"run", "-t", machine, "-b", size, "-e", size};
  args.insert(args.end(), more.begin(), more.end());
  return json_of(args).at(0);
}

double time_of(const std::string& machine, const std::string& size, const Args& more = {}) {
  return row_of(machine, size, more).at("time_us");
}

/// GB/s, as nccl-tests counts the bus of an all-reduce.
double all_reduce_busbw(double bytes, double time_us, double ranks) {
  return bytes / time_us / 1e3 * 2 * (ranks - 1) / ranks;
}

test::TemporaryFile imported(const std::string& file, const Args& more) {
  Args args{"topo", "import", reports + file};
  args.insert(args.end(), more.begin(), more.end());
  return {"machine.yaml", output_of(args)};
}

// NVIDIA/nccl issue 1303. Two ports of 100 Gb/s a GPU fit its PCIe gen4 x16 of 24 GB/s: 16 channels
// on 16 NICs. One of 200 Gb/s (25 GB/s) fills it: 8 channels on every other NIC. Without GPUDirect
// the NICs are beyond a host bridge (PHB).
TEST(NcclReports, PortsThatFillPcieAreUsedOneByOne) {
  const auto ring = [](const char* file) {
    return output_of({"choose", reports + "vm-dual-port-nics/" + file, "--nodes", "2",
                      "--nccl-version", "2.19.3"});
  };
  const std::string both = ring("topo1-100g.xml");
  EXPECT_NE(both.find("ring   pattern 4 crossNic 0 nCh 16 bwIntra 12.00"), std::string::npos);
  EXPECT_NE(both.find(" ring ch15: NET15 "), std::string::npos);
  const std::string one = ring("topo2-200g.xml");
  EXPECT_NE(one.find("ring   pattern 4 crossNic 0 nCh 8 bwIntra 24.00"), std::string::npos);
  EXPECT_NE(one.find(" ring ch 1: NET2 "), std::string::npos);
  const std::string staged = ring("topo3-nogdr.xml");
  EXPECT_NE(staged.find("typeIntra NVL typeInter PHB"), std::string::npos);
}

// The same report, measured with rings: 193 GB/s with one port a GPU. By hand: eight NICs behind 24
// GB/s (31.5 of PCIe gen4 x16 at 76 %) carry 192. Without GPUDirect NCCL takes every second NIC, so
// that no link between switch and CPU is crossed twice: half of that at most (measured: 51).
TEST(NcclReports, WithoutGpuDirectHalfTheNicsAreLeft) {
  const auto busbw = [](const char* file) {
    const auto machine = imported(std::string("vm-dual-port-nics/") + file,
                                  {"--nodes", "2", "--fabric", "roce-200g"});
    const double time = time_of(machine.path().string(), "8G",
                                {"--nccl-version", "2.19.3", "--env", "NCCL_ALGO=Ring"});
    return all_reduce_busbw(8.0 * (1 << 30), time, 16);
  };
  EXPECT_NEAR(busbw("topo2-200g.xml"), 193, 0.1 * 193);
  EXPECT_LT(busbw("topo3-nogdr.xml"), 0.55 * 193);
}

// NVIDIA/nccl issue 1411: two nodes of 8 H800 (8 NVLinks: 164.8 GB/s for NCCL), 4 NICs of 400 Gb/s.
// With NCCL_CROSS_NIC=0 rings return to their NIC over NVLink: 149 GB/s with 8 GPUs, 159 with GPUs
// 0, 2, 4, 6 of each node. Free to leave by another NIC, four GPUs reach more.
TEST(NcclReports, CrossNicSparesNvlinks) {
  const auto machine = imported("h100-4nic-cross-nic/smi-h800.txt",
                                {"--gpu", "H800", "--nodes", "2", "--fabric", "roce-400g"});
  const auto busbw = [&](const char* cross_nic, bool every_other) {
    Args more{"--nccl-version", "2.21.5", "--env",
              "NCCL_ALGO=Ring", "--env",  std::string("NCCL_CROSS_NIC=") + cross_nic};
    if (every_other) more.insert(more.end(), {"--rank-list", "0,2,4,6,8,10,12,14"});
    return all_reduce_busbw(256 << 20, time_of(machine.path().string(), "256M", more),
                            every_other ? 8 : 16);
  };
  EXPECT_NEAR(busbw("0", false), 149, 0.1 * 149);
  EXPECT_NEAR(busbw("0", true), 159, 0.05 * 159);
  EXPECT_GT(busbw("1", true), 1.1 * busbw("0", true));
  EXPECT_GT(busbw("2", true), 1.1 * busbw("0", true));
}

// NVIDIA/nccl issues 812 and 946: on two nodes a tree moves half as much over the network as a
// ring, which sends each byte 2 (n - 1) / n times: with 8 x 100 Gb/s up to twice as fast.
TEST(NcclReports, TreeBeatsRingOnTwoNodes) {
  const test::TemporaryFile machine(
      "a100.yaml",
      output_of({"topo", "compose", "dgx-a100", "--nodes", "2", "--fabric", "roce-100g"}));
  const auto time = [&](const char* algorithm) {
    return time_of(machine.path().string(), "4G", {"-a", algorithm});
  };
  EXPECT_GT(time("ring"), 1.6 * time("tree"));
  EXPECT_LE(time("ring"), 2.05 * time("tree"));
}

// GPUDirect switched off, and peer-to-peer: every algorithm pays for the first; without the second
// there is no NVLS, so that NVLSTree is not even a candidate.
TEST(NcclReports, SettingsThatHalveAClusterAreNotFree) {
  for (const char* const algorithm : {"Ring", "Tree", "NVLSTree"}) {
    const Args forced{"--env", std::string("NCCL_ALGO=") + algorithm};
    Args staged = forced;
    staged.insert(staged.end(), {"--env", "NCCL_NET_GDR_LEVEL=LOC"});
    EXPECT_GT(time_of("dgx-h100-x4", "1G", staged), 1.3 * time_of("dgx-h100-x4", "1G", forced))
        << algorithm;
  }
  EXPECT_EQ(row_of("dgx-h100-x4", "64M").at("algorithm"), "nvlstree");
  const auto alone = row_of("dgx-h100-x4", "64M", {"--env", "NCCL_P2P_DISABLE=1"});
  EXPECT_NE(alone.at("algorithm"), "nvlstree");
  EXPECT_GT(alone.at("time_us").get<double>(), 2 * time_of("dgx-h100-x4", "64M"));
  const Outcome asked = run({"run", "-t", "dgx-h100-x4", "-b", "1M", "-e", "1M", "--env",
                             "NCCL_ALGO=NVLSTree", "--env", "NCCL_P2P_DISABLE=1"});
  EXPECT_EQ(asked.status, exit_bad_input);
  EXPECT_NE(asked.err.find("peer-to-peer"), std::string::npos) << asked.err;
}

// NVIDIA/nccl issue 1530: GPUs without peer-to-peer have their buffers in host memory, where 4 MiB
// for each connection of eight GPUs on two channels, 64 MiB in all, exceed the cache; 1 MiB each do
// not.
TEST(NcclReports, BuffersInHostMemoryFitTheCacheIfTheyAreSmall) {
  for (const auto& row :
       json_of({"advise", "rtx3090-8", "-b", "64M", "-e", "64M", "--env", "NCCL_P2P_DISABLE=1"})) {
    if (row.at("change") != "NCCL_BUFFSIZE=1048576") continue;
    EXPECT_EQ(row.at("verdict"), "helps");
    EXPECT_LT(row.at("mean_ratio").get<double>(), 0.85);
    EXPECT_NE(row.at("note").get<std::string>().find("host memory"), std::string::npos);
    return;
  }
  FAIL() << "smaller buffers were not tried";
}

// What the model does not follow is never '+0.0 %'.
TEST(NcclReports, WhatIsNotModelledHasNoFigure) {
  const test::TemporaryFile file("job.sh",
                                 "export NCCL_IB_QPS_PER_CONNECTION=4\n"
                                 "export NCCL_NET_GDR_LEVEL=LOC\n"
                                 "export NCCL_IB_HCA=mlx5_0\n");
  std::map<std::string, nlohmann::json> rows;
  for (const auto& row : json_of({"advise", "dgx-h100-x4", "-b", "64M", "-e", "64M", "--env",
                                  "NCCL_ALGO=NVLSTree", "--settings", file.path().string()})) {
    rows[row["change"]] = row;
  }
  const auto& queue_pairs = rows.at("NCCL_IB_QPS_PER_CONNECTION=4");
  EXPECT_EQ(queue_pairs["verdict"], "not modelled");
  EXPECT_TRUE(queue_pairs["mean_ratio"].is_null());
  EXPECT_EQ(rows.at("NCCL_NET_GDR_LEVEL=LOC")["verdict"], "harms");
  EXPECT_NE(rows.at("NCCL_IB_HCA=mlx5_0")["verdict"], "nothing");
}

}  // namespace
}  // namespace collsim::command
