// Every machine that we ship works with everything.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "models/calibration/transport.h"
#include "models/call/prediction.h"
#include "models/call/rank_gpus.h"
#include "models/machine/gpu_model.h"
#include "models/machine/odd_links.h"
#include "models/nccl/choice.h"
#include "models/nccl/system/system_topology.h"
#include "models/nccl/system/system_xml.h"
#include "sim/algorithms/registry.h"
#include "sim/execution/effort.h"
#include "sim/topologies/loader.h"

namespace collsim {
namespace {

namespace fs = std::filesystem;

const fs::path folder = fs::path(COLLSIM_SOURCE_DIR) / "topologies";

std::vector<fs::path> shipped() {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".yaml") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

Topology named(const std::string& name) {
  return load_topology(folder / (name + ".yaml"));
}

std::vector<DeviceId> gpus_of_first_node(const Topology& topology) {
  std::vector<DeviceId> gpus;
  for (const DeviceId gpu : topology.gpus()) {
    if (topology.node_of(gpu) == 0) gpus.push_back(gpu);
  }
  return gpus;
}

TEST(ShippedTopologies, HaveNoOddLinks) {
  for (const fs::path& file : shipped()) {
    const Topology topology = load_topology(file);
    EXPECT_EQ(odd_links(topology.node(0).graph->graph()), std::vector<std::string>{})
        << file.stem();
  }
}

// On large ones the first GPUs stand for all: every algorithm at 32 ranks, which are several nodes
// but on a rack.
TEST(ShippedTopologies, AllReduceByEveryAlgorithm) {
  EXPECT_GE(shipped().size(), 45U);
  for (const fs::path& file : shipped()) {
    SCOPED_TRACE(file.stem());
    const Topology topology = load_topology(file);
    const Calibration cost = calibration_for(topology);
    const auto ranks = static_cast<Rank>(std::min<std::size_t>(topology.gpus().size(), 32));
    const auto per_node = static_cast<Rank>(gpus_of_first_node(topology).size());
    int answered = 0;
    for (const std::string& name : algorithm_names(Collective::all_reduce)) {
      if (why_unsupported(Collective::all_reduce, name, uniform_placement(ranks, per_node)))
        continue;
      if (needs_adding_switch(Collective::all_reduce, name)) continue;  // few machines have one
      RunSpec run;
      run.algorithm = name;
      run.channels = 1;  // not NCCL's, which it would search for anew every time
      run.chunking = Chunking{};
      const CallCompiler compiler(
          {&topology, cost, Collective::all_reduce, run, first_gpus(topology, ranks)});
      const Prediction prediction = simulate(compiler.plan(Bytes{1 << 18}));
      EXPECT_GT(prediction.time.value, 0) << name;
      ++answered;
    }
    EXPECT_GE(answered, 4);
  }
}

/// Rings and trees of 1 MiB on two nodes or so of a machine, by all protocols.
std::vector<CompiledCall> calls_of_nccl(const CallCompiler& compiler) {
  const Bytes size{1 << 20};
  std::vector<CompiledCall> calls;
  if (compiler.nccl() == nullptr) return calls;
  for (const NcclAlgorithm algorithm : {NcclAlgorithm::ring, NcclAlgorithm::tree}) {
    for (const Protocol protocol : {Protocol::ll, Protocol::ll128, Protocol::simple}) {
      if (!compiler.nccl()->estimate(*compiler.nccl_function(), algorithm, protocol, size)) {
        continue;
      }
      calls.push_back(compiler.plan(size, Candidate{algorithm, protocol, 0}));
    }
  }
  return calls;
}

// Messages that are counted before a call runs are what budgets and limits go by.
TEST(ShippedTopologies, SendAboutAsManyMessagesAsAreCounted) {
  int calls = 0;
  for (const fs::path& file : shipped()) {
    const Topology topology = load_topology(file);
    const auto ranks = static_cast<Rank>(std::min<std::size_t>(topology.gpus().size(), 16));
    if (ranks < 2) continue;
    const CallCompiler compiler({&topology, calibration_for(topology), Collective::all_reduce,
                                 RunSpec{}, first_gpus(topology, ranks)});
    for (const CompiledCall& call : calls_of_nccl(compiler)) {
      const double counted = effort_of(execution_of(call)).whole;
      const auto sent = static_cast<double>(simulate(call, {.exact = true}).transfers);
      EXPECT_NEAR(counted, sent, 0.25 * sent)
          << file.stem() << ": " << call.algorithm << " " << to_string(call.protocol);
      ++calls;
    }
  }
  EXPECT_GE(calls, 500);
}

/// What NCCL's search sees of a machine: its first host and whether there are more.
std::string seen_by_nccl(const Topology& topology) {
  return nccl_topology_text(system_from_topology(topology, default_nccl_version)) +
         (host_count(topology) > 1 ? "several" : "one");
}

// Rings fit into what NCCL takes a GPU to have, and larger calls take longer, on no fewer channels.
TEST(ShippedTopologies, NcclUsesTheMachine) {
  std::set<std::string> known;
  for (const fs::path& file : shipped()) {
    SCOPED_TRACE(file.stem());
    const Topology topology = load_topology(file);
    if (!known.insert(seen_by_nccl(topology)).second) continue;
    // NCCL's search over several racks of 72 takes seconds; one rack is searched.
    if (gpus_of_first_node(topology).size() > 16 && topology.node_count() > 1) continue;
    const Nccl nccl(topology);
    const NcclGraph& ring = nccl.graphs().ring;
    EXPECT_GT(ring.channel_count(), 0U);
    EXPECT_GT(ring.inter_bandwidth, 0);
    // A ring over several nodes has one hop less inside each.
    const auto gpus = static_cast<float>(nccl.system().gpu_count());
    const float hops = nccl.nodes() > 1 ? gpus - 1 : gpus;
    EXPECT_LE(static_cast<float>(ring.channel_count()) * ring.intra_bandwidth * hops / gpus,
              1.001F * nccl.bandwidth().total);
    for (const NcclFunction function : all_nccl_functions) {
      const Choice small = nccl.choose(function, Bytes{1 << 10});
      const Choice large = nccl.choose(function, Bytes{1 << 30});
      EXPECT_LT(small.time, large.time);
      EXPECT_LE(small.channels, large.channels);
      EXPECT_LE(large.channels, std::max<std::size_t>(nccl.channels().channels.size(), 32));
    }
  }
}

struct ChannelRow {
  const char* machine;
  std::uint32_t nodes;
  std::uint32_t ring_channels;
  float ring_bandwidth;
  std::uint32_t tree_channels;
  float tree_bandwidth;
  std::size_t run_channels;
};

// What NCCL 2.30.7's own search finds on machines like these (GB/s a channel; between nodes where
// there are several).
constexpr ChannelRow channel_rows[] = {
    {"dgx-a100", 1, 12, 20, 12, 20, 24},     {"dgx-a100", 4, 8, 24, 8, 24, 16},
    {"azure-ndv4-x8", 8, 8, 24, 8, 24, 16},  {"dgx-h100", 1, 12, 30, 12, 30, 24},
    {"hgx-h200", 1, 12, 30, 12, 30, 24},     {"hgx-h200-2", 1, 12, 30, 12, 60, 24},
    {"dgx-h200-x8", 8, 8, 48, 8, 48, 16},    {"azure-ndv5-x8", 8, 8, 48, 8, 48, 16},
    {"gcp-a3-mega-x4", 4, 8, 24, 8, 24, 16}, {"dgx-b200", 1, 16, 45, 16, 45, 32},
    {"dgx-b200-x8", 8, 8, 48, 8, 48, 16},    {"dgx-2", 1, 6, 20, 6, 20, 12},
    {"dgx-1-v100", 1, 6, 20, 6, 20, 12},     {"dgx-1-v100-x4", 2, 4, 12, 4, 12, 8},
    {"rtx3090-2", 1, 2, 12, 2, 20, 4},       {"rtx4090-8", 1, 1, 15, 1, 15, 2},
    {"l40s-4", 1, 2, 12, 2, 12, 4},
};

TEST(ShippedTopologies, ChannelsAreThoseThatNcclFinds) {
  for (const ChannelRow& row : channel_rows) {
    SCOPED_TRACE(std::string(row.machine) + " on " + std::to_string(row.nodes));
    const Nccl nccl(named(row.machine), {}, default_nccl_version, row.nodes);
    const NcclGraph& ring = nccl.graphs().ring;
    const NcclGraph& tree = nccl.graphs().tree;
    EXPECT_EQ(ring.channel_count(), row.ring_channels);
    EXPECT_FLOAT_EQ(ring.inter_bandwidth, row.ring_bandwidth);
    EXPECT_EQ(tree.channel_count(), row.tree_channels);
    EXPECT_FLOAT_EQ(tree.inter_bandwidth, row.tree_bandwidth);
    EXPECT_EQ(nccl.channels().channels.size(), row.run_channels);
  }
}

// A GPU that no table knows would be taken for a Hopper.
TEST(ShippedTopologies, EveryGpuThatIsNamedIsKnown) {
  for (const fs::path& file : shipped()) {
    const Topology topology = load_topology(file);
    for (const DeviceId gpu : topology.gpus()) {
      const std::string_view model = topology.device(gpu).model;
      if (model.empty()) continue;
      ASSERT_NE(find_gpu_model(model), nullptr) << file << ": " << model;
    }
  }
}

}  // namespace
}  // namespace collsim
