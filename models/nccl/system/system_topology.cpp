#include "models/nccl/system/system_topology.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "models/machine/gpu_model.h"
#include "models/nccl/system/cpu_generation.h"
#include "models/nccl/system/efa.h"
#include "models/nccl/system/link_bandwidth.h"

namespace collsim {

namespace {

constexpr int default_capability = 90;
/// GB/s, where the system does not say (NCCL src/transport/net_socket.cc).
constexpr double unknown_net_bandwidth = 1.25;

/// What NCCL takes a PCIe link of that many GB/s, on the wire or as NCCL has it, to carry.
double effective_pci(double bandwidth) {
  if (bandwidth >= local_bandwidth) return local_bandwidth;
  for (const double full : {12.0, 24.0, 48.0, 96.0}) {
    if (std::abs(bandwidth - full) < 0.01) return full;
  }
  const double generations = std::max(0.0, std::ceil(std::log2(bandwidth / 16.0)));
  return bandwidth <= 8 ? bandwidth / pci_line_rate(1)
                        : pci_gen3_bandwidth * std::exp2(generations);
}

/// Links of a trunk, also where a file gives many lanes as one link.
double nvlink_count(const Link& link, int capability, NcclVersion version) {
  const double nominal = 1.25 * nvlink_bandwidth(capability, version);
  const double lane = in_gigabytes_per_second(link.bandwidth) / link.count;
  return link.count > 1 || lane < 1.6 * nominal
             ? link.count
             : std::max(1.0, std::round(in_gigabytes_per_second(link.bandwidth) / nominal));
}

/// By its name; one that tells no generation, by what the topology has between two of them.
NcclCpu cpu_of_model(std::string_view model, double bandwidth_between_cpus) {
  if (const CpuGeneration* generation = find_cpu_generation(model)) return generation->cpu;
  const auto has = [&](std::string_view part) { return model.find(part) != std::string::npos; };
  NcclCpu cpu = cpu_of_link_bandwidth(bandwidth_between_cpus);
  if (has("Grace") || has("Arm") || has("Graviton")) {
    cpu = {CpuArchitecture::arm, CpuVendor::other, 0, 0};
  }
  if (has("POWER")) cpu = {CpuArchitecture::power, CpuVendor::other, 0, 0};
  if (has("AMD") || has("EPYC")) cpu = {CpuArchitecture::x86, CpuVendor::amd, 23, 49};
  if ((has("Intel") || has("Xeon")) && cpu.vendor != CpuVendor::intel) {
    cpu = cpu_of_link_bandwidth(0);
  }
  return cpu;
}

/// InfiniBand and RoCE, which NCCL drives itself. Others are a plug-in's or the sockets'.
bool has_verbs(std::string_view nic) {
  constexpr std::array others{"EFA", "Slingshot", "Cassini", "gVNIC", "Ethernet", "eth"};
  return std::none_of(others.begin(), others.end(),
                      [&](std::string_view other) { return nic.starts_with(other); });
}

std::uint64_t pci_device_of_gpu(std::string_view model) {
  constexpr std::uint64_t nvidia = 0x10de;
  const GpuModel* known = find_gpu_model(model);
  if (known == nullptr) return 0;
  return nvidia << 48U | std::uint64_t{pci_device_of(*known)} << 32U;
}

/// Translates the devices of one node, each link once.
class HostReader {
 public:
  HostReader(const Topology& topology, std::uint32_t node, NcclVersion version)
      : topology_(topology), version_(version) {
    const NodePart part = topology.node(node);
    const Graph& graph = part.graph->graph();
    for (DeviceId number = 0; number < graph.devices.size(); ++number) {
      devices_.push_back(part.first_device + number);
    }
    for (const DeviceId device : devices_) {
      for (const LinkId link : topology.links_from(device)) links_.push_back(link);
    }
    std::sort(links_.begin(), links_.end());
  }

  NcclSystem read() {
    add_cpus();
    for (const DeviceKind kind : {DeviceKind::pcie_switch, DeviceKind::gpu, DeviceKind::nic}) {
      for (const DeviceId device : devices_) {
        if (topology_.device(device).kind == kind) add_device(device);
      }
    }
    connect_pci();
    connect_nvlink();
    return std::move(builder_).build(version_);
  }

 private:
  void add_cpus() {
    double between = 0;
    for (const LinkId id : links_) {
      const Link link = topology_.link(id);
      if (link.kind == LinkKind::cpu) between = in_gigabytes_per_second(link.bandwidth);
    }
    for (const DeviceId device : devices_) {
      const Device each = topology_.device(device);
      if (each.kind != DeviceKind::cpu) continue;
      NcclNode node = make_node(NcclNodeKind::cpu, cpus_.size());
      node.cpu = cpu_of_model(each.model, between);
      cpus_.push_back(nodes_[device] = builder_.add(std::move(node)));
    }
    if (cpus_.empty()) {
      NcclNode node = make_node(NcclNodeKind::cpu);
      node.cpu = cpu_of_model({}, 0);
      cpus_.push_back(builder_.add(std::move(node)));
    }
  }

  void add_device(DeviceId device) {
    const Device each = topology_.device(device);
    if (each.kind == DeviceKind::pcie_switch) {
      nodes_[device] = builder_.add(make_node(NcclNodeKind::pci, device));
    } else if (each.kind == DeviceKind::gpu) {
      NcclNode node = make_node(NcclNodeKind::gpu, device);
      node.gpu = {gpus_, gpus_, compute_capability_of(each.model), true};
      node.pci_device = pci_device_of_gpu(each.model);
      ++gpus_;
      nodes_[device] = builder_.add(std::move(node));
      add_net_of_gpu(device);
    } else {
      add_nic(device);
    }
  }

  /// What its ports have in common: the name of the card that the file gives, else its own name.
  std::string card_of(DeviceId nic) const {
    const Device each = topology_.device(nic);
    return each.card.empty() ? fmt::format("/{}", nic) : std::string(each.card);
  }

  /// Of a card with several ports NCCL sees one PCIe link, the first one's (NCCL
  /// src/graph/topo.cc, ncclTopoAddPci).
  bool is_further_port(DeviceId device) const {
    const auto known = nodes_.find(device);
    return topology_.device(device).kind == DeviceKind::nic && known != nodes_.end() &&
           builder_.system().node(known->second).id != device;
  }

  /// GB/s of the link that leaves the host, if there is one.
  std::optional<double> network_bandwidth(DeviceId device) const {
    for (const LinkId id : topology_.links_from(device)) {
      const Link link = topology_.link(id);
      if (link.kind == LinkKind::network) return in_gigabytes_per_second(link.bandwidth);
    }
    return std::nullopt;
  }

  bool is_on_reducing_switch(DeviceId device) const {
    const auto links = topology_.links_from(device);
    return std::any_of(links.begin(), links.end(), [&](LinkId id) {
      const Link link = topology_.link(id);
      return link.kind == LinkKind::network && topology_.device(link.to).reduces;
    });
  }

  /// What the NIC is said to report, else what its network has; of a NIC that is on none: what its
  /// name promises, else 100 Gb/s.
  double nic_bandwidth(DeviceId device) const {
    const std::string_view model = topology_.device(device).model;
    const BytesPerSecond rate = topology_.device(device).port_rate;
    if (rate.value > 0) return in_gigabytes_per_second(rate);
    if (const auto network = network_bandwidth(device)) return *network;
    if (model.find("ConnectX-8") != std::string::npos) return 100;
    if (model.find("ConnectX-7") != std::string::npos) return 50;
    if (model.find("ConnectX-6") != std::string::npos) return 25;
    return 12.5;
  }

  void add_net(std::uint32_t nic, double bandwidth, NcclNet net) {
    NcclNode node = make_node(NcclNodeKind::net);
    net.device = nets_++;
    node.id = static_cast<std::uint64_t>(net.device);
    net.name = fmt::format("{}{}", net.gdr ? "mlx5_" : "eth", net.device);
    if (net.asic == 0) net.asic = node.id + 1;
    net.bandwidth = static_cast<float>(bandwidth);
    node.net = std::move(net);
    builder_.connect_both(nic, builder_.add(std::move(node)), NcclLinkKind::net, bandwidth);
  }

  /// A NIC, or one port of a card that may have been there before.
  void add_nic(DeviceId device) {
    const Device each = topology_.device(device);
    const auto [card, added] = cards_.try_emplace(card_of(device), 0);
    if (added) card->second = builder_.add(make_node(NcclNodeKind::nic, device));
    const std::uint32_t nic = nodes_[device] = card->second;
    NcclNet net;
    net.nics = {nics_++};
    net.gdr = each.gpudirect;
    net.collnet = is_on_reducing_switch(device);
    const auto efa = efa_platform(each.model, topology_.device(topology_.gpus().front()).model);
    if (efa) net.latency = static_cast<float>(efa_latency(*efa));
    const NcclSystem& system = builder_.system();
    for (const std::uint32_t id : system.node(nic).links) {
      ++net.port;
      if (has_verbs(each.model)) net.asic = system.node(system.links()[id].to).net.asic;
    }
    add_net(nic, nic_bandwidth(device), std::move(net));
  }

  /// A GPU that is itself on the network stands for a host with a socket. What is slower than any
  /// common Ethernet is a virtual or shaped link: NCCL cannot read its speed and takes 10 Gb/s.
  void add_net_of_gpu(DeviceId device) {
    const auto bandwidth = network_bandwidth(device);
    if (!bandwidth) return;
    const std::uint32_t nic = builder_.add(make_node(NcclNodeKind::nic, device));
    builder_.connect_both(cpus_.front(), nic, NcclLinkKind::pci, local_bandwidth);
    NcclNet net;
    net.collnet = is_on_reducing_switch(device);
    add_net(nic, std::max(*bandwidth, unknown_net_bandwidth), std::move(net));
  }

  void connect_pci() {
    std::set<DeviceId> attached;
    for (const LinkId id : links_) {
      const Link link = topology_.link(id);
      if (link.kind != LinkKind::pcie || link.reverse < id) continue;
      if (is_further_port(link.from) || is_further_port(link.to)) continue;
      builder_.connect_both(nodes_.at(link.from), nodes_.at(link.to), NcclLinkKind::pci,
                            effective_pci(in_gigabytes_per_second(link.bandwidth)));
      attached.insert(link.from);
      attached.insert(link.to);
    }
    for (const auto& [device, node] : nodes_) {
      if (topology_.device(device).kind == DeviceKind::cpu || attached.contains(device)) continue;
      if (is_further_port(device)) continue;
      builder_.connect_both(node, cpu_beside(device), NcclLinkKind::pci, unattached_pci(device));
    }
  }

  /// The CPU that the device has an NVLink to (Grace, POWER), else the first one.
  std::uint32_t cpu_beside(DeviceId device) const {
    for (const LinkId id : topology_.links_from(device)) {
      const Link link = topology_.link(id);
      if (link.kind != LinkKind::nvlink) continue;
      if (topology_.device(link.to).kind == DeviceKind::cpu) return nodes_.at(link.to);
    }
    return cpus_.front();
  }

  /// The PCIe generation of the GPU's time.
  double unattached_pci(DeviceId device) const {
    const int capability = compute_capability_of(topology_.device(device).model);
    const double doublings = capability >= 100  ? 3
                             : capability >= 90 ? 2
                             : capability >= 80 ? 1
                                                : 0;
    return pci_gen3_bandwidth * std::exp2(doublings);
  }

  void connect_nvlink() {
    for (const LinkId id : links_) {
      const Link link = topology_.link(id);
      if (link.kind != LinkKind::nvlink) continue;
      if (topology_.device(link.from).kind != DeviceKind::gpu) continue;
      const std::uint32_t gpu = nodes_.at(link.from);
      const int capability = builder_.node(gpu).gpu.compute_capability;
      const double bandwidth =
          nvlink_count(link, capability, version_) * nvlink_bandwidth(capability, version_);
      if (topology_.device(link.to).kind == DeviceKind::nvswitch) {
        builder_.connect_to_nvswitch(gpu, bandwidth);
        if (!topology_.device(link.to).reduces) builder_.without_multicast();
      } else if (topology_.device(link.to).kind == DeviceKind::gpu) {
        builder_.connect(gpu, nodes_.at(link.to), NcclLinkKind::nvl, bandwidth);
      } else if (topology_.device(link.to).kind == DeviceKind::cpu) {
        connect_to_cpu(gpu, nodes_.at(link.to), link, bandwidth);
      }
    }
  }

  /// POWER speaks NVLink; anything else is taken to be NVLink-C2C, as fast as the file says.
  void connect_to_cpu(std::uint32_t gpu, std::uint32_t cpu, const Link& link, double nvlink) {
    const bool power = builder_.node(cpu).cpu.architecture == CpuArchitecture::power;
    builder_.connect_both(gpu, cpu, power ? NcclLinkKind::nvl : NcclLinkKind::c2c,
                          power ? nvlink : in_gigabytes_per_second(link.bandwidth));
  }

  const Topology& topology_;
  NcclVersion version_;
  std::vector<DeviceId> devices_;  // of the node
  std::vector<LinkId> links_;      // that start at them, in order
  NcclSystemBuilder builder_;
  std::map<DeviceId, std::uint32_t> nodes_;
  std::vector<std::uint32_t> cpus_;
  std::map<std::string, std::uint32_t> cards_;  // of NICs, by name
  int gpus_ = 0;
  int nics_ = 0;
  int nets_ = 0;
};

}  // namespace

int compute_capability_of(std::string_view model) {
  return known_compute_capability(model).value_or(default_capability);
}

NcclSystem system_from_topology(const Topology& topology, NcclVersion version, std::uint32_t host) {
  return HostReader(topology, host, version).read();
}

NcclSystem keep_nets(NcclSystem system, const NetFilter& filter) {
  for (std::size_t index = system.of_kind(NcclNodeKind::net).size(); index-- > 0;) {
    if (!filter.allows(system.node(system.of_kind(NcclNodeKind::net)[index]).net.name)) {
      system.remove_net(index);
    }
  }
  return system;
}

std::uint32_t host_count(const Topology& topology) {
  return topology.node_count();
}

}  // namespace collsim
