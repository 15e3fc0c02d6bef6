#include "tools/collsim/request/composed_machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "models/imports/import.h"
#include "models/machine/gpu_generation.h"
#include "models/recordings/readers.h"
#include "sim/base/data_directory.h"
#include "sim/base/input_error.h"
#include "tools/collsim/request/change.h"

namespace collsim {

namespace {

const GpuGeneration& generation_of(int compute_capability) {
  const auto generations = gpu_generations();
  const GpuGeneration* last = generations.data();
  for (const GpuGeneration& each : generations) {
    if (each.first <= compute_capability) last = &each;
  }
  return *last;
}

/// GB/s of sixteen lanes in one direction, by generation (PCI-SIG: 8 GT/s and 128b/130b coding of
/// gen3, and twice as much from each generation to the next; of gen6 its FLITs).
constexpr std::array lanes_of_pcie{15.75, 31.5, 63.0, 121.0};

double lanes_of(int generation) {
  const int place = std::clamp(generation - 3, 0, static_cast<int>(lanes_of_pcie.size()) - 1);
  return lanes_of_pcie.at(static_cast<std::size_t>(place));
}

std::size_t count_of(const NodeTemplate& node, DeviceKind kind) {
  return static_cast<std::size_t>(
      std::count_if(node.devices.begin(), node.devices.end(),
                    [kind](const GraphDevice& device) { return device.kind == kind; }));
}

/// The same board with other GPUs: their NVLinks and lanes take the place of the old ones'.
void replace_gpus(NodeTemplate& node, const GpuModel& model) {
  for (GraphDevice& device : node.devices) {
    if (device.kind == DeviceKind::gpu) device.model = model.name;
  }
  for (GraphLink& link : node.links) {
    const bool of_gpu = node.devices[link.from].kind == DeviceKind::gpu;
    if (link.kind == LinkKind::nvlink && of_gpu) {
      link.count = std::min(link.count, model.nvlinks);
      link.bandwidth = gigabytes_per_second(link.count * model.nvlink_bandwidth);
    }
    if (link.kind == LinkKind::pcie) {
      link.bandwidth = gigabytes_per_second(lanes_of(model.pcie_generation));
    }
  }
}

/// The board with NVLink on which so many of those GPUs sit; empty where there is none.
std::string_view board_with_nvlink(const GpuModel& model, std::uint32_t gpus) {
  constexpr std::uint32_t gpus_of_a_board = 8;
  const std::string_view own = own_board(model, gpus);
  if (!own.empty()) return own;
  return gpus <= gpus_of_a_board ? generation_of(model.compute_capability).board : "";
}

/// A host of cards: the smallest of the shipped ones that has so many.
std::string_view host_of_cards(std::uint32_t gpus) {
  constexpr std::array<std::pair<std::uint32_t, std::string_view>, 3> hosts{
      {{2, "pcie-2"}, {4, "pcie-4"}, {8, "pcie-8"}}};
  for (const auto& [most, name] : hosts) {
    if (gpus <= most) return name;
  }
  return {};
}

/// Whose NICs and network a board's own ones are.
std::string_view kind_of_network(const LogFacts& facts) {
  if (facts.network == "IB" || facts.network == "RoCE" || facts.network == "Socket") {
    return facts.network;
  }
  if (facts.network.find("fabric") != std::string::npos) return "EFA";
  return facts.network.empty() && facts.no_ib_device ? "Socket" : "";
}

/// "4x200Gb/s": the number of NICs and their rate, either of which may be missing.
struct NicHint {
  std::optional<std::size_t> count;
  std::string rate;
};

NicHint nic_hint(const std::string& text) {
  NicHint hint{std::nullopt, text};
  const auto cross = text.find('x');
  const std::string number = text.substr(0, cross);
  const bool is_number =
      !number.empty() && number.find_first_not_of("0123456789") == std::string::npos;
  if (!is_number) return hint;
  const auto count = whole_number(number);
  constexpr std::int64_t most = 64;
  if (!count || *count < 1 || *count > most) {
    throw InputError(fmt::format("--nic {}: not a number of NICs", text), "1 to 64 NICs of a host");
  }
  hint.count = static_cast<std::size_t>(*count);
  hint.rate = cross == std::string::npos ? std::string() : text.substr(cross + 1);
  return hint;
}

class Composer {
 public:
  Composer(Board board, const RunShape& shape, const LogFacts& facts, const GpuModel* model,
           const MachineHints& hints)
      : board_(std::move(board)), shape_(shape), facts_(facts), model_(model), hints_(hints) {}

  ComposedMachine take() && {
    MachineParts& parts = machine_.parts;
    machine_.nodes = hints_.nodes.value_or(shape_.nodes);
    machine_.guesses = board_.guesses;
    parts.node = std::move(board_.node);
    parts.fabric = std::move(board_.fabric);
    parts.calibration = std::move(board_.calibration);
    parts.nodes = machine_.nodes;
    parts.name = board_.name;
    if (machine_.nodes > 1) {
      set_nics();
      set_network();
      set_rate();
    }
    name_it();
    return std::move(machine_);
  }

 private:
  /// What is guessed here is of NICs and their network.
  void guess(std::string what) {
    machine_.guesses.push_back(std::move(what));
    machine_.guesses_nics = true;
  }

  void set_nics() {
    NodeTemplate& node = machine_.parts.node;
    if (hints_.described) keep_named_nics();
    const std::size_t own = count_of(node, DeviceKind::nic);
    const auto hinted = nic_hint(hints_.nic).count;
    std::size_t wanted = hinted.value_or(hints_.described && own > 0 ? own : named_nics());
    // Over sockets NCCL takes one interface unless NCCL_SOCKET_IFNAME names more.
    if (wanted == 0 && kind_of_network(facts_) == "Socket") wanted = 1;
    if (wanted == 0) {
      wanted = own > 0 ? own : std::max<std::size_t>(1, count_of(node, DeviceKind::gpu) / 2);
      if (!hints_.described || own == 0) guess(fmt::format("{} NICs a host", wanted));
    }
    if (wanted < own) {
      machine_.parts = changed(std::move(machine_.parts), fmt::format("nics={}", wanted));
    }
    if (wanted > own) add_nics(node, static_cast<std::uint32_t>(wanted - own));
    nics_ = wanted;
  }

  /// Of a node, whose hosts are alike.
  std::size_t named_nics() const {
    const std::size_t gpus = count_of(machine_.parts.node, DeviceKind::gpu);
    const std::size_t of_host = std::max(1U, shape_.per_node / shape_.hosts);
    return facts_.nics.size() * (shape_.hosts == 1 ? 1 : std::max<std::size_t>(1, gpus / of_host));
  }

  /// Of NICs that a description names, those that the log does not are for other things.
  void keep_named_nics() {
    NodeTemplate& node = machine_.parts.node;
    std::vector<bool> gone(node.devices.size());
    std::size_t kept = 0;
    for (std::size_t i = 0; i < gone.size(); ++i) {
      const GraphDevice& device = node.devices[i];
      if (device.kind != DeviceKind::nic) continue;
      gone[i] = !facts_.nics.contains(device.model);
      kept += gone[i] ? 0U : 1U;
    }
    if (kept == facts_.nics.size() && kept > 0) remove_devices(node, gone);
  }

  /// The fabric's name, or empty where the board's own is right.
  std::string fabric_name() {
    if (!hints_.fabric.empty()) return hints_.fabric;
    const GpuGeneration& generation =
        generation_of(model_ == nullptr ? 80 : model_->compute_capability);
    const std::string_view kind = kind_of_network(facts_);
    if (kind.empty()) guess("InfiniBand between hosts");
    const bool has_own = !machine_.parts.fabric.empty();
    if (kind == "RoCE") return std::string(generation.roce);
    if (kind == "Socket") return "ethernet-100g";
    if (kind == "EFA") return std::string(generation.efa);
    const bool is_infiniband = has_own && text_of_key(machine_.parts.fabric, "kind") != "dragonfly";
    if (is_infiniband || (kind.empty() && has_own)) return {};
    return std::string(generation.infiniband);
  }

  /// NICs keep what a description says of them: their names, rates and whether they have GPUDirect.
  void set_network() {
    const std::string name = fabric_name();
    if (name.empty()) return;
    std::vector<GraphDevice> described;
    if (hints_.described) described = machine_.parts.node.devices;
    machine_.parts = changed(std::move(machine_.parts), "fabric=" + name);
    const bool is_tcp = kind_of_network(facts_) == "Socket";
    for (std::size_t i = 0; i < described.size(); ++i) {
      GraphDevice& device = machine_.parts.node.devices[i];
      if (device.kind != DeviceKind::nic) continue;
      device.port_rate = described[i].port_rate;
      if (is_tcp || described[i].model.empty()) continue;
      device.model = described[i].model;
      device.gpudirect = described[i].gpudirect;
    }
  }

  void set_rate() {
    const std::string hinted = nic_hint(hints_.nic).rate;
    std::string rate = hinted;
    if (rate.empty() && facts_.nic_rate.value > 0) rate = exact(facts_.nic_rate);
    if (rate.empty()) rate = described_rate();
    if (rate.empty()) {
      guess("the rate of a NIC");
      return;
    }
    machine_.parts = changed(std::move(machine_.parts), "nic=" + rate);
  }

  static std::string exact(BytesPerSecond rate) {
    return fmt::format("{:.9g} GB/s", in_gigabytes_per_second(rate));
  }

  /// Of NICs that a file describes, where it says it.
  std::string described_rate() const {
    BytesPerSecond rate{};
    for (const GraphDevice& device : machine_.parts.node.devices) {
      if (device.kind == DeviceKind::nic) rate = std::max(rate, device.port_rate);
    }
    return hints_.described && rate.value > 0 ? exact(rate) : std::string();
  }

  void name_it() {
    MachineParts& parts = machine_.parts;
    std::string nics;
    if (machine_.nodes > 1) {
      const std::string_view kind = kind_of_network(facts_);
      nics = fmt::format(" with {} {}NIC{}", nics_, kind.empty() ? "" : fmt::format("{} ", kind),
                         nics_ == 1 ? "" : "s");
      parts.name = fmt::format("{} x {}{}", machine_.nodes, board_.name, nics);
    }
    std::vector<std::string>& lines = machine_.lines;
    const std::string host =
        hints_.described ? std::string("devices: as described") : "template: " + board_.name;
    lines.push_back(fmt::format("nodes: {{ {}, count: {} }}{}", host, machine_.nodes,
                                nics.empty() ? "" : "  #" + nics));
    lines.push_back("fabric: " + fabric_line());
    lines.push_back("calibration: " +
                    (parts.calibration.empty() ? "# by its GPUs" : parts.calibration));
  }

  std::string fabric_line() const {
    const MachineParts& parts = machine_.parts;
    if (machine_.nodes == 1) return "{ kind: none }";
    const auto link = text_of_key(parts.fabric, "link");
    const auto rate = link ? text_of_key(*link, "bandwidth") : std::nullopt;
    const std::string of_port = rate ? fmt::format("  # {} a port", *rate) : std::string();
    if (!parts.fabric_from.empty()) {
      return fmt::format("{{ template: {} }}{}", parts.fabric_from, of_port);
    }
    return parts.fabric;
  }

  Board board_;
  const RunShape& shape_;
  const LogFacts& facts_;
  const GpuModel* model_;
  const MachineHints& hints_;
  ComposedMachine machine_;
  std::size_t nics_ = 0;
};

}  // namespace

Board board_of(const GpuModel& model, bool is_card, std::uint32_t gpus) {
  constexpr std::uint32_t links_of_a_bridge = 4;
  const std::string_view board_name = is_card || model.nvlinks <= links_of_a_bridge
                                          ? std::string_view()
                                          : board_with_nvlink(model, gpus);
  const bool on_board = !board_name.empty();
  const std::string_view name = on_board ? board_name : host_of_cards(gpus);
  if (name.empty()) {
    throw InputError(fmt::format("no host of {} x {} is known", gpus, model.name),
                     "-t MACHINE, or the host's `nvidia-smi topo -m` in a file beside the log");
  }
  const MachineParts parts = load_parts(std::string(name));
  Board board{std::string(name), parts.node, on_board ? parts.fabric : std::string(),
              on_board ? parts.calibration.substr(0, parts.calibration.find('+')) : std::string()};
  const bool is_other = std::any_of(
      board.node.devices.begin(), board.node.devices.end(), [&](const GraphDevice& device) {
        return device.kind == DeviceKind::gpu && find_gpu_model(device.model) != &model;
      });
  if (is_other) {
    replace_gpus(board.node, model);
    board.calibration.clear();
    board.guesses.push_back(fmt::format("a board like {} with {}", name, model.name));
  }
  return board;
}

ComposedMachine compose_machine(Board board, const RunShape& shape, const LogFacts& facts,
                                const GpuModel* model, const MachineHints& hints) {
  return Composer(std::move(board), shape, facts, model, hints).take();
}

}  // namespace collsim
