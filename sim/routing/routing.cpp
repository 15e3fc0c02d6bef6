#include "sim/routing/routing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "sim/base/input_error.h"
#include "sim/base/scramble.h"
#include "sim/routing/adaptive_paths.h"
#include "sim/routing/network_paths.h"
#include "sim/routing/node_paths.h"
#include "sim/routing/path_tree.h"

namespace collsim {

namespace {

/// Equally good routes: all that leave a node by one end and enter the other by one end, or all
/// that stay inside a node.
struct RouteGroup {
  std::optional<std::pair<DeviceId, DeviceId>> ends;  ///< nothing: inside the node
  std::uint64_t count = 0;
};

}  // namespace

class Router::Search {
 public:
  explicit Search(const Topology& topology)
      : topology_(topology),
        network_(topology),
        nodes_(topology, network_),
        adaptive_(topology, network_) {}
  Search(const Search&) = delete;  // parts of it refer to others
  Search& operator=(const Search&) = delete;
  ~Search() = default;

  bool takes_detours() const { return topology_.takes_detours(); }
  /// The routes of flows so far, where they depend on each other.
  using Flow = std::tuple<DeviceId, DeviceId, std::uint64_t>;
  std::map<Flow, Route>& known() { return known_; }

  /// The best routes; none means that only a relay through other nodes is left.
  std::vector<RouteGroup> best_groups(DeviceId from, DeviceId to) {
    const std::int32_t from_node = topology_.node_of(from);
    const std::int32_t to_node = topology_.node_of(to);
    if (from_node < 0 || to_node < 0) return {};
    std::uint64_t inside_cost = forbidden;
    if (from_node == to_node) {
      inside_cost = nodes_.cost(from, to);
      // Nothing outside a node is better than a way inside, unless that is through another GPU.
      if (inside_cost < relay_cost) return {{std::nullopt, nodes_.count(from, to)}};
    }
    std::vector<RouteGroup> groups = groups_outside(from, to, inside_cost);
    if (groups.empty() && inside_cost != forbidden) {
      groups.push_back({std::nullopt, nodes_.count(from, to)});
    }
    return groups;
  }

  Route route(DeviceId from, DeviceId to, const RouteGroup& group, std::uint64_t index) {
    std::vector<LinkId> links;
    if (!group.ends) {
      nodes_.append_path(from, to, index, links);
      return finished(std::move(links));
    }
    const auto [out, in] = *group.ends;
    const std::uint64_t ways_out = nodes_.count(from, out);
    const std::uint64_t ways_across = network_.count(out, in);
    nodes_.append_path(from, out, index % ways_out, links);
    index /= ways_out;
    network_.append_path(out, in, index % ways_across, links);
    nodes_.append_path(in, to, index / ways_across, links);
    return finished(std::move(links));
  }

  /// A new flow's, across a network that adapts. `index`: of the ways inside the nodes.
  Route adaptive_route(DeviceId from, DeviceId to, const RouteGroup& group, std::uint64_t index,
                       std::uint64_t hash) {
    if (!group.ends) return route(from, to, group, index);
    const auto [out, in] = *group.ends;
    std::vector<LinkId> links;
    nodes_.append_path(from, out, index % nodes_.count(from, out), links);
    adaptive_.append_path(out, in, hash, links);
    nodes_.append_path(in, to, index % nodes_.count(in, to), links);
    return finished(std::move(links));
  }

  /// All routes when the usual ways do not lead there: through the GPUs of other nodes if need be.
  std::uint64_t count_anyhow(DeviceId from, DeviceId to) {
    if (!whole_) whole_ = whole_graph();
    if (!whole_tree_ || whole_source_ != from) {
      whole_tree_.emplace(*whole_, from);
      whole_source_ = from;
    }
    if (whole_tree_->cost(to) == forbidden) {
      throw InputError(
          fmt::format("{} cannot reach {}", topology_.device_name(from), topology_.device_name(to)),
          "a topology that joins them");
    }
    return whole_tree_->count(to);
  }

  Route route_anyhow(DeviceId to, std::uint64_t index) const {
    return finished(whole_tree_->path(*whole_, to, index));
  }

 private:
  std::vector<RouteGroup> groups_outside(DeviceId from, DeviceId to, std::uint64_t cost_to_beat) {
    using Quality =
        std::tuple<std::uint64_t, std::uint32_t, int>;  // cost, links, ends not their own
    Quality best{cost_to_beat, 0, 0};
    std::vector<RouteGroup> groups;
    const std::vector<EndChoice>& ways_in = nodes_.ends_near(to);
    for (const EndChoice& out : nodes_.ends_near(from)) {
      const DeviceId out_device = nodes_.end_device(from, out);
      for (const EndChoice& in : ways_in) {
        const std::uint64_t cost = out.cost + in.cost;
        if (cost > std::get<0>(best)) break;
        const DeviceId in_device = nodes_.end_device(to, in);
        const std::uint32_t hops = in_device == out_device ? NetworkPaths::unreachable
                                                           : network_.hops(out_device, in_device);
        if (hops == NetworkPaths::unreachable) continue;
        const Quality quality{cost, hops, (out.assigned ? 0 : 1) + (in.assigned ? 0 : 1)};
        if (quality > best) continue;
        if (quality < best) groups.clear();
        best = quality;
        const std::uint64_t count = nodes_.count(from, out_device) *
                                    network_.count(out_device, in_device) *
                                    nodes_.count(in_device, to);
        groups.push_back({std::pair(out_device, in_device), count});
      }
      if (!ways_in.empty() && out.cost + ways_in.front().cost > std::get<0>(best)) break;
    }
    return groups;
  }

  PathGraph whole_graph() const {
    PathGraph graph;
    graph.edges.resize(topology_.devices().size());
    constexpr std::uint64_t nic_crossing = 1'000'000;
    for (const Device device : topology_.devices()) {
      const std::uint64_t cost = crossing_cost(device.kind);
      graph.crossing.push_back(cost == forbidden ? nic_crossing : cost);
    }
    for (LinkId id = 0; id < topology_.links().size(); ++id) {
      const Link link = topology_.link(id);
      graph.edges[link.from].push_back({link.to, id, link.reverse, link_cost(link.kind)});
    }
    return graph;
  }

  Route finished(std::vector<LinkId> links) const {
    Route route{std::move(links), {}, unlimited};
    for (const LinkId id : route.links) {
      const Link link = topology_.link(id);
      route.latency += link.latency;
      route.bandwidth.value = std::min(route.bandwidth.value, link.bandwidth.value);
    }
    return route;
  }

  const Topology& topology_;
  NetworkPaths network_;
  NodePaths nodes_;
  AdaptivePaths adaptive_;
  std::map<Flow, Route> known_;
  std::optional<PathGraph> whole_;
  std::optional<PathTree> whole_tree_;
  DeviceId whole_source_ = 0;
};

Router::Router(const Topology& topology) : search_(std::make_unique<Search>(topology)) {}
Router::~Router() = default;
Router::Router(Router&&) noexcept = default;
Router& Router::operator=(Router&&) noexcept = default;

Route Router::route(DeviceId from, DeviceId to, std::uint64_t flow) {
  if (from == to) return {};
  if (!search_->takes_detours()) return new_route(from, to, flow);
  const auto known = search_->known().find({from, to, flow});
  if (known != search_->known().end()) return known->second;
  return search_->known()[{from, to, flow}] = new_route(from, to, flow);
}

Route Router::new_route(DeviceId from, DeviceId to, std::uint64_t flow) {
  const std::uint64_t hash = scramble(scramble((std::uint64_t{from} << 32) | to) ^ scramble(flow));
  const std::vector<RouteGroup> groups = search_->best_groups(from, to);
  std::uint64_t total = 0;
  for (const RouteGroup& group : groups) total += group.count;
  if (total == 0) return search_->route_anyhow(to, hash % search_->count_anyhow(from, to));
  std::uint64_t index = hash % total;
  for (const RouteGroup& group : groups) {
    if (index < group.count) {
      return search_->takes_detours() ? search_->adaptive_route(from, to, group, index, hash)
                                      : search_->route(from, to, group, index);
    }
    index -= group.count;
  }
  assert(false);
  return {};
}

std::vector<Route> Router::all_shortest(DeviceId from, DeviceId to) {
  if (from == to) return {Route{}};
  std::vector<Route> routes;
  const std::vector<RouteGroup> groups = search_->best_groups(from, to);
  for (const RouteGroup& group : groups) {
    for (std::uint64_t i = 0; i < group.count; ++i) {
      routes.push_back(search_->route(from, to, group, i));
    }
  }
  if (groups.empty()) {
    const std::uint64_t count = search_->count_anyhow(from, to);
    for (std::uint64_t i = 0; i < count; ++i) routes.push_back(search_->route_anyhow(to, i));
  }
  return routes;
}

}  // namespace collsim
