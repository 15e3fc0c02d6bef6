#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>

#include "models/imports/import.h"
#include "models/nccl/system/pci_bus_id.h"
#include "sim/base/number.h"
#include "sim/base/text.h"
#include "sim/base/xml_file.h"

namespace collsim {

namespace {

using Element = pugi::xml_node;

constexpr std::uint32_t nvidia_vendor = 0x10de;
constexpr std::size_t bridge_limit = 32;
constexpr std::size_t element_limit = 4'000;
constexpr std::size_t nvlink_object_limit = 256;
/// hwloc's numbers of kinds of OS devices (hwloc 2, include/hwloc.h).
constexpr std::string_view network_device = "2";
constexpr std::string_view rdma_device = "3";

/// Class and ids of a PCI device: hwloc writes "0302 [10de:2330] [10de:16c1] a1".
struct PciType {
  std::uint32_t device_class = 0;
  std::uint32_t vendor = 0;
  std::uint32_t device = 0;
  std::uint32_t subsystem_vendor = 0;
  std::uint32_t subsystem_device = 0;
};

bool is_type(const Element& object, std::string_view type) {
  return object.name() == std::string_view("object") && object.attribute("type").value() == type;
}

std::string_view info_of(const Element& object, const char* name) {
  return object.find_child_by_attribute("info", "name", name).attribute("value").value();
}

std::optional<PciType> read_pci_type(std::string_view text) {
  std::array<std::uint32_t, 5> numbers{};
  constexpr std::array<std::string_view, 5> before{"", " [", ":", "] [", ":"};
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (!text.starts_with(before[i])) return std::nullopt;
    text.remove_prefix(before[i].size());
    constexpr std::size_t digits = 4;
    const std::string_view number = text.substr(0, digits);
    const auto value = parse_hexadecimal<std::uint32_t>(number);
    if (number.size() < digits || !value) return std::nullopt;
    numbers[i] = *value;
    text.remove_prefix(digits);
  }
  return PciType{numbers[0], numbers[1], numbers[2], numbers[3], numbers[4]};
}

/// A PCIe link as Linux writes it.
struct PcieLink {
  std::string_view speed;
  int width;
};

/// The generations that are told apart by GB/s of a lane (hwloc 2, hwloc/pci-common.c).
constexpr std::array<std::pair<double, std::string_view>, 6> lanes{{{0.25, "2.5 GT/s PCIe"},
                                                                    {0.5, "5.0 GT/s PCIe"},
                                                                    {0.984615, "8.0 GT/s PCIe"},
                                                                    {1.969231, "16.0 GT/s PCIe"},
                                                                    {3.938462, "32.0 GT/s PCIe"},
                                                                    {7.876923, "64.0 GT/s PCIe"}}};

/// The widest link that carries so many GB/s; nothing where there is none, as for 0, which is
/// hwloc's unknown.
std::optional<PcieLink> pcie_link_of(double bandwidth) {
  for (const int width : {16, 8, 4, 2, 1}) {
    for (const auto& [lane, speed] : lanes) {
      if (std::abs(bandwidth - lane * width) < 0.02 * lane * width) return PcieLink{speed, width};
    }
  }
  return std::nullopt;
}

PcieLink full_link(const GpuModel& model) {
  const auto generation = static_cast<std::size_t>(model.pcie_generation);
  return {lanes[std::min(generation, lanes.size()) - 1].second, 16};
}

/// MB/s of one NVLink in one direction by its generation, as hwloc has it from the driver.
double hwloc_nvlink(const GpuModel& model) {
  if (model.compute_capability >= 100) return 50'000;
  return model.compute_capability <= 60 ? 20'000 : 25'000;
}

/// Writes what NCCL would find on the machine: the file of `nccl_topology.cpp`.
class LstopoReader {
 public:
  LstopoReader(const TextFile& text, const ImportOptions& options)
      : file_(text, "topology"), options_(options) {}

  std::string read() {
    find_devices();
    if (gpus_.empty()) {
      file_.reject(file_.root(), "no PCI device of NVIDIA's with class 0300 or 0302",
                   "what `lstopo --of xml` writes on a machine with GPUs");
    }
    for (const Element& gpu : gpus_) place(gpu);
    for (const Element& nic : nics_) add_net(place(nic), nic);
    add_nvlinks();
    if (unplaced_ > 0) {
      warnings.push_back(fmt::format(
          "PCI devices below no NUMA node: {} taken to be on the first one.", unplaced_));
    }
    if (asleep_ > 0) {
      warnings.push_back(
          fmt::format("GPUs whose PCIe ran at 2.5 GT/s, to save power: {} taken to be as fast as "
                      "their model is.",
                      asleep_));
    }
    std::ostringstream text;
    out_.save(text, " ", pugi::format_default | pugi::format_no_declaration);
    return text.str();
  }

  /// What all GPUs are, if the file says it.
  const GpuModel* model() const { return model_of(gpus_.front()); }

  std::vector<std::string> warnings{};

 private:
  PciType pci_type(const Element& object) const {
    const std::string text = file_.text(object, "pci_type");
    const auto type = read_pci_type(text);
    if (!type) {
      file_.reject(object, fmt::format("pci_type=\"{}\" in <object>", text),
                   "class and ids in hexadecimal, as in \"0302 [10de:2330] [10de:16c1] a1\"");
    }
    return *type;
  }

  bool has_os_device(const Element& device, std::string_view kind) const {
    for (const Element& child : device.children("object")) {
      if (is_type(child, "OSDev") && child.attribute("osdev_type").value() == kind) return true;
    }
    return false;
  }

  /// NCCL takes NICs with RDMA, and only where there is none the others.
  void find_devices() {
    std::vector<Element> all;
    file_.root().find_node([&](const Element& object) {
      if (is_type(object, "PCIDev")) all.push_back(object);
      if (is_type(object, "NUMANode") && !first_numa_node_) first_numa_node_ = object;
      if (is_type(object, "Machine") && !machine_) machine_ = object;
      const unsigned index = object.attribute("gp_index").as_uint();
      if (index != 0) objects_.emplace(index, object);
      return false;
    });
    const bool rdma = std::any_of(all.begin(), all.end(), [&](const Element& device) {
      return has_os_device(device, rdma_device);
    });
    for (const Element& device : all) {
      const PciType type = pci_type(device);
      const bool graphics = type.device_class == 0x0300 || type.device_class == 0x0302;
      const bool network = type.device_class == 0x0200 || type.device_class == 0x0207;
      if (graphics && type.vendor == nvidia_vendor) gpus_.push_back(device);
      if (network && has_os_device(device, rdma ? rdma_device : network_device)) {
        nics_.push_back(device);
      }
    }
    std::stable_sort(gpus_.begin(), gpus_.end(), [](const Element& a, const Element& b) {
      return pci_bus_id(a.attribute("pci_busid").value()) <
             pci_bus_id(b.attribute("pci_busid").value());
    });
  }

  const GpuModel* model_of(const Element& gpu) const {
    if (options_.gpu != nullptr) return options_.gpu;
    if (const GpuModel* model =
            gpu_model_of_pci_device(static_cast<std::uint16_t>(pci_type(gpu).device))) {
      return model;
    }
    for (const Element& child : gpu.children("object")) {
      const std::string_view name = info_of(child, "GPUModel");
      if (!name.empty()) return find_gpu_model(name);
    }
    return nullptr;
  }

  /// The bridges above a device, the nearest first.
  std::vector<Element> bridges_above(const Element& device) const {
    std::vector<Element> bridges;
    for (Element up = device.parent(); is_type(up, "Bridge"); up = up.parent()) {
      if (up.attribute("pci_busid").empty()) break;  // the bridge of the host
      if (bridges.size() == bridge_limit) {
        file_.reject(device, fmt::format("more than {} bridges above a device", bridge_limit),
                     "a PCIe tree that a machine can have");
      }
      bridges.push_back(up);
    }
    return bridges;
  }

  /// Adds a device below its switches, of which NCCL counts the upstream port: every second bridge.
  Element place(const Element& device) {
    const std::vector<Element> bridges = bridges_above(device);
    Element parent = cpu_of(device);
    for (std::size_t i = bridges.size() / 2 * 2; i >= 2; i -= 2) {
      const Element& bridge = bridges[i - 1];
      auto known = switches_.find(bridge.offset_debug());
      if (known == switches_.end()) {
        known = switches_.emplace(bridge.offset_debug(), add_pci(parent, bridge)).first;
      }
      parent = known->second;
    }
    const Element added = add_pci(parent, device);
    placed_[device.offset_debug()] = added;
    return added;
  }

  Element add_pci(Element parent, const Element& object) {
    if (++elements_ > element_limit) {
      file_.reject(object, fmt::format("more than {} devices and switches", element_limit),
                   "one machine");
    }
    const PciType type = pci_type(object);
    Element pci = parent.append_child("pci");
    set(pci, "busid", file_.text(object, "pci_busid"));
    set(pci, "class", fmt::format("0x{:04x}00", type.device_class));
    set(pci, "vendor", fmt::format("0x{:04x}", type.vendor));
    set(pci, "device", fmt::format("0x{:04x}", type.device));
    set(pci, "subsystem_vendor", fmt::format("0x{:04x}", type.subsystem_vendor));
    set(pci, "subsystem_device", fmt::format("0x{:04x}", type.subsystem_device));
    auto link = pcie_link_of(file_.number_or(object, "pci_link_speed", 0));
    const bool graphics = type.device_class == 0x0300 || type.device_class == 0x0302;
    const GpuModel* model = graphics ? model_of(object) : nullptr;
    if (model != nullptr && link && link->speed == lanes.front().second) {
      link = full_link(*model);
      ++asleep_;
    }
    if (link) {
      set(pci, "link_speed", std::string(link->speed));
      set(pci, "link_width", std::to_string(link->width));
    }
    return pci;
  }

  static void set(Element element, const char* attribute, const std::string& value) {
    element.append_attribute(attribute) = value.c_str();
  }

  void add_net(Element pci, const Element& nic) {
    Element net = pci.append_child("nic").append_child("net");
    set(net, "dev", std::to_string(nets_++));
    set(net, "gdr", has_os_device(nic, rdma_device) ? "1" : "0");
    for (const Element& child : nic.children("object")) {
      const std::string_view kind = child.attribute("osdev_type").value();
      if (kind == rdma_device || (kind == network_device && net.attribute("name").empty())) {
        net.remove_attribute("name");
        set(net, "name", child.attribute("name").value());
      }
    }
  }

  static bool is_numa_node(const Element& object) {
    return is_type(object, "NUMANode") &&
           object.attribute("subtype").value() != std::string_view("GPUMemory");
  }

  /// The NUMA node that a device is below (hwloc 1) or beside (hwloc 2).
  Element numa_node_of(const Element& device) {
    for (Element up = device.parent(); up; up = up.parent()) {
      if (is_numa_node(up)) return up;
      for (const Element& child : up.children("object")) {
        if (is_numa_node(child)) return child;
      }
    }
    if (first_numa_node_) ++unplaced_;
    return first_numa_node_;
  }

  Element cpu_of(const Element& device) {
    const Element numa_node = numa_node_of(device);
    const std::ptrdiff_t key = numa_node ? numa_node.offset_debug() : -1;
    const auto known = cpus_.find(key);
    if (known != cpus_.end()) return known->second;
    if (!system_) {
      system_ = out_.append_child("system");
      set(system_, "version", "1");
    }
    Element cpu = system_.append_child("cpu");
    set(cpu, "numaid",
        numa_node ? std::to_string(file_.integer(numa_node, "os_index", 0, 1 << 20)) : "-1");
    describe_cpu(cpu, package_of(numa_node));
    cpus_[key] = cpu;
    return cpu;
  }

  Element package_of(const Element& numa_node) const {
    const auto is_package = [](const Element& object) {
      return is_type(object, "Package") || is_type(object, "Socket");
    };
    for (Element up = numa_node.parent(); up; up = up.parent()) {
      if (is_package(up)) return up;
    }
    const Element below = numa_node.find_node(is_package);
    return below ? below : file_.root().find_node(is_package);
  }

  void describe_cpu(Element cpu, const Element& package) const {
    std::string_view architecture = info_of(machine_, "Architecture");
    if (architecture.empty() || architecture == "amd64") architecture = "x86_64";
    if (architecture == "aarch64") architecture = "arm64";
    if (architecture.starts_with("ppc64")) architecture = "ppc64";
    set(cpu, "arch", std::string(architecture));
    set(cpu, "vendor", std::string(info_of(package, "CPUVendor")));
    constexpr std::array<std::pair<const char*, const char*>, 2> numbers{
        {{"familyid", "CPUFamilyNumber"}, {"modelid", "CPUModelNumber"}}};
    for (const auto& [attribute, name] : numbers) {
      const unsigned number = leading_number<unsigned>(info_of(package, name)).value_or(0);
      set(cpu, attribute, std::to_string(number & 0xffffU));
    }
  }

  /// The numbers in all elements of a name below another; hwloc breaks long lists.
  std::vector<std::uint64_t> numbers_in(const Element& list, const char* name) const {
    std::vector<std::uint64_t> numbers;
    for (const Element& part : list.children(name)) {
      for (const std::string& word : split(part.child_value(), ' ')) {
        const std::string_view digits = std::string_view(word).substr(word.find(':') + 1);
        const auto number = parse_number<std::uint64_t>(digits);
        if (!number) {
          file_.reject(part, fmt::format("'{}' in <{}>", word, name), "whole numbers");
        }
        numbers.push_back(*number);
      }
    }
    return numbers;
  }

  /// The place of a GPU among GPUs; all others are one more, an NVSwitch.
  std::optional<std::size_t> gpu_of(std::uint64_t index) const {
    const auto found = objects_.find(index);
    if (found == objects_.end()) return std::nullopt;
    const Element device =
        is_type(found->second, "PCIDev") ? found->second : found->second.parent();
    const auto gpu = std::find(gpus_.begin(), gpus_.end(), device);
    if (gpu == gpus_.end()) return std::nullopt;
    return static_cast<std::size_t>(gpu - gpus_.begin());
  }

  /// NVLinks where hwloc asked the driver for them; else they are added as the model has them.
  void add_nvlinks() {
    for (const char* kind : {"distances2", "distances2hetero"}) {
      const Element list = file_.root().find_child_by_attribute(kind, "name", "NVLinkBandwidth");
      if (list) read_nvlinks(list);
    }
  }

  void read_nvlinks(const Element& list) {
    const std::vector<std::uint64_t> indexes = numbers_in(list, "indexes");
    const std::vector<std::uint64_t> values = numbers_in(list, "u64values");
    if (indexes.size() > nvlink_object_limit || values.size() != indexes.size() * indexes.size()) {
      file_.reject(list, fmt::format("{} objects and {} values", indexes.size(), values.size()),
                   fmt::format("a value for every two of at most {} objects", nvlink_object_limit));
    }
    for (std::size_t i = 0; i < gpus_.size(); ++i) add_gpu(i);
    for (std::size_t from = 0; from < indexes.size(); ++from) {
      const auto gpu = gpu_of(indexes[from]);
      if (!gpu) continue;
      std::uint32_t to_switches = 0;
      for (std::size_t to = 0; to < indexes.size(); ++to) {
        if (to == from) continue;
        const std::uint32_t links = links_of(*gpu, values[from * indexes.size() + to]);
        const auto peer = gpu_of(indexes[to]);
        if (!peer) {
          to_switches += links;
        } else if (links > 0 && *peer != *gpu) {
          add_nvlink(*gpu, gpus_[*peer].attribute("pci_busid").value(), links, "0x030200");
        }
      }
      if (to_switches > 0) add_nvlink(*gpu, "fffffff:ffff:ff", to_switches, "0x068000");
    }
  }

  std::uint32_t links_of(std::size_t gpu, std::uint64_t bandwidth) const {
    const GpuModel& model = *model_of(gpus_[gpu]);
    const double links = static_cast<double>(bandwidth) / hwloc_nvlink(model);
    return static_cast<std::uint32_t>(
        std::min(std::round(links), static_cast<double>(model.nvlinks)));
  }

  void add_gpu(std::size_t number) {
    const Element& object = gpus_[number];
    const GpuModel* model = model_of(object);
    if (model == nullptr) {
      file_.reject(object,
                   fmt::format("pci_type=\"{}\" in <object>: a GPU that is not known",
                               object.attribute("pci_type").value()),
                   fmt::format("`collsim topo import FILE --gpu NAME`, with NAME one of {}",
                               gpu_model_names()));
    }
    Element pci = placed_.at(object.offset_debug());
    if (pci.child("gpu")) return;
    Element gpu = pci.append_child("gpu");
    set(gpu, "dev", std::to_string(number));
    set(gpu, "sm", std::to_string(model->compute_capability));
    set(gpu, "rank", std::to_string(number));
    set(gpu, "gdr", "1");
  }

  void add_nvlink(std::size_t gpu, const std::string& target, std::uint32_t links,
                  const char* target_class) {
    Element link = placed_.at(gpus_[gpu].offset_debug()).child("gpu").append_child("nvlink");
    set(link, "target", target);
    set(link, "count", std::to_string(links));
    set(link, "tclass", target_class);
  }

  XmlFile file_;
  const ImportOptions& options_;
  pugi::xml_document out_;
  Element system_;
  Element machine_;
  Element first_numa_node_;
  std::vector<Element> gpus_;  // in the order of bus ids
  std::vector<Element> nics_;
  std::map<std::uint64_t, Element> objects_;    // by gp_index
  std::map<std::ptrdiff_t, Element> cpus_;      // by the place of the NUMA node
  std::map<std::ptrdiff_t, Element> switches_;  // by the place of the bridge
  std::map<std::ptrdiff_t, Element> placed_;    // by the place of the device
  std::size_t elements_ = 0;
  std::size_t unplaced_ = 0;
  std::size_t asleep_ = 0;
  std::size_t nets_ = 0;
};

/// By the PCI devices (hwloc 1 and 2), read as NCCL would find them on that machine: NVIDIA's GPUs
/// in the order of their bus ids; NICs with RDMA, or all others where there is none; PCIe switches,
/// NUMA nodes and CPUs. NVLinks where hwloc asked the driver for them, else those of
/// `nvlink_layout`.
ImportedNode import_lstopo(const TextFile& text, const ImportOptions& options) {
  LstopoReader reader(text, options);
  const TextFile as_nccl_finds_it{text.name, reader.read()};
  ImportOptions known = options;
  if (known.gpu == nullptr) known.gpu = reader.model();
  ImportedNode imported = import_nccl_topology(as_nccl_finds_it, known);
  imported.warnings.insert(imported.warnings.end(), reader.warnings.begin(), reader.warnings.end());
  return imported;
}

const MachineFormat lstopo_format(
    "a host as `lstopo --of xml` writes it",
    [](std::string_view text) {
      const std::size_t place = text.find("<topology");
      const bool is_first = place < text.find("<system") && place < text.find("<graphs");
      return begins_with_element(text) && is_first ? FormatSign::mark : FormatSign::no;
    },
    import_lstopo);

}  // namespace

}  // namespace collsim
