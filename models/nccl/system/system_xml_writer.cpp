#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <pugixml.hpp>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include "models/nccl/system/link_bandwidth.h"
#include "models/nccl/system/system_xml.h"
#include "sim/base/words.h"

namespace collsim {

namespace {

/// A target that is no device of the file: what NCCL writes for NVSwitches that it cannot see.
constexpr const char* hidden_switch = "fffffff:ffff:ff";

struct PciSpeed {
  const char* speed;
  double lane;  ///< GB/s that NCCL takes one lane to carry (src/graph/topo.cc)
};
constexpr std::array speeds{PciSpeed{"2.5 GT/s PCIe", 0.1875}, PciSpeed{"5.0 GT/s PCIe", 0.375},
                            PciSpeed{"8.0 GT/s PCIe", 0.75},   PciSpeed{"16.0 GT/s PCIe", 1.5},
                            PciSpeed{"32.0 GT/s PCIe", 3},     PciSpeed{"64.0 GT/s PCIe", 6}};

/// The slowest generation that has the bandwidth with at most 16 lanes, and how many.
std::pair<const char*, int> pci_speed(double bandwidth) {
  for (const PciSpeed& each : speeds) {
    const double lanes = bandwidth / each.lane;
    if (lanes < 16.001) return {each.speed, std::max(1, static_cast<int>(std::lround(lanes)))};
  }
  return {speeds.back().speed, 16};
}

std::string_view architecture_text(CpuArchitecture architecture) {
  return word_for(architecture, {{CpuArchitecture::x86, "x86_64"},
                                 {CpuArchitecture::arm, "arm64"},
                                 {CpuArchitecture::power, "ppc64"},
                                 {CpuArchitecture::other, "other"}});
}

std::string_view vendor_text(CpuVendor vendor) {
  return word_for(vendor, {{CpuVendor::intel, "GenuineIntel"},
                           {CpuVendor::amd, "AuthenticAMD"},
                           {CpuVendor::zhaoxin, "CentaurHauls"},
                           {CpuVendor::other, "other"}});
}

const char* class_text(NcclNodeKind kind) {
  if (kind == NcclNodeKind::gpu) return "0x030200";
  return kind == NcclNodeKind::nic ? "0x020700" : "0x060400";
}

void set(pugi::xml_node element, const char* name, std::string_view value) {
  element.append_attribute(name).set_value(std::string(value).c_str());
}

class SystemWriter {
 public:
  explicit SystemWriter(const NcclSystem& system) : system_(system) {}

  std::string write() {
    pugi::xml_node root = document_.append_child("system");
    set(root, "version", "1");
    for (const std::uint32_t cpu : system_.of_kind(NcclNodeKind::cpu)) write_cpu(root, cpu);
    std::ostringstream text;
    document_.save(text, "  ", pugi::format_default | pugi::format_no_declaration);
    return text.str();
  }

 private:
  /// Made up, and different for every device.
  static std::string bus(std::uint32_t node) {
    return fmt::format("0000:{:02x}:{:02x}.0", 1 + node / 32, node % 32);
  }

  bool has_several_hosts() const {
    const auto cpus = system_.of_kind(NcclNodeKind::cpu);
    return std::any_of(cpus.begin(), cpus.end(),
                       [&](std::uint32_t cpu) { return system_.node(cpu).host > 0; });
  }

  void write_cpu(pugi::xml_node parent, std::uint32_t index) {
    const NcclNode& node = system_.node(index);
    pugi::xml_node element = parent.append_child("cpu");
    if (has_several_hosts()) set(element, "host_hash", fmt::format("{:#x}", node.host + 1));
    set(element, "numaid", std::to_string(node.id));
    set(element, "arch", architecture_text(node.cpu.architecture));
    set(element, "vendor", vendor_text(node.cpu.vendor));
    set(element, "familyid", std::to_string(node.cpu.family));
    set(element, "modelid", std::to_string(node.cpu.model));
    write_below(element, index);
  }

  /// Devices whose way to the CPU begins with a link to `parent`.
  void write_below(pugi::xml_node element, std::uint32_t parent) {
    for (std::uint32_t index = 0; index < system_.nodes().size(); ++index) {
      const NcclLink* up = system_.link_up(index);
      if (up != nullptr && up->to == parent) write_device(element, index, *up);
    }
  }

  void write_device(pugi::xml_node parent, std::uint32_t index, const NcclLink& up) {
    const NcclNode& node = system_.node(index);
    if (up.bandwidth >= local_bandwidth && node.kind == NcclNodeKind::nic) {
      write_nets(parent.append_child("nic"), node);  // on no bus
      return;
    }
    pugi::xml_node element = parent.append_child("pci");
    set(element, "busid", bus(index));
    set(element, "class", class_text(node.kind));
    int shift = 48;
    for (const char* part : {"vendor", "device", "subsystem_vendor", "subsystem_device"}) {
      set(element, part, fmt::format("0x{:04x}", node.pci_device >> shift & 0xffffU));
      shift -= 16;
    }
    const auto [speed, lanes] = pci_speed(up.bandwidth);
    set(element, "link_speed", speed);
    set(element, "link_width", std::to_string(lanes));
    if (node.kind == NcclNodeKind::gpu) write_gpu(element.append_child("gpu"), node);
    if (node.kind == NcclNodeKind::nic) write_nets(element.append_child("nic"), node);
    if (node.kind == NcclNodeKind::pci) write_below(element, index);
  }

  void write_gpu(pugi::xml_node element, const NcclNode& node) const {
    set(element, "dev", std::to_string(node.gpu.device));
    set(element, "sm", std::to_string(node.gpu.compute_capability));
    set(element, "rank", std::to_string(node.gpu.rank));
    set(element, "gdr", node.gpu.gdr ? "1" : "0");
    const double per_link = nvlink_bandwidth(node.gpu.compute_capability, default_nccl_version);
    for (const std::uint32_t id : node.links) {
      const NcclLink& link = system_.links()[id];
      if (link.kind == NcclLinkKind::nvl) {
        const NcclNodeKind peer = system_.node(link.to).kind;
        pugi::xml_node nvlink = element.append_child("nvlink");
        set(nvlink, "target", peer == NcclNodeKind::nvs ? hidden_switch : bus(link.to));
        set(nvlink, "count", std::to_string(std::lround(link.bandwidth / per_link)));
        set(nvlink, "tclass",
            peer == NcclNodeKind::nvs   ? "0x068000"
            : peer == NcclNodeKind::cpu ? "0x068001"
                                        : "0x030200");
      } else if (link.kind == NcclLinkKind::c2c) {
        pugi::xml_node c2c = element.append_child("c2c");
        set(c2c, "bw", std::to_string(std::lround(1000 * link.bandwidth)));
        set(c2c, "count", "1");
      }
    }
  }

  void write_nets(pugi::xml_node element, const NcclNode& nic) const {
    for (const std::uint32_t id : nic.links) {
      const NcclNode& node = system_.node(system_.links()[id].to);
      if (node.kind != NcclNodeKind::net) continue;
      pugi::xml_node net = element.append_child("net");
      set(net, "name", node.net.name);
      set(net, "dev", std::to_string(node.net.device));
      set(net, "latency", fmt::format("{}", node.net.latency));
      set(net, "speed", std::to_string(std::lround(8000 * node.net.bandwidth)));
      set(net, "port", std::to_string(node.net.port));
      set(net, "guid", fmt::format("0x{:x}", node.net.asic));
      set(net, "maxconn", "65536");
      set(net, "gdr", node.net.gdr ? "1" : "0");
      if (node.net.collnet) set(net, "coll", "1");
    }
  }

  const NcclSystem& system_;
  pugi::xml_document document_;
};

}  // namespace

std::string nccl_topology_text(const NcclSystem& system) {
  return SystemWriter(system).write();
}

}  // namespace collsim
