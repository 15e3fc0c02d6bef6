#include "models/diagnosis/machine_guess.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <vector>

#include "models/calibration/transport.h"
#include "models/machine/gpu_model.h"
#include "models/validation/recorded_machines.h"
#include "sim/base/data_directory.h"
#include "sim/base/file_status.h"
#include "sim/base/input_error.h"
#include "sim/base/text_file.h"
#include "sim/base/yaml_reader.h"
#include "sim/topologies/loader.h"

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

/// Whether the log speaks of such NICs.
bool fits(const NodeNics& nics, const LogFacts& facts) {
  if (facts.network == "IB" && nics.transport != "ib") return false;
  if (facts.network == "RoCE" && nics.transport != "roce") return false;
  if (facts.network.find("fabric") != std::string::npos && nics.transport != "efa" &&
      nics.transport != "ofi") {
    return false;
  }
  return facts.nics.size() <= nics.count || nics.count == 0;
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

std::string guessed_cluster(const Recording& recording, const LogFacts& facts,
                            const RunShape& shape, const GpuModel* model) {
  std::vector<std::string> names;
  for (const auto& [held, files] : clusters_of(shape.nodes)) {
    for (const std::filesystem::path& file : files) {
      const Topology machine = load_topology(file);
      const bool has_gpus = find_gpu_model(machine.device(machine.gpus().front()).model) == model &&
                            machine.node(0).graph->gpus().size() >= shape.per_node;
      if (has_gpus && fits(nics_of(machine), facts)) names.push_back(file.stem().string());
    }
    if (!names.empty()) break;
  }
  if (names.size() == 1) return names.front();
  const std::string what =
      fmt::format("{} hosts of {} x {}", shape.nodes, shape.per_node, recording.machine.at("gpu"));
  if (names.empty()) fail(recording, "no shipped cluster has " + what);
  fail(recording, fmt::format("{} fits {}{}", what, fmt::join(names, ", "),
                              facts.any ? "" : "; the log has no NCCL INFO lines of its network"));
}

}  // namespace

std::string guessed_machine(const Recording& recording, const LogFacts& facts) {
  if (!recording.topology.empty()) return recording.topology;
  const RunShape shape = shape_of(recording, facts);
  const auto gpu = recording.machine.find("gpu");
  if (gpu == recording.machine.end()) {
    fail(recording,
         "it has no line `# Rank 0 ... device 0 [0x07] NVIDIA H100`, which names the GPU");
  }
  const GpuModel* model = find_gpu_model(gpu->second);
  if (model == nullptr) fail(recording, fmt::format("'{}' is no GPU of ours", gpu->second));
  if (shape.nodes == 1) return shipped_machine_of(recording);
  return guessed_cluster(recording, facts, shape, model);
}

}  // namespace collsim
