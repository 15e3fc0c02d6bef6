#include "models/validation/recorded_machines.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "models/machine/gpu_model.h"
#include "models/recordings/readers.h"
#include "models/validation/recorded_call.h"
#include "sim/base/data_directory.h"
#include "sim/base/file_status.h"
#include "sim/base/input_error.h"
#include "sim/base/text_file.h"
#include "sim/topologies/loader.h"
#include "sim/yaml/yaml_reader.h"

namespace collsim {

namespace {

/// The GPUs of a machine of one node.
struct RecordedGpus {
  std::string name;  ///< as the driver has it: "NVIDIA H100 80GB HBM3"
  const GpuModel* model = nullptr;
  bool on_nvlink = false;
  std::size_t count = 0;  ///< at least
};

[[noreturn]] void fail(const Recording& recording, const std::string& why) {
  throw InputError(SourcePosition{recording.file.string(), 0, 0},
                   fmt::format("which machine it was recorded on is not known: {}", why),
                   "--topology FILE");
}

/// Cards of these models can have NVLink bridges, which their names do not say.
constexpr std::uint32_t links_of_a_bridge = 4;

/// Other cards say what they are: "A100-PCIE-40GB", "H100 NVL".
bool is_card(const std::string& name, const GpuModel& model) {
  return model.nvlinks <= links_of_a_bridge || name.find("PCI") != std::string::npos ||
         name.find("NVL") != std::string::npos;
}

RecordedGpus recorded_gpus(const Recording& recording) {
  const auto name = recording.machine.find("gpu");
  if (name == recording.machine.end()) fail(recording, "it names no GPU");
  RecordedGpus gpus{name->second, find_gpu_model(name->second)};
  if (gpus.model == nullptr) fail(recording, fmt::format("'{}' is none of ours", gpus.name));
  Rank ranks = 0;
  for (const RecordedRow& row : recording.rows) {
    if (row.nodes == 1) ranks = std::max(ranks, row.ranks);
  }
  if (ranks == 0) fail(recording, "it has rows of several hosts, whose network it does not say");
  gpus.on_nvlink = !is_card(gpus.name, *gpus.model);
  constexpr Rank gpus_of_a_server = 8;
  gpus.count = gpus.on_nvlink ? std::max(ranks, gpus_of_a_server) : ranks;
  if (const auto said = recording.machine.find("gpus"); said != recording.machine.end()) {
    gpus.count = std::max(ranks, static_cast<Rank>(whole_number(said->second).value_or(0)));
  }
  return gpus;
}

bool is_of(const Topology& machine, const RecordedGpus& gpus) {
  const Device gpu = machine.device(machine.gpus().front());
  const bool has_nvlink =
      std::any_of(machine.links().begin(), machine.links().end(),
                  [](const Link& link) { return link.kind == LinkKind::nvlink; });
  const bool may_be_bridged = gpus.model->nvlinks > 0 && gpus.model->nvlinks <= links_of_a_bridge;
  return find_gpu_model(gpu.model) == gpus.model &&
         (has_nvlink == gpus.on_nvlink || may_be_bridged) && machine.gpus().size() >= gpus.count;
}

/// The shipped machines of one node, which have no fabric. Others may have thousands.
std::vector<std::filesystem::path> files_of_single_nodes() {
  std::vector<std::filesystem::path> files;
  for (const std::filesystem::path& file : yaml_files(data_directory() / "topologies")) {
    const YamlValue root = read_yaml(read_text_file(file, "a topology"), "topology");
    if (!root.free_mapping().find("fabric")) files.push_back(file);
  }
  return files;
}

}  // namespace

std::vector<RecordedMachine> by_machine(const Recording& recording,
                                        const ValidationOptions& options) {
  Recording facts = recording;
  facts.rows.clear();
  std::vector<RecordedMachine> machines;
  for (const RecordedRow& row : recording.rows) {
    if (excluded(row, options)) continue;
    auto found = std::find_if(machines.begin(), machines.end(), [&](const RecordedMachine& each) {
      return each.topology == row.topology;
    });
    if (found == machines.end()) found = machines.insert(found, {row.topology, facts});
    found->recording.rows.push_back(row);
  }
  if (machines.empty()) {
    machines.push_back(
        {recording.rows.empty() ? std::string() : recording.rows.front().topology, facts});
  }
  return machines;
}

std::vector<std::string> shipped_machines_of(const Recording& recording) {
  const RecordedGpus gpus = recorded_gpus(recording);
  std::map<std::size_t, std::vector<std::string>> by_count;
  for (const std::filesystem::path& file : files_of_single_nodes()) {
    const Topology machine = load_topology(file);
    if (is_of(machine, gpus)) by_count[machine.gpus().size()].push_back(file.stem().string());
  }
  return by_count.empty() ? std::vector<std::string>() : by_count.begin()->second;
}

std::string contradiction(const Recording& recording, const Topology& topology) {
  const auto gpu = recording.machine.find("gpu");
  const std::string_view model = topology.device(topology.gpus().front()).model;
  const GpuModel* const known = find_gpu_model(model);
  if (gpu == recording.machine.end() || known == nullptr) return {};
  if (find_gpu_model(gpu->second) == known) return {};
  return fmt::format("recorded on {}, and '{}' has GPUs {}", gpu->second, topology.name(), model);
}

namespace {

/// Whether a row names hosts that the machine lacks. A torn line makes hosts that do not divide its
/// ranks, and a node of more GPUs than any server has is several hosts on one NVLink.
bool needs_more_hosts(const Recording& recording, const RecordedRow& row,
                      const Topology& topology) {
  constexpr std::size_t gpus_of_largest_server = 16;
  const bool is_server = topology.node(0).graph->gpus().size() <= gpus_of_largest_server;
  return recording.names_hosts && is_server && row.nodes > topology.node_count() &&
         row.ranks % row.nodes == 0;
}

/// Takes out the rows of more hosts than the machine has, with a note. Throws InputError where no
/// others are left.
void leave_out_larger(Recording& recording, const Topology& topology) {
  const auto is_larger = [&](const RecordedRow& row) {
    return needs_more_hosts(recording, row, topology);
  };
  const auto first = std::find_if(recording.rows.begin(), recording.rows.end(), is_larger);
  if (first == recording.rows.end()) return;
  const std::uint32_t nodes = topology.node_count();
  const std::string wrong =
      fmt::format("{} ranks on {} hosts, and '{}' has {}", first->ranks, first->nodes,
                  topology.name(), nodes == 1 ? "one node" : fmt::format("{} nodes", nodes));
  const SourcePosition place{recording.file.string(), first->line, 0};
  const std::uint32_t asked = first->nodes;
  const std::size_t left_out = std::erase_if(recording.rows, is_larger);
  if (recording.rows.empty()) {
    throw InputError(place, wrong,
                     fmt::format("a machine of so many nodes: -t MACHINE-x{}", asked));
  }
  recording.notes.push_back(fmt::format("{} rows of more hosts are left out, as line {}: {}",
                                        left_out, place.line, wrong));
}

}  // namespace

Recording placed_on(Recording recording, const Topology& topology) {
  const Hosts hosts(topology);
  const auto per_node = static_cast<Rank>(topology.node(0).graph->gpus().size());
  std::set<std::pair<std::uint32_t, std::uint32_t>> changed;
  leave_out_larger(recording, topology);
  for (RecordedRow& row : recording.rows) {
    if (row.ranks == 0) continue;
    const bool fits = row.ranks % row.nodes == 0 && hosts.hold(row);
    if (fits && recording.names_hosts) continue;
    const std::uint32_t nodes = row.ranks <= per_node ? 1 : row.ranks / per_node;
    if (nodes == row.nodes || row.ranks % nodes != 0) continue;
    if (recording.names_hosts) changed.insert({row.nodes, nodes});
    row.nodes = nodes;
  }
  for (const auto& [before, after] : changed) {
    recording.notes.push_back(
        fmt::format("the log names {} hosts; its ranks are taken to be on {} of {}", before, after,
                    topology.name()));
  }
  return recording;
}

}  // namespace collsim
