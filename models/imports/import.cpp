#include "models/imports/import.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "sim/base/input_error.h"

namespace collsim {

namespace {

ImportedNode import_described(const TextFile& text, const ImportOptions& options) {
  const std::size_t begin = text.content.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  const bool xml = begin != std::string::npos && text.content[begin] == '<';
  if (!xml) return import_nvidia_smi(text, options);
  // The root is the first element whose name is one of these.
  const std::size_t graphs = text.content.find("<graphs");
  const std::size_t system = text.content.find("<system");
  if (graphs < system) {
    throw InputError(SourcePosition{text.name},
                     "NCCL's graphs, which are the channels that it chose and not the machine",
                     "the topology that NCCL dumps with NCCL_TOPO_DUMP_FILE=FILE");
  }
  return import_nccl_topology(text, options);
}

/// The PCIe link of a device, if it has one.
std::optional<GraphLink> pcie_link(const NodeTemplate& node, std::uint32_t device) {
  const auto found = std::find_if(node.links.begin(), node.links.end(), [&](const GraphLink& link) {
    return link.kind == LinkKind::pcie && link.from == device;
  });
  return found == node.links.end() ? std::nullopt : std::optional(*found);
}

/// NIC i of n beside GPU i * gpus / n: as wide as that GPU's PCIe, on the same switch or socket; on
/// the GPU itself where it has neither.
void add_nics(NodeTemplate& node, std::uint32_t count) {
  std::vector<std::uint32_t> gpus;
  std::uint32_t number = 0;
  for (std::uint32_t i = 0; i < node.devices.size(); ++i) {
    if (node.devices[i].kind == DeviceKind::gpu) gpus.push_back(i);
    if (node.devices[i].kind == DeviceKind::nic) ++number;
  }
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t gpu = gpus[i * gpus.size() / count];
    GraphLink link =
        pcie_link(node, gpu).value_or(GraphLink{0, gpu, LinkKind::pcie, 1, {24e9}, {}});
    link.from = static_cast<std::uint32_t>(node.devices.size());
    GraphDevice nic;
    nic.name = fmt::format("nic{}", number++);
    nic.kind = DeviceKind::nic;
    node.devices.push_back(std::move(nic));
    node.links.push_back(link);
  }
}

}  // namespace

ImportedNode import_node(const TextFile& text, const ImportOptions& options) {
  ImportedNode imported = import_described(text, options);
  if (options.added_nics > 0) {
    add_nics(imported.node, options.added_nics);
    imported.notes.push_back(fmt::format(
        "{} NICs are added beside the GPUs; the file has none of them.", options.added_nics));
  }
  return imported;
}

std::string gpu_model_names() {
  std::string names;
  for (const GpuModel& model : gpu_models()) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", model.name);
  }
  return names;
}

}  // namespace collsim
