#include "models/nccl/search/graph_xml.h"

#include <fmt/format.h>

#include <string_view>

#include "sim/base/xml_file.h"

namespace collsim {

namespace {

constexpr long long largest_device = 0xffffff;

PathType read_path_type(const XmlFile& file, const pugi::xml_node& element, const char* attribute) {
  const std::string name = file.text(element, attribute);
  const auto type = find_path_type(name);
  if (!type || *type > PathType::sys) {
    file.reject(element, fmt::format("{}=\"{}\"", attribute, name),
                "LOC, NVL, NVB, C2C, PIX, PXB, P2C, PXN, PHB or SYS");
  }
  return *type;
}

/// The index of the GPU or NIC that has `device` as its number.
std::uint32_t find_device(const XmlFile& file, const pugi::xml_node& element, NcclNodeKind kind,
                          const NcclSystem& system) {
  const long long device = file.integer(element, "dev", 0, largest_device);
  const auto nodes = system.of_kind(kind);
  for (std::uint32_t index = 0; index < nodes.size(); ++index) {
    const NcclNode& node = system.node(nodes[index]);
    if ((kind == NcclNodeKind::gpu ? node.gpu.device : node.net.device) == device) return index;
  }
  file.reject(element, fmt::format("the machine has no <{}> {}", element.name(), device),
              "the dev of a device in the topology");
}

GraphChannel read_channel(const XmlFile& file, const pugi::xml_node& element, bool heads_only,
                          const NcclSystem& system) {
  GraphChannel channel;
  for (const pugi::xml_node& child : element.children()) {
    if (child.name() == std::string_view("gpu")) {
      channel.gpus.push_back(find_device(file, child, NcclNodeKind::gpu, system));
    } else if (child.name() == std::string_view("net")) {
      const std::uint32_t net = find_device(file, child, NcclNodeKind::net, system);
      (channel.gpus.empty() ? channel.first_net : channel.last_net) = net;
    }
  }
  std::vector<bool> seen(system.gpu_count(), false);
  for (const std::uint32_t gpu : channel.gpus) {
    if (seen[gpu]) file.reject(element, "a GPU appears twice", "every GPU once");
    seen[gpu] = true;
  }
  if (channel.gpus.size() != (heads_only ? 1 : system.gpu_count())) {
    file.reject(
        element, fmt::format("{} GPUs", channel.gpus.size()),
        heads_only ? "the head alone" : fmt::format("all {} GPUs of the node", system.gpu_count()));
  }
  return channel;
}

}  // namespace

std::optional<NcclGraph> read_nccl_graph(const std::filesystem::path& path, GraphUse use,
                                         const NcclSystem& system,
                                         const NcclEnvironment& environment) {
  return read_nccl_graph(read_text_file(path, "an XML file"), use, system, environment);
}

std::optional<NcclGraph> read_nccl_graph(const TextFile& text, GraphUse use,
                                         const NcclSystem& system,
                                         const NcclEnvironment& environment) {
  const XmlFile file(text, "graphs");
  for (const pugi::xml_node& element : file.root().children("graph")) {
    if (file.integer(element, "id", 0, 4) != static_cast<long long>(use)) continue;
    NcclGraph graph;
    graph.use = use;
    graph.cross_nic = static_cast<int>(file.integer(element, "crossnic", 0, 2));
    if (graph.cross_nic == 1 && environment.cross_nic == 0) return std::nullopt;
    graph.pattern = static_cast<GraphPattern>(file.integer(element, "pattern", 1, 6));
    graph.collnet = use == GraphUse::collnet_chain || use == GraphUse::collnet_direct;
    graph.intra_bandwidth = static_cast<float>(file.number(element, "speedintra"));
    graph.inter_bandwidth = static_cast<float>(file.number(element, "speedinter"));
    graph.inter_latency = static_cast<float>(file.number_or(element, "latencyinter", 0));
    graph.intra_type = read_path_type(file, element, "typeintra");
    graph.inter_type = read_path_type(file, element, "typeinter");
    graph.same_channels = file.integer(element, "samechannels", 0, 1) != 0;
    for (const pugi::xml_node& channel : element.children("channel")) {
      graph.channels.push_back(read_channel(file, channel, use == GraphUse::nvls, system));
    }
    const long long declared = file.integer(element, "nchannels", 0, 64);
    if (declared != graph.channel_count()) {
      file.reject(element,
                  fmt::format("nchannels=\"{}\" but {} channels", declared, graph.channel_count()),
                  "as many <channel> as nchannels");
    }
    if (graph.channels.empty()) return std::nullopt;
    return graph;
  }
  return std::nullopt;
}

}  // namespace collsim
