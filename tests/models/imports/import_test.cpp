// What importers make of real and written descriptions.

#include "models/imports/import.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <tuple>
#include <vector>

#include "models/nccl/system_topology.h"
#include "sim/topologies/loader.h"
#include "sim/topologies/routing.h"
#include "sim/topologies/topology_writer.h"
#include "tests/models/nccl/nccl_test_support.h"

namespace collsim::test {
namespace {

namespace fs = std::filesystem;

Topology imported(const std::string& file, const char* gpu = nullptr, std::uint32_t nics = 0) {
  const ImportOptions options{gpu == nullptr ? nullptr : find_gpu_model(gpu), nics};
  ClusterText cluster{"imported", {}, {}, 1, {}};
  cluster.node = import_node(read_text_file(source + "/" + file, "a description"), options).node;
  return read_topology({"imported", topology_text(cluster)});
}

Topology shipped(const std::string& name) {
  return load_topology(source + "/topologies/" + name + ".yaml");
}

/// GB/s between every two GPUs.
std::vector<std::vector<double>> bandwidths(const Topology& topology) {
  Router router(topology);
  std::vector<std::vector<double>> rows;
  for (const DeviceId from : topology.gpus()) {
    rows.emplace_back();
    for (const DeviceId to : topology.gpus()) {
      rows.back().push_back(from == to ? 0
                                       : in_gigabytes_per_second(router.route(from, to).bandwidth));
    }
  }
  return rows;
}

/// Every NVLink: its ends, how many, GB/s of them all.
std::vector<std::tuple<std::string, std::string, std::uint32_t, double>> nvlinks(
    const Topology& topology) {
  std::vector<std::tuple<std::string, std::string, std::uint32_t, double>> links;
  for (const Link& link : topology.links()) {
    if (link.kind != LinkKind::nvlink) continue;
    links.emplace_back(topology.device(link.from).name, topology.device(link.to).name, link.count,
                       in_gigabytes_per_second(link.bandwidth));
  }
  std::sort(links.begin(), links.end());
  return links;
}

void expect_same_gpus_and_nvlinks(const Topology& a, const Topology& b) {
  ASSERT_EQ(a.gpus().size(), b.gpus().size());
  for (std::size_t i = 0; i < a.gpus().size(); ++i) {
    EXPECT_EQ(a.device(a.gpus()[i]).name, b.device(b.gpus()[i]).name);
    EXPECT_EQ(a.device(a.gpus()[i]).model, b.device(b.gpus()[i]).model);
  }
  EXPECT_EQ(nvlinks(a), nvlinks(b));
  const auto of_a = bandwidths(a);
  const auto of_b = bandwidths(b);
  for (std::size_t from = 0; from < of_a.size(); ++from) {
    for (std::size_t to = 0; to < of_a.size(); ++to) {
      EXPECT_DOUBLE_EQ(of_a[from][to], of_b[from][to]) << from << " to " << to;
    }
  }
}

// Recorded on the machine that hgx-h200.yaml describes.
TEST(Import, DumpsOfAnHgxH200AreTheShippedOne) {
  const Topology ours = shipped("hgx-h200");
  expect_same_gpus_and_nvlinks(imported("recordings/nccl/h200x8-topo.xml"), ours);
  expect_same_gpus_and_nvlinks(imported("tests/data/nvidia-smi/hgx-h200.txt", "H200"), ours);
}

TEST(Import, PcieOfAnHgxH200IsThatOfTheShippedOne) {
  for (const Topology& topology : {imported("recordings/nccl/h200x8-topo.xml"),
                                   imported("tests/data/nvidia-smi/hgx-h200.txt", "H200")}) {
    // gen5 x16 from every GPU; the virtual machine has one socket where the server has two.
    for (const DeviceId gpu : topology.gpus()) {
      double pcie = 0;
      for (const LinkId id : topology.links_from(gpu)) {
        const Link& link = topology.link(id);
        if (link.kind == LinkKind::pcie) pcie += in_gigabytes_per_second(link.bandwidth);
      }
      EXPECT_DOUBLE_EQ(pcie, 48);
    }
  }
}

TEST(Import, ChannelsOfAnHgxH200AreItsRing) {
  // 12 channels of 30 GB/s, all of them 0, 1, ..., 7 and back.
  const Topology topology = imported("recordings/nccl/h200x8-graph.xml", "H200");
  ASSERT_EQ(topology.gpus().size(), 8U);
  const auto rows = bandwidths(topology);
  for (std::size_t gpu = 0; gpu < 8; ++gpu) {
    EXPECT_DOUBLE_EQ(rows[gpu][(gpu + 1) % 8], 360);
    EXPECT_DOUBLE_EQ(rows[(gpu + 1) % 8][gpu], 360);
  }
  EXPECT_EQ(topology.links().size(), 2U * 8);
}

TEST(Import, ACubeMeshHasTheNvlinksOfTheShippedOne) {
  // Between sockets the importer takes Skylake for the GPU's time; a DGX-1 has Broadwell.
  EXPECT_EQ(nvlinks(imported("tests/data/nvidia-smi/dgx-1-v100.txt", "V100")),
            nvlinks(shipped("dgx-1-v100")));
}

TEST(Import, BridgedPairsHaveTheirSockets) {
  const Topology topology = imported("tests/data/nvidia-smi/rtx3090-4-bridged.txt", "3090");
  const auto rows = bandwidths(topology);
  EXPECT_DOUBLE_EQ(rows[0][1], 4 * 14.06);
  EXPECT_DOUBLE_EQ(rows[2][3], 4 * 14.06);
  EXPECT_DOUBLE_EQ(rows[0][2], 16);  // between the sockets
  EXPECT_EQ(topology.devices().size(), 6U);
}

TEST(Import, TwoLevelsOfPcieSwitches) {
  // Per socket four GPUs: two switches for two each, under one; the NIC beside GPUs 0 and 1.
  const Topology topology = imported("tests/data/nvidia-smi/l40s-8-pxb.txt", "L40S");
  std::size_t switches = 0;
  std::size_t cpus = 0;
  for (const Device& device : topology.devices()) {
    switches += device.kind == DeviceKind::pcie_switch ? 1U : 0U;
    cpus += device.kind == DeviceKind::cpu ? 1U : 0U;
  }
  EXPECT_EQ(switches, 6U);
  EXPECT_EQ(cpus, 2U);
  Router router(topology);
  const auto gpus = topology.gpus();
  EXPECT_EQ(router.route(gpus[0], gpus[1]).links.size(), 2U);
  EXPECT_EQ(router.route(gpus[0], gpus[3]).links.size(), 4U);
  EXPECT_EQ(router.route(gpus[0], gpus[4]).links.size(), 7U);
}

TEST(Import, NicsCanBeAdded) {
  const Topology topology = imported("tests/data/nvidia-smi/hgx-h200.txt", "H200", 4);
  std::size_t nics = 0;
  for (const Device& device : topology.devices()) nics += device.kind == DeviceKind::nic ? 1U : 0U;
  EXPECT_EQ(nics, 4U);
}

TEST(Import, PortsOfOneCardShareItsSlot) {
  const TextFile text{
      "card.xml",
      "<system version=\"1\"><cpu numaid=\"0\" arch=\"x86_64\" vendor=\"AuthenticAMD\">"
      "<pci busid=\"0000:01:00.0\" class=\"0x030200\"><gpu dev=\"0\" sm=\"80\"/></pci>"
      "<pci busid=\"0000:02:00.0\" class=\"0x020000\" link_speed=\"16.0 GT/s PCIe\">"
      "<nic><net dev=\"0\" speed=\"100000\"/><net dev=\"1\" speed=\"100000\"/></nic>"
      "</pci></cpu></system>"};
  const NodeTemplate node = import_node(text).node;
  ASSERT_EQ(node.shares.size(), 2U);
  for (const GraphShare& share : node.shares) {
    EXPECT_DOUBLE_EQ(in_gigabytes_per_second(share.bandwidth), 24);
    EXPECT_EQ(share.links.size(), 2U);
  }
}

void expect_same_decisions(const Nccl& ours, const Nccl& theirs) {
  EXPECT_EQ(ours.graphs().ring.channel_count(), theirs.graphs().ring.channel_count());
  EXPECT_FLOAT_EQ(ours.graphs().ring.intra_bandwidth, theirs.graphs().ring.intra_bandwidth);
  EXPECT_FLOAT_EQ(ours.graphs().ring.inter_bandwidth, theirs.graphs().ring.inter_bandwidth);
  EXPECT_EQ(ours.graphs().ring.intra_type, theirs.graphs().ring.intra_type);
  EXPECT_EQ(ours.graphs().ring.inter_type, theirs.graphs().ring.inter_type);
  EXPECT_EQ(ours.graphs().tree.channel_count(), theirs.graphs().tree.channel_count());
  EXPECT_FLOAT_EQ(ours.graphs().tree.intra_bandwidth, theirs.graphs().tree.intra_bandwidth);
  EXPECT_EQ(ours.channels().channels.size(), theirs.channels().channels.size());
  for (const NcclAlgorithm algorithm : {NcclAlgorithm::ring, NcclAlgorithm::tree}) {
    for (const Protocol protocol : all_nccl_protocols) {
      const Tuning& a = ours.tuning(NcclFunction::all_reduce, algorithm, protocol);
      const Tuning& b = theirs.tuning(NcclFunction::all_reduce, algorithm, protocol);
      EXPECT_FLOAT_EQ(a.latency, b.latency);
      EXPECT_FLOAT_EQ(a.bandwidth, b.bandwidth);
    }
  }
}

/// Every description of a machine in NCCL's format that the tests have.
std::vector<std::string> nccl_files() {
  std::vector<std::string> files{"recordings/nccl/h200x8-topo.xml"};
  for (const char* folder : {"tests/data/nccl-golden/topologies", "tests/data/nccl-machines"}) {
    for (const auto& entry : fs::directory_iterator(source + "/" + folder)) {
      if (entry.path().extension() == ".xml") {
        files.push_back((fs::path(folder) / entry.path().filename()).string());
      }
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

TEST(Import, NcclDecidesTheSameOnWhatIsImported) {
  EXPECT_GE(nccl_files().size(), 20U);
  for (const std::string& file : nccl_files()) {
    SCOPED_TRACE(file);
    expect_same_decisions(
        Nccl(imported(file)),
        Nccl(read_nccl_topology(fs::path(source) / file, newest_nccl_version), 1));
  }
}

// The search over several nodes takes longer, so that a few stand for all.
TEST(Import, NcclDecidesTheSameOnClustersOfWhatIsImported) {
  for (const std::string file :
       {"tests/data/nccl-golden/topologies/dgxh100.xml",
        "tests/data/nccl-golden/topologies/dgx1v.xml", "tests/data/nccl-machines/h100_1x400g.xml",
        "tests/data/nccl-machines/h200_1x10g_tcp.xml"}) {
    SCOPED_TRACE(file);
    expect_same_decisions(
        Nccl(imported(file), {}, newest_nccl_version, 4),
        Nccl(read_nccl_topology(fs::path(source) / file, newest_nccl_version), 4));
  }
}

TEST(Import, ExportedMachinesAreImportedAsTheyWere) {
  for (const char* name : {"hgx-h200", "dgx-1-v100", "dgx-h100", "dgx-2", "pcie-8-bridged",
                           "v100-nvlink-4", "gh200-4-x64", "aws-p5-x4", "rtx3090-4-bridged"}) {
    SCOPED_TRACE(name);
    const Topology ours = shipped(name);
    const NcclSystem system = system_from_topology(ours, newest_nccl_version);
    const TextFile text{"exported.xml", nccl_topology_text(system)};
    const NcclSystem read = read_nccl_topology(text, newest_nccl_version);
    expect_same_decisions(Nccl(read, ours.node_count()), Nccl(system, ours.node_count()));
    if (ours.node_count() > 1) continue;
    ClusterText cluster{"again", {}, import_node(text).node, 1, {}};
    const Topology again = read_topology({"again", topology_text(cluster)});
    EXPECT_EQ(nvlinks(again), nvlinks(ours));
  }
}

}  // namespace
}  // namespace collsim::test
