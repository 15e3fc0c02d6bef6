#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "models/imports/import.h"
#include "models/imports/matrix_text.h"
#include "models/nccl/system/cpu_generation.h"
#include "models/nccl/system/link_bandwidth.h"
#include "models/nccl/system/system_xml.h"

namespace collsim {

namespace {

constexpr std::uint64_t nvidia = 0x10de;

/// The model that the ids of the GPU's PCI function name, unless its architecture is another: files
/// that are written by hand copy ids.
const GpuModel* model_of(const NcclNode& gpu) {
  if (gpu.pci_device >> 48U != nvidia) return nullptr;
  const GpuModel* model =
      gpu_model_of_pci_device(static_cast<std::uint16_t>(gpu.pci_device >> 32U));
  const bool fits = model != nullptr && model->compute_capability == gpu.gpu.compute_capability;
  return fits ? model : nullptr;
}

/// GB/s of an NVLink by architecture, for GPUs that we do not know.
double nominal_nvlink(int compute_capability) {
  if (compute_capability >= 100) return 50;
  if (compute_capability >= 90) return 26.56;
  if (compute_capability == 86) return 14.06;
  return compute_capability >= 70 ? 25 : 20;
}

/// "CPUs of AMD, family 26, model 80", where these are none that we know.
std::optional<std::string> unknown_cpu(const NcclCpu& cpu) {
  const bool amd = cpu.vendor == CpuVendor::amd;
  const bool numbered = cpu.architecture == CpuArchitecture::x86 && cpu.family > 0 &&
                        (amd || cpu.vendor == CpuVendor::intel);
  if (!numbered || generation_of(cpu) != nullptr) return std::nullopt;
  return fmt::format("CPUs of {}, family {}, model {}", amd ? "AMD" : "Intel", cpu.family,
                     cpu.model);
}

std::string cpu_text(const NcclCpu& cpu) {
  if (const CpuGeneration* generation = generation_of(cpu)) return std::string(generation->name);
  if (cpu.architecture == CpuArchitecture::arm) return "Arm";
  if (cpu.architecture == CpuArchitecture::power) return "POWER";
  if (cpu.architecture == CpuArchitecture::x86 && cpu.vendor == CpuVendor::amd) return "AMD";
  if (cpu.architecture == CpuArchitecture::x86 && cpu.vendor == CpuVendor::intel) return "Intel";
  return {};
}

/// NVSwitches of Hopper's generation and later add up on the way (NVLink SHARP).
constexpr int first_with_multicast = 90;

/// Turns a system of NCCL's back into devices and links.
class SystemReader {
 public:
  SystemReader(const NcclSystem& system, const ImportOptions& options)
      : system_(system), options_(options) {}

  NodeTemplate read() {
    add_gpus();
    add_all(NcclNodeKind::nvs, DeviceKind::nvswitch, "nvswitch");
    add_all(NcclNodeKind::pci, DeviceKind::pcie_switch, "pcie");
    add_nics();
    add_all(NcclNodeKind::cpu, DeviceKind::cpu, "cpu");
    add_nvlinks();
    add_pcie_links();
    add_cpu_links();
    const bool reduces = system_.min_compute_capability() >= first_with_multicast;
    for (GraphDevice& device : graph_.devices) {
      device.reduces = reduces && device.kind == DeviceKind::nvswitch;
    }
    return std::move(graph_);
  }

  /// Of the GPUs of the node that was read, if none has an NVLink though its model has; one among
  /// others that have them is odd (`odd_links`).
  std::optional<std::string> warning_of_cards(const NodeTemplate& node) const {
    std::vector<std::string> cards;
    for (const std::uint32_t gpu : system_.of_kind(NcclNodeKind::gpu)) {
      const GraphDevice& device = node.devices[devices_.at(gpu).front()];
      const GpuModel* model = find_gpu_model(device.model);
      const auto& links = system_.node(gpu).links;
      const auto has = [&](NcclLinkKind kind) {
        return std::any_of(links.begin(), links.end(),
                           [&](std::uint32_t id) { return system_.links()[id].kind == kind; });
      };
      if (has(NcclLinkKind::nvl)) return std::nullopt;
      if (model != nullptr && model->nvlinks > 0 && !has(NcclLinkKind::c2c)) {
        cards.push_back(fmt::format("{} ({})", device.name, device.model));
      }
    }
    if (cards.empty()) return std::nullopt;
    return fmt::format(
        "No <nvlink> to another device in the <gpu> of {}: taken to have PCIe alone.",
        fmt::join(cards, ", "));
  }

  /// Of several CPUs whose numbers no generation has, whatever is taken in their place.
  std::optional<std::string> warning_of_cpus() const {
    if (system_.of_kind(NcclNodeKind::cpu).size() < 2) return std::nullopt;
    for (const std::uint32_t cpu : system_.of_kind(NcclNodeKind::cpu)) {
      const auto unknown = unknown_cpu(system_.node(cpu).cpu);
      if (!unknown) continue;
      return fmt::format(
          "{}, are of no generation that we know: what two sockets have between them is a guess.",
          *unknown);
    }
    return std::nullopt;
  }

 private:
  using Counts = std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t>;

  std::uint32_t add(GraphDevice device, std::uint32_t node) {
    const auto index = static_cast<std::uint32_t>(graph_.devices.size());
    graph_.devices.push_back(std::move(device));
    devices_[node].push_back(index);
    return index;
  }

  /// In the order of ranks, which is the order of GPUs in ours.
  void add_gpus() {
    const auto nodes = system_.of_kind(NcclNodeKind::gpu);
    std::vector<std::uint32_t> gpus(nodes.begin(), nodes.end());
    std::stable_sort(gpus.begin(), gpus.end(), [&](std::uint32_t a, std::uint32_t b) {
      return system_.node(a).gpu.rank < system_.node(b).gpu.rank;
    });
    for (std::size_t i = 0; i < gpus.size(); ++i) {
      const NcclNode& node = system_.node(gpus[i]);
      const GpuModel* model = options_.gpu != nullptr ? options_.gpu : model_of(node);
      GraphDevice device;
      device.name = fmt::format("gpu{}", i);
      device.model = model != nullptr ? std::string(model->name)
                                      : fmt::format("sm_{}", node.gpu.compute_capability);
      nvlink_rate_[gpus[i]] = model != nullptr && model->nvlink_bandwidth > 0
                                  ? model->nvlink_bandwidth
                                  : nominal_nvlink(node.gpu.compute_capability);
      add(std::move(device), gpus[i]);
    }
  }

  void add_all(NcclNodeKind kind, DeviceKind ours, std::string_view stem) {
    std::size_t number = 0;
    for (const std::uint32_t node : system_.of_kind(kind)) {
      GraphDevice device;
      device.name = fmt::format("{}{}", stem, number++);
      device.kind = ours;
      if (kind == NcclNodeKind::cpu) device.model = cpu_text(system_.node(node).cpu);
      add(std::move(device), node);
    }
  }

  /// The ports of a NIC.
  std::vector<const NcclNet*> ports_of(std::uint32_t nic) const {
    std::vector<const NcclNet*> ports;
    for (const std::uint32_t id : system_.node(nic).links) {
      const NcclNode& end = system_.node(system_.links()[id].to);
      if (end.kind == NcclNodeKind::net) ports.push_back(&end.net);
    }
    return ports;
  }

  /// One of ours for every port, since each has a cable of its own.
  void add_nics() {
    std::size_t number = 0;
    std::size_t cards = 0;
    for (const std::uint32_t node : system_.of_kind(NcclNodeKind::nic)) {
      const auto ports = ports_of(node);
      const bool one_chip = std::all_of(ports.begin(), ports.end(), [&](const NcclNet* port) {
        return port->asic == ports.front()->asic;
      });
      const std::string card =
          one_chip && ports.size() > 1 ? fmt::format("card{}", cards++) : std::string();
      for (const NcclNet* const port : ports) {
        GraphDevice device;
        device.name = fmt::format("nic{}", number++);
        device.kind = DeviceKind::nic;
        device.model = port->name;
        if (port->rated) device.port_rate = gigabytes_per_second(port->bandwidth);
        device.gpudirect = port->gdr;
        device.card = card;
        add(std::move(device), node);
      }
    }
  }

  void add_link(std::uint32_t from, std::uint32_t to, LinkKind kind, double bandwidth,
                std::uint32_t count = 1) {
    if (bandwidth <= 0) return;
    graph_.links.push_back({from, to, kind, count, count * gigabytes_per_second(bandwidth), {}});
  }

  /// NCCL lists each direction; ours go both ways, as wide as the wider one.
  void add_nvlinks() {
    Counts counts;
    for (const std::uint32_t gpu : system_.of_kind(NcclNodeKind::gpu)) {
      for (const std::uint32_t id : system_.node(gpu).links) {
        const NcclLink& link = system_.links()[id];
        if (link.kind != NcclLinkKind::nvl) continue;
        std::uint32_t from = devices_[gpu].front();
        std::uint32_t to = devices_[link.to].front();
        if (system_.node(link.to).kind == NcclNodeKind::gpu && to < from) std::swap(from, to);
        std::uint32_t& count = counts[{from, to}];
        count = std::max(count, nvlink_count(gpu, link));
        rates_[{from, to}] = nvlink_rate_.at(gpu);
      }
    }
    for (const auto& [ends, count] : counts) {
      add_link(ends.first, ends.second, LinkKind::nvlink, rates_[ends], count);
    }
    add_chip_links(counts);
  }

  /// NVLink-C2C is NVLink for us; a CPU that has NVLinks too keeps those.
  void add_chip_links(const Counts& nvlinks) {
    for (const std::uint32_t gpu : system_.of_kind(NcclNodeKind::gpu)) {
      for (const std::uint32_t id : system_.node(gpu).links) {
        const NcclLink& link = system_.links()[id];
        const auto ends = std::pair(devices_[gpu].front(), devices_[link.to].front());
        if (link.kind != NcclLinkKind::c2c || nvlinks.contains(ends)) continue;
        add_link(ends.first, ends.second, LinkKind::nvlink, link.bandwidth);
      }
    }
  }

  std::uint32_t nvlink_count(std::uint32_t gpu, const NcclLink& link) const {
    const int capability = system_.node(gpu).gpu.compute_capability;
    const double links =
        std::round(link.bandwidth / nvlink_bandwidth(capability, default_nccl_version));
    return static_cast<std::uint32_t>(std::clamp(links, 1.0, 65'536.0));
  }

  /// A device that NCCL takes to have no link of its own has none that limits.
  static double line_rate(const NcclLink& link) {
    return link.bandwidth < local_bandwidth ? pci_line_rate(link.bandwidth) : link.bandwidth;
  }

  void add_pcie_links() {
    for (const NcclNodeKind kind : {NcclNodeKind::gpu, NcclNodeKind::nic, NcclNodeKind::pci}) {
      for (const std::uint32_t node : system_.of_kind(kind)) {
        const NcclLink* up = system_.link_up(node);
        if (up == nullptr) continue;
        const auto first = static_cast<std::uint32_t>(graph_.links.size());
        for (const std::uint32_t device : devices_[node]) {
          add_link(device, devices_[up->to].front(), LinkKind::pcie, line_rate(*up));
        }
        if (devices_[node].size() > 1) share_card(node, first, line_rate(*up));
      }
    }
  }

  /// The ports of one card are as wide as its slot, together.
  void share_card(std::uint32_t node, std::uint32_t first_link, double bandwidth) {
    for (const bool reversed : {false, true}) {
      GraphShare share{fmt::format("{}-card-{}", graph_.devices[devices_[node].front()].name,
                                   reversed ? "in" : "out"),
                       gigabytes_per_second(bandwidth),
                       {}};
      for (std::uint32_t i = 0; i < devices_[node].size(); ++i) {
        share.links.push_back({first_link + i, reversed});
      }
      graph_.shares.push_back(std::move(share));
    }
  }

  /// Of CPUs that we do not know five times what NCCL plans with, as it is of those that we know.
  static double between_sockets(const NcclCpu& cpu, const NcclLink& link) {
    constexpr double wire_of_planned = 5;
    const CpuGeneration* generation = generation_of(cpu);
    return generation != nullptr ? generation->between_sockets : wire_of_planned * link.bandwidth;
  }

  void add_cpu_links() {
    for (const std::uint32_t cpu : system_.of_kind(NcclNodeKind::cpu)) {
      for (const std::uint32_t id : system_.node(cpu).links) {
        const NcclLink& link = system_.links()[id];
        if (link.kind != NcclLinkKind::sys || link.to < cpu) continue;
        add_link(devices_[cpu].front(), devices_[link.to].front(), LinkKind::cpu,
                 between_sockets(system_.node(cpu).cpu, link));
      }
    }
  }

  const NcclSystem& system_;
  const ImportOptions& options_;
  NodeTemplate graph_;
  std::map<std::uint32_t, std::vector<std::uint32_t>> devices_;  // ours, by node of NCCL's
  std::map<std::uint32_t, double> nvlink_rate_;                  // by node of NCCL's
  std::map<std::pair<std::uint32_t, std::uint32_t>, double> rates_;
};

}  // namespace

namespace {

constexpr std::string_view closing = "</system>";

FormatSign nccl_sign(std::string_view text) {
  const std::size_t system = text.find("<system");
  const std::size_t graphs = text.find("<graphs");
  if (!begins_with_element(text)) {
    const std::size_t end = text.rfind(closing);
    const bool is_inside = system < graphs && end != std::string_view::npos && system < end;
    return is_inside ? FormatSign::inside : FormatSign::no;
  }
  if (graphs < system || text.find("<topology") < system) return FormatSign::no;
  if (system != std::string_view::npos) return FormatSign::mark;
  return is_html(text) ? FormatSign::no : FormatSign::inside;
}

/// Of a longer text, such as an issue, what is outside of <system> is made blank, so that places
/// stay.
TextFile only_system(TextFile text) {
  std::string& content = text.content;
  if (begins_with_element(content)) return text;
  content.resize(content.rfind(closing) + closing.size());
  const auto begin = content.begin() + static_cast<std::ptrdiff_t>(content.find("<system"));
  std::replace_if(
      content.begin(), begin, [](char letter) { return letter != '\n'; }, ' ');
  return text;
}

const MachineFormat nccl_format("NCCL's topology of a host (NCCL_TOPO_DUMP_FILE)", nccl_sign,
                                [](const TextFile& text, const ImportOptions& options) {
                                  return import_nccl_topology(only_system(text), options);
                                });

}  // namespace

ImportedNode import_nccl_topology(const TextFile& text, const ImportOptions& options) {
  NcclTopologyFile file =
      read_nccl_topology_file(text, default_nccl_version, {options.gpu, options.cards, 0});
  SystemReader reader(file.system, options);
  NodeTemplate node = reader.read();
  for (const auto& warning : {reader.warning_of_cards(node), reader.warning_of_cpus()}) {
    if (warning) file.warnings.push_back(*warning);
  }
  std::vector<std::string> notes{
      "PCIe has what its lanes have on the wire, sockets what their generation has between them."};
  notes.insert(notes.end(), file.notes.begin(), file.notes.end());
  return {std::move(node), std::move(notes), std::move(file.warnings)};
}

}  // namespace collsim
