#include "models/imports/import.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/machine/odd_links.h"
#include "sim/base/input_error.h"

namespace collsim {

namespace {

const MachineFormat graphs_format(
    "NCCL's graphs, which are the channels that it chose and not the machine",
    [](std::string_view text) {
      const bool is_first = text.find("<graphs") < text.find("<system");
      return begins_with_element(text) && is_first ? FormatSign::mark : FormatSign::no;
    },
    [](const TextFile& text, const ImportOptions&) -> ImportedNode {
      throw InputError(SourcePosition{text.name},
                       "NCCL's graphs, which are the channels that it chose and not the machine",
                       "the topology that NCCL dumps with NCCL_TOPO_DUMP_FILE=FILE");
    });

/// The PCIe link of a device, if it has one.
std::optional<GraphLink> pcie_link(const NodeTemplate& node, std::uint32_t device) {
  const auto found = std::find_if(node.links.begin(), node.links.end(), [&](const GraphLink& link) {
    return link.kind == LinkKind::pcie && link.from == device;
  });
  return found == node.links.end() ? std::nullopt : std::optional(*found);
}

}  // namespace

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
        pcie_link(node, gpu).value_or(GraphLink{0, gpu, LinkKind::pcie, 1, {31.5e9}, {}});
    link.from = static_cast<std::uint32_t>(node.devices.size());
    GraphDevice nic;
    nic.name = fmt::format("nic{}", number++);
    nic.kind = DeviceKind::nic;
    node.devices.push_back(std::move(nic));
    node.links.push_back(link);
  }
}

ImportedNode import_node(const TextFile& text, const ImportOptions& options) {
  if (!is_importable(text))
    refuse_other_kind(text.name, text.content, FileKind::machine, "machine");
  ImportedNode imported = MachineFormat::find(text.content)->read(text, options);
  if (options.added_nics > 0) {
    add_nics(imported.node, options.added_nics);
    imported.notes.push_back(fmt::format(
        "{} NICs are added beside the GPUs; the file has none of them.", options.added_nics));
  }
  std::vector<std::string> odd = odd_links(imported.node);
  std::move(odd.begin(), odd.end(), std::back_inserter(imported.warnings));
  return imported;
}

bool is_importable(const TextFile& text) {
  return !own_kind(text.content) &&
         MachineFormat::find(text.content, FormatSign::inside) != nullptr;
}

bool begins_with_element(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  return begin != std::string_view::npos && text[begin] == '<';
}

}  // namespace collsim
