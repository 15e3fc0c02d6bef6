#include "sim/topologies/indexed_graph.h"

#include <utility>

namespace collsim {

IndexedGraph::IndexedGraph(Graph graph) : graph_(std::move(graph)) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> starts;
  for (std::uint32_t i = 0; i < graph_.links.size(); ++i) {
    starts.emplace_back(graph_.links[i].from, 2 * i);
    starts.emplace_back(graph_.links[i].to, 2 * i + 1);
  }
  links_from_ = Rows(graph_.devices.size(), starts);

  std::vector<std::pair<std::uint32_t, std::uint32_t>> links;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> shares;
  for (std::uint32_t share = 0; share < graph_.shares.size(); ++share) {
    for (const GraphDirection direction : graph_.shares[share].links) {
      const std::uint32_t link = 2 * direction.link + (direction.reversed ? 1 : 0);
      links.emplace_back(share, link);
      shares.emplace_back(link, share);
    }
  }
  links_of_share_ = Rows(graph_.shares.size(), links);
  shares_of_link_ = Rows(2 * graph_.links.size(), shares);

  for (std::uint32_t device = 0; device < graph_.devices.size(); ++device) {
    if (graph_.devices[device].kind == DeviceKind::gpu) gpus_.push_back(device);
  }
}

}  // namespace collsim
