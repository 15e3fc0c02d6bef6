#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "models/imports/import.h"
#include "models/nccl/environment.h"
#include "models/nccl/graph_xml.h"
#include "models/nccl/xml_file.h"

namespace collsim {

namespace {

constexpr std::size_t gpu_limit_of_node = 1'024;
constexpr double bandwidth_limit = 1e6;  // GB/s

/// What all channels of one graph use of a link, in each direction.
struct LinkUse {
  std::array<std::uint32_t, 2> channels{};
  std::array<double, 2> bandwidth{};  ///< GB/s
  LinkKind kind = LinkKind::nvlink;

  void add(bool reversed, double more) {
    ++channels[reversed ? 1 : 0];
    bandwidth[reversed ? 1 : 0] += more;
  }
};

using Uses = std::map<std::pair<std::uint32_t, std::uint32_t>, LinkUse>;

/// The numbers of all <gpu> or <net> of the file, in order.
std::set<int> device_numbers(const XmlFile& file, const char* name) {
  std::set<int> numbers;
  for (const pugi::xml_node& graph : file.root().children("graph")) {
    for (const pugi::xml_node& channel : graph.children("channel")) {
      for (const pugi::xml_node& device : channel.children(name)) {
        numbers.insert(static_cast<int>(file.integer(device, "dev", 0, 0xffffff)));
        if (numbers.size() > gpu_limit_of_node) {
          file.reject(device, fmt::format("more than {} <{}>", gpu_limit_of_node, name),
                      "the graphs of one node");
        }
      }
    }
  }
  return numbers;
}

/// A system with these devices and nothing else, which is all that the reader of graphs asks for.
NcclSystem system_of_numbers(const std::set<int>& gpus, const std::set<int>& nets) {
  NcclSystemBuilder builder;
  for (const int number : gpus) {
    NcclNode node = make_node(NcclNodeKind::gpu);
    node.gpu.device = number;
    builder.add(std::move(node));
  }
  for (const int number : nets) {
    NcclNode node = make_node(NcclNodeKind::net);
    node.net.device = number;
    builder.add(std::move(node));
  }
  return builder.system();
}

LinkKind kind_of(PathType type) {
  return type <= PathType::c2c ? LinkKind::nvlink : LinkKind::pcie;
}

/// NICs are numbered after the GPUs.
Uses uses_of(const NcclGraph& graph, std::uint32_t gpus) {
  Uses uses;
  const auto use = [&](std::uint32_t from, std::uint32_t to, LinkKind kind, double bandwidth) {
    LinkUse& link = uses[std::minmax(from, to)];
    link.kind = kind;
    link.add(from > to, bandwidth);
  };
  const bool both_ways = graph.pattern != GraphPattern::ring;
  for (const GraphChannel& channel : graph.channels) {
    const std::size_t count = channel.gpus.size();
    const bool closed = !both_ways && !channel.first_net && !channel.last_net && count > 1;
    for (std::size_t i = 0; i + (closed ? 0 : 1) < count; ++i) {
      const std::uint32_t from = channel.gpus[i];
      const std::uint32_t to = channel.gpus[(i + 1) % count];
      use(from, to, kind_of(graph.intra_type), graph.intra_bandwidth);
      if (both_ways) use(to, from, kind_of(graph.intra_type), graph.intra_bandwidth);
    }
    if (channel.first_net) {
      use(gpus + *channel.first_net, channel.gpus.front(), LinkKind::pcie, graph.inter_bandwidth);
    }
    if (channel.last_net) {
      use(channel.gpus.back(), gpus + *channel.last_net, LinkKind::pcie, graph.inter_bandwidth);
    }
  }
  return uses;
}

/// Every link as wide as the graph that uses it most.
NodeTemplate make_node_of(const std::vector<NcclGraph>& graphs, const std::set<int>& gpus,
                          const std::set<int>& nets, const ImportOptions& options) {
  NodeTemplate node;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    Device device;
    device.name = fmt::format("gpu{}", i);
    if (options.gpu != nullptr) device.model = options.gpu->name;
    node.devices.push_back(std::move(device));
  }
  for (std::size_t i = 0; i < nets.size(); ++i) {
    Device device;
    device.name = fmt::format("nic{}", i);
    device.kind = DeviceKind::nic;
    node.devices.push_back(std::move(device));
  }
  std::map<std::pair<std::uint32_t, std::uint32_t>, GraphLink> links;
  for (const NcclGraph& graph : graphs) {
    for (const auto& [ends, use] : uses_of(graph, static_cast<std::uint32_t>(gpus.size()))) {
      const std::size_t direction = use.bandwidth[1] > use.bandwidth[0] ? 1 : 0;
      const BytesPerSecond bandwidth = gigabytes_per_second(use.bandwidth[direction]);
      GraphLink& link = links[ends];
      if (bandwidth > link.bandwidth) {
        link = {ends.first, ends.second, use.kind, use.channels[direction], bandwidth, {}};
      }
    }
  }
  for (const auto& [ends, link] : links) node.links.push_back(link);
  return node;
}

}  // namespace

ImportedNode import_nccl_graph(const TextFile& text, const ImportOptions& options) {
  const XmlFile file(text, "graphs");
  const std::set<int> gpus = device_numbers(file, "gpu");
  const std::set<int> nets = device_numbers(file, "net");
  const NcclSystem system = system_of_numbers(gpus, nets);
  const NcclEnvironment environment{};
  std::vector<NcclGraph> graphs;
  for (const GraphUse use : {GraphUse::ring, GraphUse::tree}) {
    auto graph = read_nccl_graph(text, use, system, environment);
    if (!graph || graph->channels.empty()) continue;
    for (const double bandwidth : {graph->intra_bandwidth, graph->inter_bandwidth}) {
      if (bandwidth <= 0 || bandwidth > bandwidth_limit) {
        file.reject(file.root(), fmt::format("a channel of {:.6g} GB/s", bandwidth),
                    "speedintra and speedinter above zero and at most 1000000");
      }
    }
    graphs.push_back(std::move(*graph));
  }
  if (gpus.empty() || graphs.empty()) {
    file.reject(file.root(), "no ring and no tree",
                "a <graph> with id 0 or 1 and a <channel> of at least one <gpu>");
  }
  return {make_node_of(graphs, gpus, nets, options),
          {"Links are what the channels of NCCL's search use, not all that the machine has."}};
}

}  // namespace collsim
