#include "models/bounds/usable_ports.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <unordered_set>

#include "models/bounds/min_latencies.h"
#include "models/nccl/system/link_bandwidth.h"
#include "sim/routing/node_paths.h"
#include "sim/topologies/like_nodes.h"

namespace collsim {

namespace {

constexpr double rounding = 1e-9;

Port port_of(const Link& link) {
  // The burst is of both directions.
  return {link.bandwidth.value, link.bandwidth.value,
          2 * static_cast<double>(link.burst.size.count)};
}

Port narrower(const Port& a, const Port& b) {
  return {std::min(a.out, b.out), std::min(a.in, b.in), a.bursts + b.bursts};
}

/// The GPUs of a node that are ranks, and the devices by which the node is on the network.
class NodePorts {
 public:
  NodePorts(const Topology& topology, std::uint32_t node, std::vector<DeviceId> ranks)
      : topology_(topology), part_(topology.node(node)), ranks_(std::move(ranks)) {
    for (DeviceId device = part_.first_device; device < part_.first_device + size(); ++device) {
      if (leaves(device)) ends_.push_back(device);
    }
    passes_gpus_ = !ranks_are_joined();
    if (ends_.empty()) return;
    for (const DeviceId rank : ranks_) {
      costs_.push_back(costs_from(rank));
      passes_gpus_ = passes_gpus_ || nearest_cost(costs_.back()) >= static_cast<double>(relay_cost);
    }
  }

  std::set<DeviceId> all_ends() const { return {ends_.begin(), ends_.end()}; }

  /// As UsablePorts has them.
  std::set<DeviceId> usable_ends() const {
    const std::set<DeviceId> all = all_ends();
    double wanted = 0;
    for (const DeviceId rank : ranks_) wanted += nccl_rate_to_ends(rank, all);
    std::vector<std::vector<std::vector<DeviceId>>> ends_of_rank;
    for (const auto& costs : costs_) ends_of_rank.push_back(ends_by_level(costs));
    std::set<DeviceId> ends;
    for (std::size_t level = 0; level < ends_.size(); ++level) {
      if (level > 0 && cables_of(ends).out >= wanted * (1 - rounding)) break;
      for (const auto& levels : ends_of_rank) {
        if (level < levels.size()) ends.insert(levels[level].begin(), levels[level].end());
      }
    }
    return ends;
  }

  /// From the ranks to these ends and out of them.
  Port network(const std::set<DeviceId>& ends) const {
    Port links;
    for (const DeviceId rank : ranks_) {
      for (const LinkId id : topology_.links_from(rank)) {
        if (leads_to(id, ends, {})) links += port_of(topology_.link(id));
      }
    }
    return narrower(cables_of(ends), links);
  }

  std::vector<Port> of_ranks(const std::set<DeviceId>& ends) const {
    std::vector<Port> ports;
    for (const DeviceId rank : ranks_) ports.push_back(of_rank(rank, ends));
    return ports;
  }

 private:
  /// From a rank to the others of its node and to these ends.
  Port of_rank(DeviceId rank, const std::set<DeviceId>& ends) const {
    Port port;
    for (const LinkId id : topology_.links_from(rank)) {
      if (leads_to(id, ends, ranks_)) port += port_of(topology_.link(id));
    }
    return port;
  }

  DeviceId size() const { return static_cast<DeviceId>(part_.graph->graph().devices.size()); }
  bool is_inside(DeviceId device) const { return device - part_.first_device < size(); }

  bool leaves(DeviceId device) const {
    const auto cables = topology_.fabric_links_from(device);
    return std::any_of(cables.begin(), cables.end(),
                       [this](LinkId id) { return !is_inside(topology_.link(id).to); });
  }

  /// What the ways to the devices of the node cost, as a Router counts.
  std::vector<double> costs_from(DeviceId rank) const {
    auto costs =
        min_latencies(size(), rank - part_.first_device, [&](std::size_t place, const auto& visit) {
          const DeviceId at = part_.first_device + static_cast<DeviceId>(place);
          const std::uint64_t crossing = at == rank ? 0 : crossing_cost(topology_.device(at).kind);
          if (crossing == forbidden) return;
          for (const LinkId id : topology_.links_from(at)) {
            const Link link = topology_.link(id);
            if (!is_inside(link.to)) continue;
            visit(link.to - part_.first_device,
                  static_cast<double>(crossing + link_cost(link.kind)));
          }
        });
    for (const DeviceId end : ends_) {  // leaving through another GPU is passing through it
      const bool other = end != rank && topology_.device(end).kind == DeviceKind::gpu;
      if (other) costs[end - part_.first_device] += static_cast<double>(relay_cost);
    }
    return costs;
  }

  double nearest_cost(const std::vector<double>& costs) const {
    double least = std::numeric_limits<double>::infinity();
    for (const DeviceId end : ends_) least = std::min(least, costs[end - part_.first_device]);
    return least;
  }

  /// The parts of the node that GPUs divide, by the first device of each that was found.
  std::set<DeviceId> parts_beside(DeviceId gpu, std::map<DeviceId, DeviceId>& part_of) const {
    std::set<DeviceId> parts{gpu};
    for (const LinkId id : topology_.links_from(gpu)) {
      const DeviceId next = topology_.link(id).to;
      if (is_inside(next)) parts.insert(spread(next, part_of));
    }
    return parts;
  }

  /// The part of a device; a GPU is one of its own.
  DeviceId spread(DeviceId device, std::map<DeviceId, DeviceId>& part_of) const {
    const auto [known, added] = part_of.emplace(device, device);
    if (!added) return known->second;
    std::vector<DeviceId> open{device};
    while (!open.empty()) {
      const DeviceId at = open.back();
      open.pop_back();
      if (!may_pass(at)) continue;
      for (const LinkId id : topology_.links_from(at)) {
        const DeviceId next = topology_.link(id).to;
        if (!is_inside(next) || topology_.device(next).kind == DeviceKind::gpu) continue;
        if (part_of.emplace(next, device).second) open.push_back(next);
      }
    }
    return device;
  }

  /// Whether every rank reaches every other one without a GPU on the way.
  bool ranks_are_joined() const {
    std::map<DeviceId, DeviceId> part_of;
    std::vector<std::set<DeviceId>> parts;
    for (const DeviceId rank : ranks_) parts.push_back(parts_beside(rank, part_of));
    const auto is_gpu = [&](DeviceId part) {
      return topology_.device(part).kind == DeviceKind::gpu;
    };
    const auto in_all = [&](DeviceId part) {
      return !is_gpu(part) && std::all_of(parts.begin(), parts.end(),
                                          [&](const auto& each) { return each.contains(part); });
    };
    if (parts.empty() || std::any_of(parts[0].begin(), parts[0].end(), in_all)) return true;
    const auto meet = [&](std::size_t i, std::size_t k) {
      return std::any_of(parts[i].begin(), parts[i].end(), [&](DeviceId part) {
        const bool between = !is_gpu(part) || part == ranks_[i] || part == ranks_[k];
        return between && parts[k].contains(part);
      });
    };
    for (std::size_t i = 1; i < parts.size(); ++i) {
      for (std::size_t k = 0; k < i; ++k) {
        if (!meet(i, k)) return false;
      }
    }
    return true;
  }

  /// The ends that a rank reaches, those that are equally near together, the nearest first.
  std::vector<std::vector<DeviceId>> ends_by_level(const std::vector<double>& costs) const {
    std::map<double, std::vector<DeviceId>> by_cost;
    for (const DeviceId end : ends_) {
      const double cost = costs[end - part_.first_device];
      if (std::isfinite(cost)) by_cost[cost].push_back(end);
    }
    std::vector<std::vector<DeviceId>> levels;
    levels.reserve(by_cost.size());
    for (auto& [cost, ends] : by_cost) levels.push_back(std::move(ends));
    return levels;
  }

  /// Of an end: its cables, or its links to the node where these carry less.
  Port cables_of(const std::set<DeviceId>& ends) const {
    Port all;
    for (const DeviceId end : ends) {
      Port cables;
      Port inside;
      for (const LinkId id : topology_.links_from(end)) {
        const Link link = topology_.link(id);
        (is_inside(link.to) ? inside : cables) += port_of(link);
      }
      const bool is_gpu = topology_.device(end).kind == DeviceKind::gpu;
      all += is_gpu || inside.out == 0 ? cables : narrower(cables, inside);
    }
    return all;
  }

  /// Of a rank's links that lead to ends, what NCCL takes them to carry.
  double nccl_rate_to_ends(DeviceId rank, const std::set<DeviceId>& ends) const {
    double rate = 0;
    for (const LinkId id : topology_.links_from(rank)) {
      if (!leads_to(id, ends, {})) continue;
      const Link link = topology_.link(id);
      rate += link.bandwidth.value / (link.kind == LinkKind::pcie ? pci_line_rate(1) : 1);
    }
    return rate;
  }

  /// Whether a link that starts at a rank leads to one of the ends or ranks.
  bool leads_to(LinkId first, const std::set<DeviceId>& ends,
                std::span<const DeviceId> ranks) const {
    const Link link = topology_.link(first);
    if (!is_inside(link.to)) return ends.contains(link.from);
    std::unordered_set<DeviceId> seen{link.from, link.to};
    std::vector<DeviceId> open{link.to};
    while (!open.empty()) {
      const DeviceId at = open.back();
      open.pop_back();
      if (ends.contains(at) || std::binary_search(ranks.begin(), ranks.end(), at)) return true;
      if (!may_pass(at)) continue;
      for (const LinkId id : topology_.links_from(at)) {
        const DeviceId next = topology_.link(id).to;
        if (next == link.from) continue;
        // Found at once where thousands are on one switch.
        if (std::binary_search(ranks.begin(), ranks.end(), next)) return true;
        if (is_inside(next) && seen.insert(next).second) open.push_back(next);
      }
    }
    return false;
  }

  bool may_pass(DeviceId device) const {
    const DeviceKind kind = topology_.device(device).kind;
    return kind != DeviceKind::nic && (kind != DeviceKind::gpu || passes_gpus_);
  }

  const Topology& topology_;
  NodePart part_;
  std::vector<DeviceId> ranks_;  // rising
  std::vector<DeviceId> ends_;
  std::vector<std::vector<double>> costs_;  // by rank and by device of the node
  bool passes_gpus_ = false;
};

/// Which devices cables of the fabric join, directly or by its switches.
class Network {
 public:
  explicit Network(const Topology& topology) : parents_(topology.devices().size()) {
    std::iota(parents_.begin(), parents_.end(), DeviceId{0});
    for (LinkId id = topology.first_fabric_link(); id < topology.links().size(); id += 2) {
      const Link link = topology.link(id);
      parents_[part_of(link.from)] = part_of(link.to);
    }
  }

  DeviceId part_of(DeviceId device) {
    while (parents_[device] != device) {
      parents_[device] = parents_[parents_[device]];
      device = parents_[device];
    }
    return device;
  }

  std::set<DeviceId> parts_of(const std::set<DeviceId>& devices) {
    std::set<DeviceId> parts;
    for (const DeviceId device : devices) parts.insert(part_of(device));
    return parts;
  }

 private:
  std::vector<DeviceId> parents_;
};

/// By node: the networks that its ends are on.
std::vector<std::set<DeviceId>> networks_of(const Topology& topology,
                                            std::span<const std::set<DeviceId>> ends) {
  Network network(topology);
  std::vector<std::set<DeviceId>> networks;
  for (const std::set<DeviceId>& each : ends) networks.push_back(network.parts_of(each));
  return networks;
}

/// What tells nodes apart whose ranks use equal ports: what they are like, and which GPUs are
/// ranks.
using NodeKey = std::pair<std::uint32_t, std::vector<std::uint32_t>>;

}  // namespace

Port& Port::operator+=(const Port& other) {
  out += other.out;
  in += other.in;
  bursts += other.bursts;
  return *this;
}

UsablePorts::UsablePorts(const Topology& topology, std::span<const DeviceId> gpus) {
  std::map<std::uint32_t, std::vector<DeviceId>> ranks_of_node;
  for (const DeviceId gpu : gpus) {
    ranks_of_node[static_cast<std::uint32_t>(topology.node_of(gpu))].push_back(gpu);
  }
  const std::vector<std::uint32_t> like = first_like_nodes(topology);
  std::map<NodeKey, std::size_t> use_of_key;
  std::vector<NodePorts> nodes;  // by use: the first
  std::vector<std::set<DeviceId>> ends;
  std::map<std::uint32_t, std::size_t> use_of_node;
  for (auto& [node, ranks] : ranks_of_node) {
    std::sort(ranks.begin(), ranks.end());
    const DeviceId first = topology.node(node).first_device;
    NodeKey key{like[node], {}};
    for (const DeviceId rank : ranks) key.second.push_back(rank - first);
    const auto [use, added] = use_of_key.emplace(std::move(key), nodes.size());
    use_of_node[node] = use->second;
    if (!added) continue;
    nodes.emplace_back(topology, node, ranks);
    ends.push_back(nodes.back().usable_ends());
  }
  const auto networks = networks_of(topology, ends);
  const bool alike = std::all_of(networks.begin(), networks.end(),
                                 [&](const auto& each) { return each == networks.front(); });
  on_one_network_ = alike && (networks.empty() || networks.front().size() <= 1);
  for (std::size_t use = 0; use < nodes.size() && !alike; ++use) ends[use] = nodes[use].all_ends();
  for (std::size_t use = 0; use < nodes.size(); ++use) {
    uses_.push_back({nodes[use].network(ends[use]), nodes[use].of_ranks(ends[use])});
  }
  for (const DeviceId gpu : gpus) {
    const auto node = static_cast<std::uint32_t>(topology.node_of(gpu));
    const auto& ranks = ranks_of_node[node];
    const auto place = std::lower_bound(ranks.begin(), ranks.end(), gpu) - ranks.begin();
    use_of_rank_.emplace_back(use_of_node[node], static_cast<std::size_t>(place));
  }
}

}  // namespace collsim
