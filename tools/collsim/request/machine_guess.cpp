#include "tools/collsim/request/machine_guess.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <set>
#include <vector>

#include "models/calibration/transport.h"
#include "models/imports/machine.h"
#include "models/imports/machine_parts.h"
#include "models/machine/gpu_model.h"
#include "models/validation/recorded_machines.h"
#include "sim/base/data_directory.h"
#include "sim/base/file_status.h"
#include "sim/base/input_error.h"
#include "sim/base/text.h"
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

/// What NICs of a cluster are to NCCL.
struct NodeNics {
  std::size_t count = 0;
  std::string transport;  ///< as transport_of_nics() has it; "roce" by the calibration's name
  BytesPerSecond rate{};  ///< of a port's cable
};

/// Whether all NICs can send at their rate to any others: no leaf has less upwards than downwards.
/// Clusters with a narrow network stand for an incident or a question. So do those whose switches
/// add up: NCCL has to be told to use that.
bool is_plain(const Topology& topology) {
  std::map<DeviceId, BytesPerSecond> down;  // by leaf
  std::map<DeviceId, BytesPerSecond> up;
  for (LinkId id = topology.first_fabric_link(); id < topology.links().size(); ++id) {
    const Link link = topology.link(id);
    if (topology.node_of(link.to) >= 0) continue;
    if (topology.device(link.to).reduces) return false;
    if (topology.node_of(link.from) >= 0) {
      down[link.to].value += link.bandwidth.value;
    } else {
      up[link.from].value += link.bandwidth.value;
    }
  }
  constexpr double about_all = 0.99;
  return down.size() < 2 || std::all_of(down.begin(), down.end(), [&](const auto& leaf) {
           return up[leaf.first].value >= about_all * leaf.second.value;
         });
}

NodeNics nics_of(const Topology& topology) {
  NodeNics nics;
  for (const GraphDevice& device : topology.node(0).graph->graph().devices) {
    nics.count += device.kind == DeviceKind::nic ? 1U : 0U;
  }
  nics.transport = transport_of_nics(topology);
  if (topology.calibration().ends_with("+roce")) nics.transport = "roce";
  if (topology.first_fabric_link() < topology.links().size()) {
    nics.rate = topology.link(topology.first_fabric_link()).bandwidth;
  }
  return nics;
}

/// Whether the log speaks of such a network.
bool fits(const NodeNics& nics, const LogFacts& facts) {
  if (facts.network == "IB" && nics.transport != "ib") return false;
  if (facts.network == "RoCE" && nics.transport != "roce") return false;
  if (facts.network == "Socket" && nics.transport != "tcp") return false;
  constexpr double alike = 1.1;
  const bool knows_rates = facts.nic_rate.value > 0 && nics.rate.value > 0;
  const double ratio = knows_rates ? facts.nic_rate.value / nics.rate.value : 1;
  if (ratio > alike || ratio < 1 / alike) return false;
  if (facts.network.find("fabric") != std::string::npos && !nics.transport.starts_with("efa") &&
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

/// Whether a cluster whose node is a shipped template has other GPUs: reading that is quicker than
/// loading the cluster. A template that extends others may not say its GPUs.
bool has_other_gpus(const std::filesystem::path& file, const GpuModel* model,
                    std::map<std::string, bool>& known) {
  const YamlMapping root = read_yaml(read_text_file(file, "a topology"), "topology").free_mapping();
  const auto name = root.at("nodes").free_mapping().find("template");
  if (!name) return false;
  const auto [entry, is_new] = known.emplace(name->string(), false);
  if (!is_new) return entry->second;
  const NodeTemplate node =
      load_node_template(find_data_file(name->string(), "topologies/nodes"), shipped_library());
  entry->second =
      std::none_of(node.devices.begin(), node.devices.end(), [&](const GraphDevice& device) {
        return device.kind == DeviceKind::gpu && find_gpu_model(device.model) == model;
      });
  return entry->second;
}

/// A shipped cluster whose hosts have the log's GPUs.
struct ShippedCluster {
  std::string name;
  NodeNics nics;
  std::uint32_t nodes = 0;
};

bool has_nvlink(const Topology& machine) {
  return std::any_of(machine.links().begin(), machine.links().end(),
                     [](const Link& link) { return link.kind == LinkKind::nvlink; });
}

/// Whether a host of a cluster can be the run's: a card is on no board with NVLink, and who has
/// some of a superchip's board has all of it.
bool has_hosts_of(const Topology& machine, const RunShape& shape, const GpuModel& model,
                  bool is_card) {
  const std::size_t gpus = machine.node(0).graph->gpus().size();
  if (find_gpu_model(machine.device(machine.gpus().front()).model) != &model) return false;
  if (is_card && has_nvlink(machine)) return false;
  const bool is_whole_board = model.chip_link > 0 && model.gpus_per_rack == 0;
  return is_whole_board ? gpus == shape.per_node : gpus >= shape.per_node;
}

/// The clusters of those GPUs with a plain network, the smallest first. Servers that are sold with
/// RDMA may run over TCP, which is then a cause: those of clouds without RDMA count only where
/// there are no others.
std::vector<ShippedCluster> candidates_of(const RunShape& shape, const GpuModel& model,
                                          bool is_card) {
  std::vector<ShippedCluster> candidates;
  std::map<std::string, bool> others;  // by template
  for (const auto& [held, files] : clusters_of(shape.nodes)) {
    for (const std::filesystem::path& file : files) {
      constexpr std::uint32_t max_nodes = 64;  // larger ones have the same nodes
      if (held > max_nodes || has_other_gpus(file, &model, others)) continue;
      const Topology machine = load_topology(file);
      if (!has_hosts_of(machine, shape, model, is_card) || !is_plain(machine)) continue;
      candidates.push_back({file.stem().string(), nics_of(machine), held});
    }
  }
  const auto is_over_tcp = [](const ShippedCluster& each) { return each.nics.transport == "tcp"; };
  if (!std::all_of(candidates.begin(), candidates.end(), is_over_tcp)) {
    std::erase_if(candidates, is_over_tcp);
  }
  return candidates;
}

/// Whether a vendor of clouds has made a machine its own.
bool is_of_cloud(const std::string& name) {
  constexpr std::array clouds{"aws-", "azure-", "gcp-", "oci-"};
  return std::any_of(clouds.begin(), clouds.end(),
                     [&](const char* cloud) { return name.starts_with(cloud); });
}

bool is_dgx_or_hgx(const std::string& name) {
  return name.starts_with("dgx") || name.starts_with("hgx");
}

/// Names of the smallest of the candidates that are wanted; where all of them are clouds', of the
/// smallest DGX or HGX cluster as well.
template <typename Wanted>
std::vector<std::string> smallest(const std::vector<ShippedCluster>& candidates,
                                  const Wanted& wanted) {
  std::vector<std::string> names;
  std::uint32_t nodes = 0;
  for (const ShippedCluster& each : candidates) {
    if (!wanted(each)) continue;
    if (names.empty() || each.nodes == nodes) {
      names.push_back(each.name);
      nodes = each.nodes;
      continue;
    }
    const bool are_clouds = std::all_of(names.begin(), names.end(), is_of_cloud);
    if (are_clouds && is_dgx_or_hgx(each.name)) names.push_back(each.name);
  }
  return names;
}

GuessedMachine shipped(const std::string& name) {
  return {name, load_machine(name).topology, {}, {}};
}

GuessedMachine made_of(ComposedMachine composed) {
  GuessedMachine machine{composed.parts.name, compose(composed.parts, composed.nodes), {}, {}};
  machine.guesses = composed.guesses;
  machine.guesses_nics = composed.guesses_nics;
  machine.composed = std::move(composed);
  return machine;
}

/// Of hosts of the same cards: cards that talk peer-to-peer have a bridge, as those of GeForce
/// need.
std::string likeliest_host(const std::vector<std::string>& names, const LogFacts& facts) {
  const bool is_bridged = facts.transports.contains(LogTransport::peer_to_peer);
  for (const std::string& name : names) {
    if (has_nvlink(load_machine(name).topology) == is_bridged) return name;
  }
  return names.front();
}

/// The log's host as a shipped template, a file, or GPUs of its kind have it.
Board log_board(const Recording& recording, const RunShape& shape, const GpuModel& model,
                const MachineHints& hints) {
  if (hints.described) {
    Board described{"the described host", *hints.described};
    try {
      described.calibration =
          board_of(model, is_card(recording.machine.at("gpu")), shape.per_node).calibration;
    } catch (const InputError&) {
      described.calibration.clear();  // by its GPUs
    }
    return described;
  }
  return board_of(model, is_card(recording.machine.at("gpu")), shape.per_node);
}

GuessedMachine guessed_host(const Recording& recording, const LogFacts& facts,
                            const RunShape& shape, const GpuModel& model) {
  const std::vector<std::string> names = shipped_machines_of(recording);
  if (names.empty()) {
    return made_of(
        compose_machine(log_board(recording, shape, model, {}), shape, facts, &model, {}));
  }
  GuessedMachine machine = shipped(likeliest_host(names, facts));
  if (names.size() > 1) machine.guesses.push_back(fmt::format("of {}", fmt::join(names, ", ")));
  return machine;
}

/// A DGX or HGX, where there is any.
std::string likeliest_cluster(const std::vector<std::string>& names) {
  const auto found = std::find_if(names.begin(), names.end(), is_dgx_or_hgx);
  return found != names.end() ? *found : names.front();
}

GuessedMachine guessed_cluster(const Recording& recording, const LogFacts& facts,
                               const RunShape& shape, const GpuModel& model) {
  const std::vector<ShippedCluster> candidates =
      candidates_of(shape, model, is_card(recording.machine.at("gpu")));
  const bool names_nics = !facts.nics.empty();
  const std::vector<std::string> names = smallest(candidates, [&](const ShippedCluster& each) {
    return fits(each.nics, facts) &&
           (!names_nics || each.nics.count == facts.nics.size() * shape.hosts);
  });
  const bool knows_network = !facts.network.empty();
  if (names.empty() || (names.size() > 1 && names_nics)) {
    return made_of(
        compose_machine(log_board(recording, shape, model, {}), shape, facts, &model, {}));
  }
  GuessedMachine machine = shipped(likeliest_cluster(names));
  if (names.size() > 1) machine.guesses.push_back(fmt::format("of {}", fmt::join(names, ", ")));
  if (!names_nics) machine.guesses.emplace_back("number and rate of the NICs");
  if (!knows_network) machine.guesses.emplace_back("the network between hosts");
  machine.guesses_nics = !names_nics || facts.nic_rate.value <= 0;
  return machine;
}

/// The GPU that a log names. Throws InputError.
const GpuModel& model_of(const Recording& recording) {
  const auto gpu = recording.machine.find("gpu");
  if (gpu == recording.machine.end()) {
    fail(recording,
         "it has no line `# Rank 0 ... device 0 [0x07] NVIDIA H100`, which names the GPU");
  }
  const GpuModel* model = find_gpu_model(gpu->second);
  if (model == nullptr) fail(recording, fmt::format("'{}' is no GPU of ours", gpu->second));
  return *model;
}

}  // namespace

namespace {

/// Whether a row or NCCL's log says that a variable was set, to one of those values; any if empty.
bool is_set(const Recording& recording, const LogFacts& facts, const std::string& name,
            std::string_view value) {
  const auto has = [&](const std::map<std::string, std::string>& variables) {
    const auto found = variables.find(name);
    return found != variables.end() && (value.empty() || lower_case(found->second) == value);
  };
  return has(facts.variables) ||
         std::any_of(recording.rows.begin(), recording.rows.end(),
                     [&](const RecordedRow& row) { return has(row.variables); });
}

/// What a log says of the machine's NICs, and not of how they were used: TCP on servers that are
/// sold with RDMA, and NICs that a setting chose, are no parts of the machine.
LogFacts facts_of_machine(const Recording& recording, LogFacts facts, const RunShape& shape,
                          const GpuModel& model) {
  constexpr std::uint32_t links_of_a_bridge = 4;
  const bool is_server = model.nvlinks > links_of_a_bridge && !is_card(recording.machine.at("gpu"));
  const bool is_switched_off = is_set(recording, facts, "NCCL_IB_DISABLE", "1") ||
                               is_set(recording, facts, "NCCL_NET", "socket");
  const bool is_chosen = is_set(recording, facts, "NCCL_IB_HCA", "") &&
                         2 * facts.nics.size() < std::size_t{shape.per_node};
  const bool is_tcp = facts.network == "Socket" || facts.no_ib_device;
  if (is_tcp && (is_server || is_switched_off)) {
    facts.network.clear();
    facts.no_ib_device = false;
    facts.nics.clear();
  }
  if (is_chosen) facts.nics.clear();
  return facts;
}

}  // namespace

double GuessedMachine::widening() const {
  // Chosen: a guess may be wrong by a quarter of what a prediction of such a machine is off by.
  constexpr double per_guess = 0.25;
  return 1 + per_guess * static_cast<double>(guesses.size());
}

void join_trays(Recording& recording, LogFacts& facts) {
  const auto gpu = recording.machine.find("gpu");
  const GpuModel* const model =
      gpu == recording.machine.end() ? nullptr : find_gpu_model(gpu->second);
  // A recording that names its machine counts as that one does.
  if (model == nullptr || model->gpus_per_rack == 0 || !recording.topology.empty()) return;
  std::set<std::string> notes;
  for (RecordedRow& row : recording.rows) {
    const Rank of_host = row.ranks / row.nodes;
    if (row.nodes == 1 || !row.topology.empty() || row.ranks % row.nodes != 0 ||
        of_host >= model->gpus_per_rack)
      continue;
    std::uint32_t racks = 1;
    while (row.nodes % racks != 0 || row.ranks / racks > model->gpus_per_rack) ++racks;
    if (racks == row.nodes) continue;
    facts.hosts_of_node = std::max(facts.hosts_of_node, row.nodes / racks);
    notes.insert(fmt::format("{} hosts of {} {} are taken to be {} rack{}, {} of each", row.nodes,
                             of_host, model->name, racks, racks == 1 ? "" : "s",
                             row.nodes / racks));
    row.nodes = racks;
  }
  if (notes.empty()) return;
  facts.nodes = 0;  // NCCL's lines may count either
  facts.local_ranks = 0;
  recording.notes.insert(recording.notes.end(), notes.begin(), notes.end());
}

RunShape shape_of(const Recording& recording, const LogFacts& facts) {
  // Without any way inside a host, NCCL takes each rank for a node; a table that lists hosts knows.
  const bool knows_hosts = recording.names_hosts;
  RunShape shape{knows_hosts ? 1 : std::max(1U, facts.nodes), knows_hosts ? 0 : facts.local_ranks,
                 facts.hosts_of_node};
  for (const RecordedRow& row : recording.rows) {
    shape.nodes = std::max(shape.nodes, row.nodes);
    if (row.ranks > 0) shape.per_node = std::max(shape.per_node, row.ranks / row.nodes);
  }
  return shape;
}

std::string machine_key(const Recording& recording, const LogFacts& facts) {
  const RunShape shape = shape_of(recording, facts);
  const auto gpu = recording.machine.find("gpu");
  return fmt::format("{}|{}|{}|{}|{}|{}|{}|{}|{}{}{}", recording.topology,
                     gpu == recording.machine.end() ? std::string() : gpu->second, shape.nodes,
                     shape.per_node, fmt::join(facts.nics, ","), facts.network,
                     facts.nic_rate.value, facts.transports.contains(LogTransport::peer_to_peer),
                     is_set(recording, facts, "NCCL_IB_DISABLE", "1"),
                     is_set(recording, facts, "NCCL_NET", "socket"),
                     is_set(recording, facts, "NCCL_IB_HCA", ""));
}

GuessedMachine guessed_machine(const Recording& whole, const LogFacts& logged,
                               const MachineHints& hints) {
  // Rows that name a machine of their own say nothing of the one of the others.
  Recording recording = whole;
  std::erase_if(recording.rows, [](const RecordedRow& row) { return !row.topology.empty(); });
  if (!recording.topology.empty() && !hints.any()) return shipped(recording.topology);
  RunShape shape = shape_of(recording, logged);
  if (hints.nodes) shape.nodes = *hints.nodes;
  if (!hints.base.empty()) {
    const MachineParts base = load_parts(hints.base);
    const auto gpu = recording.machine.find("gpu");
    return made_of(compose_machine(
        {base.name, base.node, base.fabric, base.calibration}, shape, logged,
        gpu == recording.machine.end() ? nullptr : find_gpu_model(gpu->second), hints));
  }
  if (hints.described && !recording.machine.contains("gpu")) {
    return made_of(
        compose_machine({"the described host", *hints.described}, shape, logged, nullptr, hints));
  }
  const GpuModel& model = model_of(recording);
  const LogFacts facts = facts_of_machine(recording, logged, shape, model);
  if (hints.any()) {
    return made_of(
        compose_machine(log_board(recording, shape, model, hints), shape, facts, &model, hints));
  }
  return shape.nodes == 1 ? guessed_host(recording, facts, shape, model)
                          : guessed_cluster(recording, facts, shape, model);
}

std::vector<GuessedMachine> machines_of_unnamed_gpus(const Recording& recording,
                                                     const LogFacts& facts,
                                                     const MachineHints& hints) {
  constexpr std::array<std::string_view, 5> models{"V100", "A100", "H100", "B200", "L40S"};
  constexpr std::uint32_t gpus_of_a_host = 8;
  RunShape shape = shape_of(recording, facts);
  const std::uint32_t ranks = shape.nodes * shape.per_node;
  if (ranks == 0) return {};
  if (!recording.names_hosts && ranks > gpus_of_a_host && ranks % gpus_of_a_host == 0) {
    shape = {ranks / gpus_of_a_host, gpus_of_a_host};
  }
  if (hints.nodes && ranks % *hints.nodes == 0) shape = {*hints.nodes, ranks / *hints.nodes};
  std::vector<GuessedMachine> machines;
  for (const std::string_view name : models) {
    const GpuModel& model = *find_gpu_model(name);
    try {
      machines.push_back(made_of(compose_machine(
          board_of(model, model.nvlinks == 0, shape.per_node), shape, facts, &model, hints)));
    } catch (const InputError&) {
      continue;  // no host of so many
    }
  }
  return machines;
}

}  // namespace collsim
