#include "sim/topologies/reduced_topology.h"

#include <cassert>
#include <limits>
#include <utility>

namespace collsim {

namespace {

constexpr std::uint32_t gone = std::numeric_limits<std::uint32_t>::max();

/// Adds what is left of a topology to a builder and keeps count of the links.
class LinkRemover {
 public:
  LinkRemover(const Topology& topology, const std::vector<bool>& dead)
      : topology_(topology), dead_(dead), builder_(topology.name(), topology.calibration()) {}

  ReducedTopology remove() && {
    add_nodes();
    add_fabric();
    return {std::move(builder_).build(), std::move(original_)};
  }

 private:
  bool is_dead(LinkId forward) const { return dead_[forward] || dead_[forward + 1]; }

  bool is_whole(const NodePart& node) const {
    const auto links = static_cast<LinkId>(node.graph->graph().links.size());
    for (LinkId i = 0; i < links; ++i) {
      if (is_dead(node.first_link + 2 * i)) return false;
    }
    return true;
  }

  void keep(LinkId forward) {
    original_.push_back(forward);
    original_.push_back(forward + 1);
  }

  /// Nodes that lose nothing go on sharing their template.
  void add_nodes() {
    std::shared_ptr<const IndexedGraph> shared;
    const IndexedGraph* shared_of = nullptr;
    std::uint32_t count = 0;
    const auto flush = [&] {
      if (count > 0) builder_.add_nodes(shared, count);
      count = 0;
    };
    for (std::uint32_t number = 0; number < topology_.node_count(); ++number) {
      const NodePart node = topology_.node(number);
      if (!is_whole(node)) {
        flush();
        builder_.add_nodes(rest_of(node), 1);
        continue;
      }
      if (node.graph != shared_of) {
        flush();
        shared = topology_.node_template(number);
        shared_of = node.graph;
      }
      ++count;
      const auto links = static_cast<LinkId>(node.graph->graph().links.size());
      for (LinkId i = 0; i < links; ++i) keep(node.first_link + 2 * i);
    }
    flush();
  }

  Graph rest_of(const NodePart& node) {
    const Graph& whole = node.graph->graph();
    Graph rest{whole.devices, {}, {}};
    std::vector<std::uint32_t> number(whole.links.size(), gone);
    for (std::uint32_t i = 0; i < whole.links.size(); ++i) {
      if (is_dead(node.first_link + 2 * i)) continue;
      number[i] = static_cast<std::uint32_t>(rest.links.size());
      rest.links.push_back(whole.links[i]);
      keep(node.first_link + 2 * i);
    }
    for (const GraphShare& share : whole.shares) {
      GraphShare& left = rest.shares.emplace_back(GraphShare{share.name, share.bandwidth, {}});
      for (const GraphDirection direction : share.links) {
        if (number[direction.link] == gone) continue;
        left.links.push_back({number[direction.link], direction.reversed});
      }
    }
    return rest;
  }

  void add_fabric() {
    if (topology_.takes_detours()) builder_.let_network_take_detours();
    for (const GraphDevice& device : topology_.fabric_devices()) builder_.add_device(device);
    const LinkId first = topology_.first_fabric_link();
    const auto end = static_cast<LinkId>(topology_.links().size());
    std::vector<LinkId> reduced(end - first, gone);
    for (LinkId id = first; id < end; id += 2) {
      if (is_dead(id)) continue;
      const Link link = topology_.link(id);
      reduced[id - first] = builder_.add_link(link.from, link.to, link.kind, link.bandwidth,
                                              link.latency, link.count, link.burst);
      reduced[id + 1 - first] = reduced[id - first] + 1;
      keep(id);
    }
    for (SharedResourceId id = topology_.first_fabric_share();
         id < topology_.shared_resources().size(); ++id) {
      const SharedResource whole = topology_.shared_resource(id);
      std::vector<LinkId> links;
      for (const LinkId link : whole.links) {
        if (reduced[link - first] != gone) links.push_back(reduced[link - first]);
      }
      builder_.add_shared_resource(topology_.shared_resource_name(id), whole.bandwidth,
                                   std::move(links));
    }
  }

  const Topology& topology_;
  const std::vector<bool>& dead_;
  TopologyBuilder builder_;
  std::vector<LinkId> original_;
};

}  // namespace

ReducedTopology without_links(const Topology& topology, const std::vector<bool>& dead) {
  assert(dead.size() == topology.links().size());
  return LinkRemover(topology, dead).remove();
}

}  // namespace collsim
