#include "models/nccl/system/system_completion.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>

#include "models/machine/nvlink_layout.h"
#include "models/nccl/system/pci_bus_id.h"

namespace collsim {

namespace {

constexpr const char* gpu_class = "0x030200";
constexpr const char* nvswitch_class = "0x068000";
constexpr const char* hidden_nvswitch = "fffffff:ffff:ff";

bool is_named(const pugi::xml_node& element, std::string_view name) {
  return element.name() == name;
}

bool is_of_class(const pugi::xml_node& element, std::string_view first, std::string_view second) {
  const std::string_view pci_class = element.attribute("class").value();
  return is_named(element, "pci") &&
         (pci_class.starts_with(first) || pci_class.starts_with(second));
}

/// The management controllers of servers are graphics devices too, of another vendor.
bool is_bare_gpu(const pugi::xml_node& element) {
  const pugi::xml_attribute vendor = element.attribute("vendor");
  const bool nvidia = vendor.empty() || vendor.as_uint() == 0 || vendor.as_uint() == 0x10de;
  return is_of_class(element, "0x0300", "0x0302") && nvidia;
}

bool is_bare_nic(const pugi::xml_node& element) {
  return is_of_class(element, "0x0200", "0x0207") && element.child("nic").empty();
}

/// All elements for which `wanted` holds, in file order.
template <typename Predicate>
std::vector<pugi::xml_node> elements(const XmlFile& file, const Predicate& wanted) {
  std::vector<pugi::xml_node> found;
  file.root().find_node([&](const pugi::xml_node& element) {
    if (wanted(element)) found.push_back(element);
    return false;
  });
  return found;
}

const GpuModel* model_by_id(const pugi::xml_node& pci) {
  return gpu_model_of_pci_device(static_cast<std::uint16_t>(pci.attribute("device").as_uint()));
}

/// What the GPUs are, by the hint or else by the PCI ids of the file.
const GpuModel& model_of(const XmlFile& file, const std::vector<pugi::xml_node>& gpus,
                         const HostHint& hint) {
  if (hint.model != nullptr) return *hint.model;
  for (const pugi::xml_node& gpu : gpus) {
    if (const GpuModel* model = model_by_id(gpu)) return *model;
  }
  file.reject(
      gpus.front(),
      fmt::format("class=\"{}\" in <pci> says that this is a GPU but not which one "
                  "({} such GPUs in all)",
                  gpus.front().attribute("class").value(), gpus.size()),
      fmt::format("`collsim topo import FILE --gpu NAME`, with NAME one of {}", gpu_model_names()));
}

void add_nvlink(pugi::xml_node gpu, const char* target, std::uint32_t links, const char* tclass) {
  pugi::xml_node link = gpu.append_child("nvlink");
  link.append_attribute("target") = target;
  link.append_attribute("count") = links;
  link.append_attribute("tclass") = tclass;
}

/// NVLinks between GPUs, whose <pci> are in the order of their bus ids. Returns what was assumed.
std::string add_nvlinks(const std::vector<pugi::xml_node>& gpus, const GpuModel& model,
                        bool cards) {
  const auto trunks = cards ? std::vector<NvlinkTrunk>{}
                            : nvlink_layout(model, static_cast<std::uint32_t>(gpus.size()));
  for (const NvlinkTrunk& trunk : trunks) {
    const pugi::xml_node gpu = gpus[trunk.gpu].child("gpu");
    if (!trunk.peer) {
      add_nvlink(gpu, hidden_nvswitch, trunk.links, nvswitch_class);
      continue;
    }
    const pugi::xml_node& peer = gpus[*trunk.peer];
    add_nvlink(gpu, peer.attribute("busid").value(), trunk.links, gpu_class);
    add_nvlink(peer.child("gpu"), gpus[trunk.gpu].attribute("busid").value(), trunk.links,
               gpu_class);
  }
  if (trunks.empty()) {
    return fmt::format("The file has no NVLinks, and {} {} are taken to have none.", gpus.size(),
                       model.name);
  }
  return fmt::format(
      "The file has no NVLinks; those of {} {} are taken to be {}.", gpus.size(), model.name,
      trunks.front().peer ? std::string("a mesh as NVIDIA designed it")
                          : fmt::format("{} for each GPU, to NVSwitches", trunks.front().links));
}

void sort_by_bus(std::vector<pugi::xml_node>& gpus) {
  std::stable_sort(gpus.begin(), gpus.end(), [](const pugi::xml_node& a, const pugi::xml_node& b) {
    return pci_bus_id(a.attribute("busid").value()) < pci_bus_id(b.attribute("busid").value());
  });
}

void add_gpus(const std::vector<pugi::xml_node>& gpus, const GpuModel& model) {
  int rank = 0;
  for (pugi::xml_node pci : gpus) {
    pugi::xml_node gpu = pci.append_child("gpu");
    gpu.append_attribute("dev") = rank;
    gpu.append_attribute("sm") = model.compute_capability;
    gpu.append_attribute("rank") = rank++;
    gpu.append_attribute("gdr") = 1;
  }
}

void add_nics(const std::vector<pugi::xml_node>& nics, std::size_t first_device, double rate) {
  for (pugi::xml_node pci : nics) {
    pugi::xml_node net = pci.append_child("nic").append_child("net");
    const bool infiniband = is_of_class(pci, "0x0207", "0x0207");
    net.append_attribute("name") = infiniband ? "InfiniBand" : "Ethernet";
    net.append_attribute("dev") = static_cast<unsigned>(first_device++);
    net.append_attribute("gdr") = 1;
    constexpr double megabits = 8000;  // in GB
    if (rate > 0) net.append_attribute("speed") = std::lround(megabits * rate);
  }
}

std::vector<std::string> complete_bare(const XmlFile& file, std::vector<pugi::xml_node> gpus,
                                       const HostHint& hint) {
  const GpuModel& model = model_of(file, gpus, hint);
  sort_by_bus(gpus);
  add_gpus(gpus, model);
  std::vector<std::string> assumed{
      "GPUs are in the order of their PCI bus ids; the file does not number them."};
  assumed.push_back(add_nvlinks(gpus, model, hint.cards));
  const auto nics = elements(file, is_bare_nic);
  const auto nets =
      elements(file, [](const pugi::xml_node& element) { return is_named(element, "net"); });
  add_nics(nics, nets.size(), hint.nic_rate);
  if (!nics.empty()) {
    assumed.emplace_back(
        "NICs are as fast as their network and taken to speak GPUDirect; the file does not say.");
  }
  return assumed;
}

}  // namespace

std::vector<std::string> complete_topology(const XmlFile& file, const HostHint& hint) {
  auto described =
      elements(file, [](const pugi::xml_node& element) { return !element.child("gpu").empty(); });
  if (described.empty()) {
    auto gpus = elements(file, is_bare_gpu);
    return gpus.empty() ? std::vector<std::string>{} : complete_bare(file, std::move(gpus), hint);
  }
  const bool written = std::all_of(described.begin(), described.end(), [](const auto& pci) {
    const pugi::xml_node gpu = pci.child("gpu");
    return is_named(pci, "pci") && pci.attribute("device").empty() && gpu.child("nvlink").empty() &&
           gpu.child("c2c").empty();
  });
  if (!written || hint.model == nullptr) return {};
  sort_by_bus(described);
  return {add_nvlinks(described, *hint.model, hint.cards)};
}

}  // namespace collsim
