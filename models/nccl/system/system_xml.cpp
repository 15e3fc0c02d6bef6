#include "models/nccl/system/system_xml.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "models/nccl/system/cpu_generation.h"
#include "models/nccl/system/link_bandwidth.h"
#include "models/nccl/system/pci_bus_id.h"
#include "models/nccl/system/system_completion.h"
#include "sim/base/xml_file.h"

namespace collsim {

namespace {

constexpr long long largest = std::numeric_limits<std::int32_t>::max();
/// More than any machine has; NCCL itself reads 256 elements.
constexpr std::size_t device_limit = 4'096;
constexpr std::size_t cpu_limit = 256;
constexpr int depth_limit = 16;
constexpr std::uint64_t without_function = ~std::uint64_t{0xf};

/// GB/s of one PCIe lane, by how Linux writes the speed of a link. Unknown: gen3.
double lane_bandwidth(const std::string& speed) {
  // NCCL src/graph/topo.cc: effective rate of a lane, in 1/80 GB/s.
  static const std::map<std::string, double, std::less<>> by_speed{
      {"2.5 GT/s", 15},   {"5 GT/s", 30},   {"5.0 GT/s", 30},   {"8 GT/s", 60},
      {"8.0 GT/s", 60},   {"16 GT/s", 120}, {"16.0 GT/s", 120}, {"32 GT/s", 240},
      {"32.0 GT/s", 240}, {"64 GT/s", 480}, {"64.0 GT/s", 480}};
  std::string_view bare = speed;
  if (bare.ends_with(" PCIe")) bare.remove_suffix(5);
  const auto found = by_speed.find(bare);
  return (found == by_speed.end() ? 60 : found->second) / 80;
}

NcclNodeKind kind_of_class(const std::string& pci_class) {
  constexpr std::array<std::pair<std::string_view, NcclNodeKind>, 5> classes{
      {{"0x060400", NcclNodeKind::pci},
       {"0x068000", NcclNodeKind::nvs},
       {"0x068001", NcclNodeKind::cpu},
       {"0x03", NcclNodeKind::gpu},
       {"0x02", NcclNodeKind::nic}}};
  for (const auto& [prefix, kind] : classes) {
    if (pci_class.starts_with(prefix)) return kind;
  }
  return NcclNodeKind::pci;
}

/// Walks the file twice: devices, then the NVLinks and chip-to-chip links between them.
class TopologyReader {
 public:
  explicit TopologyReader(const TextFile& text) : file_(text, "system") {}

  NcclTopologyFile read(NcclVersion version, const HostHint& hint) {
    version_ = version;
    refuse_other_makers();
    notes_ = complete_topology(file_, hint);
    ranked_ = file_.root().find_node([](const pugi::xml_node& element) {
      return element.name() == std::string_view("gpu") && !element.attribute("rank").empty();
    });
    for (const pugi::xml_node& cpu : file_.root().children("cpu")) add_cpu(cpu);
    if (gpus_.empty()) file_.reject(file_.root(), "no GPU", "at least one <gpu> below <cpu><pci>");
    for (const auto& [element, gpu] : gpus_) add_fast_links(element, gpu);
    check_hosts();
    add_warnings();
    return {std::move(builder_).build(version), std::move(warnings_), std::move(notes_)};
  }

 private:
  /// A device of PCI, which is another one on another host.
  using BusId = std::pair<std::uint32_t, std::uint64_t>;

  /// Tools of other makers write files like NCCL's, whose numbers mean other things.
  void refuse_other_makers() const {
    constexpr unsigned nvidia = 0x10de;
    file_.root().find_node([&](const pugi::xml_node& element) {
      if (element.name() != std::string_view("gpu")) return false;
      for (const char* sign : {"gcn", "xgmi"}) {
        const bool found = element.attribute(sign) || element.child(sign);
        if (found) reject_maker(element, fmt::format("'{}' in <gpu>", sign), "RCCL's dump");
      }
      const pugi::xml_attribute vendor = element.parent().attribute("vendor");
      if (vendor.as_uint(nvidia) != nvidia && vendor.as_uint() != 0) {
        reject_maker(element.parent(), fmt::format("vendor=\"{}\"", vendor.value()), "a dump");
      }
      return false;
    });
  }

  [[noreturn]] void reject_maker(const pugi::xml_node& element, const std::string& sign,
                                 const char* what) const {
    file_.reject(element,
                 fmt::format("{}: this is {} of a machine without NVIDIA's GPUs, such as AMD's or "
                             "Hygon's",
                             sign, what),
                 "a dump of NCCL's, of a machine with NVIDIA's GPUs");
  }

  void add_warnings() {
    if (unranked_ > 0) {
      warnings_.push_back(fmt::format(
          "<gpu> without a rank beside others with one: {} left out, as not taking part.",
          unranked_));
    }
    if (lost_links_ > 0) {
      warnings_.push_back(
          fmt::format("<nvlink> to GPUs that the file does not have: {} left out.", lost_links_));
    }
    if (own_links_ > 0) {
      warnings_.push_back(fmt::format(
          "<nvlink> from a GPU to itself: {} left out, as no way to another GPU.", own_links_));
    }
    if (twin_cpus_ > 0) {
      warnings_.push_back(fmt::format(
          "<cpu> with the numaid of another one of its host: {} taken for CPUs of their own, as "
          "NCCL does.",
          twin_cpus_));
    }
  }

  /// Hosts of one file are joined by NVLink, over NVSwitches outside of them (MNNVL).
  void check_hosts() const {
    if (hosts_.size() < 2) return;
    for (const auto& [hash, host] : hosts_) {
      const bool joined =
          std::any_of(gpus_.begin(), gpus_.end(), [&, own = host.number](auto& gpu) {
            const NcclNode& node = builder_.system().node(gpu.second);
            return node.host == own && is_on_nvswitch(node);
          });
      if (!joined) {
        file_.reject(host.first_cpu,
                     fmt::format("host_hash=\"{}\" in <cpu>: a host of several whose GPUs have no "
                                 "<nvlink> to an NVSwitch",
                                 hash),
                     "one host, or hosts that NVSwitches join (MNNVL)");
      }
    }
  }

  bool is_on_nvswitch(const NcclNode& gpu) const {
    const NcclSystem& system = builder_.system();
    return std::any_of(gpu.links.begin(), gpu.links.end(), [&](std::uint32_t id) {
      return system.node(system.links()[id].to).kind == NcclNodeKind::nvs;
    });
  }

  std::uint32_t add(const pugi::xml_node& element, NcclNode node) {
    if (builder_.system().nodes().size() >= device_limit) {
      file_.reject(element, fmt::format("more than {} devices", device_limit), "a smaller machine");
    }
    node.host = host_;
    return builder_.add(std::move(node));
  }

  /// A file that says no host for a CPU means the first one.
  std::uint32_t host_of(const pugi::xml_node& cpu) {
    const std::string hash = file_.text_or(cpu, "host_hash", "");
    if (hash.empty()) return 0;
    return hosts_.try_emplace(hash, Host{static_cast<std::uint32_t>(hosts_.size()), cpu})
        .first->second.number;
  }

  void add_cpu(const pugi::xml_node& element) {
    NcclNode node = make_node(NcclNodeKind::cpu);
    node.id = static_cast<std::uint64_t>(file_.integer(element, "numaid", -1, largest));
    host_ = host_of(element);
    if (!numa_nodes_.emplace(host_, node.id).second) ++twin_cpus_;
    node.cpu = read_cpu(element);
    const std::uint32_t cpu = add(element, std::move(node));
    if (++cpus_ > cpu_limit) {
      file_.reject(element, fmt::format("more than {} CPUs", cpu_limit), "a smaller machine");
    }
    for (const pugi::xml_node& child : element.children()) {
      const std::string_view name = child.name();
      if (name == "pci") add_pci(child, cpu, cpu, 1);
      if (name == "nic") add_virtual_nic(child, cpu);
    }
  }

  NcclCpu read_cpu(const pugi::xml_node& element) const {
    NcclCpu cpu;
    const std::string architecture = file_.text(element, "arch");
    if (architecture == "arm64") cpu.architecture = CpuArchitecture::arm;
    if (architecture == "ppc64") cpu.architecture = CpuArchitecture::power;
    if (architecture != "x86_64") return cpu;
    cpu.architecture = CpuArchitecture::x86;
    const std::string vendor = file_.text(element, "vendor");
    if (vendor == "GenuineIntel") cpu.vendor = CpuVendor::intel;
    if (vendor == "AuthenticAMD") cpu.vendor = CpuVendor::amd;
    if (vendor == "CentaurHauls" || vendor == "  Shanghai  ") cpu.vendor = CpuVendor::zhaoxin;
    cpu.family = static_cast<int>(file_.integer_or(element, "familyid", 0, 0, largest));
    if (cpu.vendor == CpuVendor::amd) cpu.family = decoded_amd_family(cpu.family);
    cpu.model = static_cast<int>(file_.integer_or(element, "modelid", 0, 0, largest));
    return cpu;
  }

  /// A NIC that is on no PCIe bus, of which a host has one for all its ports.
  void add_virtual_nic(const pugi::xml_node& element, std::uint32_t cpu) {
    const auto known = virtual_nics_.find(host_);
    if (known != virtual_nics_.end()) {
      add_nets(element, known->second);
      return;
    }
    const std::uint32_t nic = add(element, make_node(NcclNodeKind::nic));
    virtual_nics_[host_] = nic;
    builder_.connect_both(cpu, nic, NcclLinkKind::pci, local_bandwidth);
    add_nets(element, nic);
  }

  void add_pci(const pugi::xml_node& element, std::uint32_t parent, std::uint32_t cpu, int depth) {
    if (depth > depth_limit) {
      file_.reject(element, fmt::format("more than {} <pci> inside each other", depth_limit),
                   "a PCIe tree that a machine can have");
    }
    const std::uint64_t id = pci_bus_id(file_.text(element, "busid"));
    std::optional<std::uint32_t> node;
    if (const pugi::xml_node gpu = element.child("gpu")) {
      check_alone(element, gpu);
      if (ranked_ && gpu.attribute("rank").empty()) {
        ++unranked_;
        return;
      }
      node = add_gpu(gpu, id, cpu);
      builder_.node(*node).pci_device = device(element);
    } else if (const pugi::xml_node nic = element.child("nic")) {
      node = add_nic(nic, id & without_function);
    } else if (kind_of_class(file_.text(element, "class")) == NcclNodeKind::pci) {
      node = add(element, make_node(NcclNodeKind::pci, id));
      builder_.node(*node).pci_device = device(element);
      for (const pugi::xml_node& child : element.children("pci"))
        add_pci(child, *node, cpu, depth + 1);
    }
    if (!node) return;
    long long width = file_.integer_or(element, "link_width", 0, 0, 64);
    if (width == 0) width = 16;
    builder_.connect_both(
        *node, parent, NcclLinkKind::pci,
        static_cast<double>(width) * lane_bandwidth(file_.text_or(element, "link_speed", "")));
  }

  /// NCCL reads one <gpu> of a <pci> and nothing beside it.
  void check_alone(const pugi::xml_node& pci, const pugi::xml_node& gpu) const {
    for (const pugi::xml_node& other : pci.children()) {
      const std::string_view name = other.name();
      if (other == gpu || (name != "gpu" && name != "nic" && name != "pci")) continue;
      file_.reject(other, fmt::format("<{}> beside a <gpu> in one <pci>", name),
                   "a <pci> of its own for every GPU, with nothing else in it");
    }
  }

  std::uint64_t device(const pugi::xml_node& element) const {
    std::uint64_t device = 0;
    for (const char* part : {"vendor", "device", "subsystem_vendor", "subsystem_device"}) {
      device =
          device << 16 | static_cast<std::uint64_t>(file_.integer_or(element, part, 0, 0, 0xffff));
    }
    return device;
  }

  std::uint32_t add_gpu(const pugi::xml_node& element, std::uint64_t id, std::uint32_t cpu) {
    NcclNode node = make_node(NcclNodeKind::gpu, id);
    node.gpu.device = static_cast<int>(file_.integer(element, "dev", 0, largest));
    node.gpu.rank = static_cast<int>(
        file_.integer_or(element, "rank", static_cast<long long>(gpus_.size()), 0, largest));
    node.gpu.compute_capability = static_cast<int>(file_.integer(element, "sm", 30, 999));
    node.gpu.gdr = file_.integer_or(element, "gdr", 0, 0, 1) != 0;
    const std::uint32_t gpu = add(element, std::move(node));
    gpus_.emplace_back(element, gpu);
    gpu_by_bus_[{host_, id}] = gpu;
    cpu_of_gpu_[gpu] = cpu;
    return gpu;
  }

  /// The NIC's node if it is new: functions of one card share theirs.
  std::optional<std::uint32_t> add_nic(const pugi::xml_node& element, std::uint64_t id) {
    const auto known = nic_by_bus_.find({host_, id});
    if (known != nic_by_bus_.end()) {
      add_nets(element, known->second);
      return std::nullopt;
    }
    const std::uint32_t nic = add(element, make_node(NcclNodeKind::nic, id));
    nic_by_bus_[{host_, id}] = nic;
    add_nets(element, nic);
    return nic;
  }

  void add_nets(const pugi::xml_node& nic, std::uint32_t nic_node) {
    for (const pugi::xml_node& element : nic.children("net")) {
      if (element.attribute("dev").empty()) continue;
      NcclNode node = make_node(NcclNodeKind::net);
      node.net.device = static_cast<int>(file_.integer(element, "dev", 0, largest));
      node.id = static_cast<std::uint64_t>(node.net.device);
      node.net.name = file_.text_or(element, "name", fmt::format("net{}", node.net.device));
      node.net.asic = pci_bus_id(file_.text_or(element, "guid", std::to_string(node.net.device)));
      node.net.port = static_cast<int>(file_.integer_or(element, "port", 0, 0, largest));
      node.net.nics = {nets_++};
      const long long speed = file_.integer_or(element, "speed", 0, -1, largest);
      node.net.rated = !element.attribute("speed").empty();
      node.net.bandwidth = static_cast<float>(speed <= 0 ? 10'000 : speed) / 8000.0F;
      node.net.latency = static_cast<float>(file_.number_or(element, "latency", 0));
      node.net.gdr = file_.integer_or(element, "gdr", 0, 0, 1) != 0;
      node.net.collnet = file_.integer_or(element, "coll", 0, 0, 1) != 0;
      const double bandwidth = node.net.bandwidth;
      builder_.connect_both(nic_node, add(element, std::move(node)), NcclLinkKind::net, bandwidth);
    }
  }

  void add_fast_links(const pugi::xml_node& element, std::uint32_t gpu) {
    const double per_link = nvlink_bandwidth(builder_.node(gpu).gpu.compute_capability, version_);
    for (const pugi::xml_node& link : element.children("nvlink")) {
      add_nvlink(link, gpu, per_link * static_cast<double>(file_.integer(link, "count", 1, 1024)));
    }
    for (const pugi::xml_node& link : element.children("c2c")) {
      const double bandwidth = static_cast<double>(file_.integer(link, "count", 1, 1024)) *
                               static_cast<double>(file_.integer(link, "bw", 1, largest)) / 1000;
      builder_.connect_both(gpu, cpu_of_gpu_.at(gpu), NcclLinkKind::c2c, bandwidth);
    }
  }

  void add_nvlink(const pugi::xml_node& link, std::uint32_t gpu, double bandwidth) {
    switch (kind_of_class(file_.text(link, "tclass"))) {
      case NcclNodeKind::gpu: {
        // Each end states its own direction.
        const auto peer =
            gpu_by_bus_.find({builder_.node(gpu).host, pci_bus_id(file_.text(link, "target"))});
        if (peer == gpu_by_bus_.end()) {
          ++lost_links_;
          break;
        }
        if (peer->second == gpu) {
          ++own_links_;
          break;
        }
        builder_.connect(gpu, peer->second, NcclLinkKind::nvl, bandwidth);
        break;
      }
      case NcclNodeKind::cpu:
        builder_.connect_both(gpu, cpu_of_gpu_.at(gpu), NcclLinkKind::nvl, bandwidth);
        break;
      default:
        builder_.connect_to_nvswitch(gpu, bandwidth);
    }
  }

  struct Host {
    std::uint32_t number;
    pugi::xml_node first_cpu;
  };

  XmlFile file_;
  NcclVersion version_;
  NcclSystemBuilder builder_;
  std::vector<std::string> warnings_;
  std::vector<std::string> notes_;
  std::size_t unranked_ = 0;
  std::size_t lost_links_ = 0;
  std::size_t own_links_ = 0;
  std::size_t twin_cpus_ = 0;
  std::size_t cpus_ = 0;
  int nets_ = 0;
  bool ranked_ = false;
  std::uint32_t host_ = 0;  // of the <cpu> that is being read
  std::map<std::string, Host> hosts_;
  std::set<std::pair<std::uint32_t, std::uint64_t>> numa_nodes_;
  std::map<std::uint32_t, std::uint32_t> virtual_nics_;  // by host
  std::vector<std::pair<pugi::xml_node, std::uint32_t>> gpus_;
  std::map<BusId, std::uint32_t> gpu_by_bus_;
  std::map<BusId, std::uint32_t> nic_by_bus_;
  std::map<std::uint32_t, std::uint32_t> cpu_of_gpu_;
};

}  // namespace

NcclSystem read_nccl_topology(const std::filesystem::path& path, NcclVersion version) {
  return read_nccl_topology(read_text_file(path, "an XML file"), version);
}

NcclSystem read_nccl_topology(const TextFile& text, NcclVersion version) {
  return read_nccl_topology_file(text, version).system;
}

NcclTopologyFile read_nccl_topology_file(const TextFile& text, NcclVersion version,
                                         const HostHint& hint) {
  return TopologyReader(text).read(version, hint);
}

}  // namespace collsim
