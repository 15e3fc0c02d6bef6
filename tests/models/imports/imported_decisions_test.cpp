// NCCL decides the same on a machine that was imported, exported or completed as on the original.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "models/imports/import.h"
#include "models/nccl/system/system_topology.h"
#include "sim/topologies/loader.h"
#include "sim/topologies/topology_writer.h"
#include "tests/models/imports/imported_machine.h"
#include "tests/models/nccl/nccl_test_support.h"

namespace collsim::test {
namespace {

namespace fs = std::filesystem;

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
  std::vector<std::string> files{"recordings/nccl/h200x8-topo.xml",
                                 "tests/data/nccl-dumps/gb200-2-hosts.xml",
                                 "tests/data/nccl-dumps/h100-4-twin-cpus.xml"};
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

TEST(ImportedDecisions, NcclDecidesTheSameOnWhatIsImported) {
  EXPECT_GE(nccl_files().size(), 20U);
  for (const std::string& file : nccl_files()) {
    SCOPED_TRACE(file);
    expect_same_decisions(
        Nccl(imported(file)),
        Nccl(read_nccl_topology(fs::path(source) / file, default_nccl_version), 1));
  }
}

// The search over several nodes takes longer, so that a few stand for all.
TEST(ImportedDecisions, NcclDecidesTheSameOnClustersOfWhatIsImported) {
  for (const std::string file :
       {"tests/data/nccl-golden/topologies/dgxh100.xml",
        "tests/data/nccl-golden/topologies/dgx1v.xml", "tests/data/nccl-machines/h100_1x400g.xml",
        "tests/data/nccl-machines/h200_1x10g_tcp.xml"}) {
    SCOPED_TRACE(file);
    expect_same_decisions(
        Nccl(imported(file), {}, default_nccl_version, 4),
        Nccl(read_nccl_topology(fs::path(source) / file, default_nccl_version), 4));
  }
}

TEST(ImportedDecisions, ExportedMachinesAreImportedAsTheyWere) {
  for (const char* name : {"hgx-h200", "dgx-1-v100", "dgx-h100", "dgx-2", "pcie-8-bridged",
                           "v100-nvlink-4", "gh200-4-x64", "aws-p5-x4", "rtx3090-4-bridged"}) {
    SCOPED_TRACE(name);
    const Topology ours = shipped(name);
    const NcclSystem system = system_from_topology(ours, default_nccl_version);
    const TextFile text{"exported.xml", nccl_topology_text(system)};
    const NcclSystem read = read_nccl_topology(text, default_nccl_version);
    expect_same_decisions(Nccl(read, ours.node_count()), Nccl(system, ours.node_count()));
    if (ours.node_count() > 1) continue;
    ClusterText cluster{"again", {}, import_node(text).node, 1, {}};
    const Topology again = read_topology({"again", topology_text(cluster)});
    EXPECT_EQ(nvlinks(again), nvlinks(ours));
  }
}

// The shipped machine has the layout of the file, which says of GPUs and NICs only where they are:
// NCCL takes the rest from the machine.
TEST(ImportedDecisions, NcclCompletesACutDownFileByTheMachine) {
  const Topology machine = shipped("azure-ndv4-x8");
  expect_same_decisions(
      Nccl(machine, {{"NCCL_TOPO_FILE", source + "/tests/data/cut-down/azure-nd-a100-v4.xml"}}),
      Nccl(machine));
}

}  // namespace
}  // namespace collsim::test
