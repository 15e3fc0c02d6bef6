#include "models/imports/import.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/imports/matrix.h"
#include "models/imports/matrix_text.h"
#include "models/machine/odd_links.h"
#include "sim/base/input_error.h"

namespace collsim {

namespace {

/// The text with all that is outside of its <system> made blank, so that places stay.
TextFile only_system(const TextFile& text, std::size_t begin, std::size_t end) {
  TextFile only{text.name, text.content.substr(0, end)};
  std::replace_if(
      only.content.begin(), only.content.begin() + static_cast<std::ptrdiff_t>(begin),
      [](char letter) { return letter != '\n'; }, ' ');
  return only;
}

ImportedNode import_described(const TextFile& text, const ImportOptions& options) {
  constexpr std::string_view closing = "</system>";
  const std::size_t begin = text.content.find_first_not_of(" \t\n");
  const bool xml = begin != std::string::npos && text.content[begin] == '<';
  // The root is the first element whose name is one of these.
  const std::size_t graphs = text.content.find("<graphs");
  const std::size_t system = text.content.find("<system");
  const std::size_t topology = text.content.find("<topology");
  if (!xml) {
    const std::size_t end = text.content.rfind(closing);
    const bool inside = system < graphs && end != std::string::npos && system < end;
    if (!inside) return import_nvidia_smi(text, options);
    return import_nccl_topology(only_system(text, system, end + closing.size()), options);
  }
  if (graphs < system) {
    throw InputError(SourcePosition{text.name},
                     "NCCL's graphs, which are the channels that it chose and not the machine",
                     "the topology that NCCL dumps with NCCL_TOPO_DUMP_FILE=FILE");
  }
  if (topology < system) return import_lstopo(text, options);
  if (system == std::string::npos && is_html(text.content)) return import_nvidia_smi(text, options);
  return import_nccl_topology(text, options);
}

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
  ImportedNode imported = import_described(text, options);
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
  const std::string& content = text.content;
  if (content.starts_with("collsim:") || content.find("\ncollsim:") != std::string::npos) {
    return false;
  }
  const std::size_t begin = content.find_first_not_of(" \t\r\n");
  if (begin == std::string::npos) return false;
  const bool system = content.find("<system") < content.rfind("</system>") &&
                      content.rfind("</system>") != std::string::npos;
  return content[begin] == '<' || system || has_matrix(text);
}

}  // namespace collsim
