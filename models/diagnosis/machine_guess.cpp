#include "models/diagnosis/machine_guess.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <vector>

#include "models/calibration/transport.h"
#include "models/imports/machine.h"
#include "models/machine/gpu_model.h"
#include "models/planning/change.h"
#include "models/planning/machine_parts.h"
#include "models/validation/recorded_machines.h"
#include "sim/base/data_directory.h"
#include "sim/base/file_status.h"
#include "sim/base/input_error.h"
#include "sim/base/text_file.h"
#include "sim/topologies/loader.h"
#include "sim/yaml/yaml_reader.h"

namespace collsim {

namespace {

[[noreturn]] void fail(const Recording& recording, const std::string& why) {
  throw InputError(SourcePosition{recording.file.string(), 0, 0},
                   fmt::format("which machine the log is of cannot be told: {}", why),
                   "-t MACHINE, a name of `collsim topo list` or a topology file");
}

/// The size of the largest run.
struct RunShape {
  std::uint32_t nodes = 1;
  std::uint32_t per_node = 0;
};

RunShape shape_of(const Recording& recording, const LogFacts& facts) {
  RunShape shape{std::max(1U, facts.nodes), facts.local_ranks};
  for (const RecordedRow& row : recording.rows) {
    shape.nodes = std::max(shape.nodes, row.nodes);
    if (row.ranks > 0) shape.per_node = std::max(shape.per_node, row.ranks / row.nodes);
  }
  return shape;
}

/// What NICs of a cluster are to NCCL.
struct NodeNics {
  std::size_t count = 0;
  std::string transport;  ///< as transport_of_nics() has it; "roce" by the calibration's name
};

NodeNics nics_of(const Topology& topology) {
  NodeNics nics;
  for (const GraphDevice& device : topology.node(0).graph->graph().devices) {
    nics.count += device.kind == DeviceKind::nic ? 1U : 0U;
  }
  nics.transport = transport_of_nics(topology);
  if (topology.calibration().ends_with("+roce")) nics.transport = "roce";
  return nics;
}

/// Whether the log speaks of such a network.
bool fits(const NodeNics& nics, const LogFacts& facts) {
  if (facts.network == "IB" && nics.transport != "ib") return false;
  if (facts.network == "RoCE" && nics.transport != "roce") return false;
  if (facts.network.find("fabric") != std::string::npos && nics.transport != "efa" &&
      nics.transport != "ofi") {
    return false;
  }
  return true;
}

/// Shipped clusters that are not too large to look at, by their number of nodes.
std::map<std::uint32_t, std::vector<std::filesystem::path>> clusters_of(std::uint32_t nodes) {
  std::map<std::uint32_t, std::vector<std::filesystem::path>> clusters;
  for (const std::filesystem::path& file : yaml_files(data_directory() / "topologies")) {
    const YamlMapping root =
        read_yaml(read_text_file(file, "a topology"), "topology").free_mapping();
    const auto value = root.find("nodes");
    if (!root.find("fabric") || !value || !value->is_mapping()) continue;
    const auto count = value->free_mapping().find("count");
    if (!count) continue;
    constexpr std::int64_t most = 1 << 20;
    const auto held = static_cast<std::uint32_t>(count->integer(1, most));
    if (held >= nodes) clusters[held].push_back(file);
  }
  return clusters;
}

/// A shipped cluster whose hosts have the log's GPUs.
struct ShippedCluster {
  std::string name;
  NodeNics nics;
  std::uint32_t nodes = 0;
};

/// The clusters of those GPUs, the smallest first.
std::vector<ShippedCluster> candidates_of(const RunShape& shape, const GpuModel* model) {
  std::vector<ShippedCluster> candidates;
  for (const auto& [held, files] : clusters_of(shape.nodes)) {
    for (const std::filesystem::path& file : files) {
      constexpr std::uint32_t max_nodes = 64;  // larger ones have the same nodes
      if (held > max_nodes) continue;
      const Topology machine = load_topology(file);
      const bool has_gpus = find_gpu_model(machine.device(machine.gpus().front()).model) == model &&
                            machine.node(0).graph->gpus().size() >= shape.per_node;
      if (has_gpus) candidates.push_back({file.stem().string(), nics_of(machine), held});
    }
  }
  return candidates;
}

/// Names of the smallest of the candidates that are wanted.
template <typename Wanted>
std::vector<std::string> smallest(const std::vector<ShippedCluster>& candidates,
                                  const Wanted& wanted) {
  std::vector<std::string> names;
  std::uint32_t nodes = 0;
  for (const ShippedCluster& each : candidates) {
    if (!wanted(each) || (!names.empty() && each.nodes != nodes)) continue;
    names.push_back(each.name);
    nodes = each.nodes;
  }
  return names;
}

/// The candidate with the fewest NICs that has as many as the log names; of several, the smallest.
const ShippedCluster* largest_enough(const std::vector<ShippedCluster>& candidates,
                                     const LogFacts& facts) {
  const ShippedCluster* best = nullptr;
  for (const ShippedCluster& each : candidates) {
    // Only InfiniBand and RoCE are the same NICs (ConnectX) with another network between them.
    const bool is_verbs = each.nics.transport == "ib" || each.nics.transport == "roce";
    if (!is_verbs || each.nics.count < facts.nics.size()) continue;
    if (best == nullptr || each.nics.count < best->nics.count) best = &each;
  }
  return best;
}

/// The calibration of a machine's GPUs, with the transport of the log's network.
std::string calibration_of(const std::string& base, const LogFacts& facts) {
  const std::string gpus = base.substr(0, base.find('+'));
  return facts.network == "RoCE" ? gpus + "+roce" : gpus;
}

/// A cluster like `base` whose nodes have as many NICs as the log names.
GuessedMachine composed(const ShippedCluster& base, const RunShape& shape, const LogFacts& facts) {
  MachineParts parts = load_parts(base.name);
  if (base.nics.count != facts.nics.size()) {
    parts = changed(std::move(parts), fmt::format("nics={}", facts.nics.size()));
  }
  if (!parts.calibration.empty()) parts.calibration = calibration_of(parts.calibration, facts);
  parts.name = fmt::format("{} x node of {} with {} {} NIC{}", shape.nodes, base.name,
                           facts.nics.size(), facts.network, facts.nics.size() == 1 ? "" : "s");
  return {parts.name, compose(parts, shape.nodes)};
}

GuessedMachine shipped(const std::string& name) {
  return {name, load_machine(name).topology};
}

GuessedMachine guessed_cluster(const Recording& recording, const LogFacts& facts,
                               const RunShape& shape, const GpuModel* model) {
  const std::vector<ShippedCluster> candidates = candidates_of(shape, model);
  const bool names_nics = !facts.nics.empty();
  std::vector<std::string> names = smallest(candidates, [&](const ShippedCluster& each) {
    return fits(each.nics, facts) && (!names_nics || each.nics.count == facts.nics.size());
  });
  if (names.empty() && names_nics) {
    if (const ShippedCluster* base = largest_enough(candidates, facts)) {
      return composed(*base, shape, facts);
    }
    // A log may name NICs for storage as well.
    names =
        smallest(candidates, [&](const ShippedCluster& each) { return fits(each.nics, facts); });
  }
  if (names.size() == 1) return shipped(names.front());
  const std::string what =
      fmt::format("{} hosts of {} x {}", shape.nodes, shape.per_node, recording.machine.at("gpu"));
  if (names.empty()) fail(recording, "no shipped cluster has " + what);
  fail(recording, fmt::format("{} fits {}{}", what, fmt::join(names, ", "),
                              facts.any ? "" : "; the log has no NCCL INFO lines of its network"));
}

}  // namespace

GuessedMachine guessed_machine(const Recording& recording, const LogFacts& facts) {
  if (!recording.topology.empty()) return shipped(recording.topology);
  const RunShape shape = shape_of(recording, facts);
  const auto gpu = recording.machine.find("gpu");
  if (gpu == recording.machine.end()) {
    fail(recording,
         "it has no line `# Rank 0 ... device 0 [0x07] NVIDIA H100`, which names the GPU");
  }
  const GpuModel* model = find_gpu_model(gpu->second);
  if (model == nullptr) fail(recording, fmt::format("'{}' is no GPU of ours", gpu->second));
  if (shape.nodes == 1) return shipped(shipped_machine_of(recording));
  return guessed_cluster(recording, facts, shape, model);
}

}  // namespace collsim
