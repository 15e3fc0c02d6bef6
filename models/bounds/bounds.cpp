#include "models/bounds/bounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <stdexcept>
#include <vector>

#include "models/bounds/min_latencies.h"
#include "models/bounds/usable_ports.h"
#include "sim/base/input_error.h"
#include "sim/topologies/like_nodes.h"

namespace collsim {

namespace {

/// What must leave and enter a set of `inside` of the `ranks` ranks, whatever the algorithm:
/// what the others need to know of the set's data (a sum counts once), and what the set needs of
/// theirs. For each byte of the call.
Port cut_load(Collective collective, double ranks, double inside, bool has_root) {
  const double own = inside / ranks;
  const double others = 1 - own;
  switch (collective) {
    case Collective::all_reduce:
      return {1, 1};
    case Collective::all_gather:
      return {own, others};
    case Collective::reduce_scatter:
      return {others, own};
    case Collective::broadcast:
      return has_root ? Port{1, 0} : Port{0, 1};
    case Collective::reduce:
      return has_root ? Port{0, 1} : Port{1, 0};
    case Collective::scatter:
      return has_root ? Port{others, 0} : Port{0, own};
    case Collective::gather:
      return has_root ? Port{0, others} : Port{own, 0};
    case Collective::all_to_all:
      return {inside * others, inside * others};
    case Collective::send_recv:  // of a single rank; nodes: add_messages()
      return inside == 1 ? Port{1, 1} : Port{};
    case Collective::barrier:
      break;
  }
  return {};
}

void add_cuts(const Port& load, const Port& capacity, std::vector<Cut>& cuts) {
  // Ranks without any way to each other are a Router's to complain of.
  if (load.out > 0 && capacity.out > 0) cuts.push_back({load.out, capacity.out, capacity.bursts});
  if (load.in > 0 && capacity.in > 0) cuts.push_back({load.in, capacity.in, capacity.bursts});
}

bool reduces(const Topology& topology, bool on_network) {
  const auto adds_up = [&](const GraphDevice& each) {
    return each.reduces && (each.kind == DeviceKind::network_switch || !on_network);
  };
  const auto fabric = topology.fabric_devices();
  if (std::any_of(fabric.begin(), fabric.end(), adds_up)) return true;
  const IndexedGraph* last = nullptr;
  for (std::uint32_t node = 0; node < topology.node_count(); ++node) {
    const IndexedGraph* const graph = topology.node(node).graph;
    const auto& devices = graph->graph().devices;
    if (graph != last && std::any_of(devices.begin(), devices.end(), adds_up)) return true;
    last = graph;
  }
  return false;
}

/// What all ports of `parties` carry together in an all-reduce where only the parties add up and
/// copy. Until one of them knows the sum, every other has sent what it has; after that, every other
/// receives.
void add_traffic(const std::vector<Port>& parties, std::vector<Cut>& cuts) {
  if (parties.size() < 2) return;
  Port all;
  for (const Port& port : parties) all += port;
  const double load = 2 * (static_cast<double>(parties.size()) - 1);
  add_cuts({load, load}, all, cuts);
}

/// What ranks of a node send to, and get from, ranks of other nodes in a send_recv.
struct Messages {
  double out = 0;
  double in = 0;
  Rank sender = 0;    ///< one of them
  Rank receiver = 0;  ///< one of them, among all that get something
};

/// A message to another node goes from its sender's GPU to its receiver's, and enters by a NIC of
/// the receiver. It may leave by any that the sender's node uses (PXN).
void add_messages(const Topology& topology, std::span<const DeviceId> gpus,
                  const UsablePorts& ports, std::vector<Cut>& cuts) {
  std::map<std::int32_t, Messages> nodes;
  std::vector<DeviceId> receivers;
  for (Rank to = 0; to < gpus.size(); ++to) {
    const Rank from = to > 0 ? to - 1 : static_cast<Rank>(gpus.size()) - 1;
    if (topology.node_of(gpus[from]) == topology.node_of(gpus[to])) continue;
    Messages& sending = nodes[topology.node_of(gpus[from])];
    ++sending.out;
    sending.sender = from;
    Messages& receiving = nodes[topology.node_of(gpus[to])];
    ++receiving.in;
    receiving.receiver = static_cast<Rank>(receivers.size());
    receivers.push_back(gpus[to]);
  }
  const UsablePorts entries(topology, receivers);
  for (const auto& [node, messages] : nodes) {
    const Port all = ports.of_node(messages.sender);
    add_cuts({messages.out, 0}, all, cuts);
    const bool direct = ports.are_on_one_network();  // else a Router may take another's NIC
    add_cuts({0, messages.in}, direct ? entries.of_node(messages.receiver) : all, cuts);
  }
}

/// The sets of ranks tried are single GPUs and whole nodes, and all of either in an all-reduce.
std::vector<Cut> cuts_of(const Topology& topology, std::span<const DeviceId> gpus,
                         Collective collective, Rank root) {
  const UsablePorts ports(topology, gpus);
  const auto ranks = static_cast<double>(gpus.size());
  std::vector<Cut> cuts;
  std::vector<Port> of_gpus;
  struct Inside {
    double ranks = 0;
    Rank one = 0;
  };
  std::map<std::int32_t, Inside> nodes;
  for (Rank rank = 0; rank < gpus.size(); ++rank) {
    of_gpus.push_back(ports.of_rank(rank));
    Inside& inside = nodes[topology.node_of(gpus[rank])];
    ++inside.ranks;
    inside.one = rank;
    // Neighbours are mostly alike.
    const bool known_cut =
        rank > 0 && of_gpus[rank - 1] == of_gpus[rank] && rank != root && rank - 1 != root;
    if (!known_cut) add_cuts(cut_load(collective, ranks, 1, rank == root), of_gpus.back(), cuts);
  }
  std::vector<Port> of_nodes;
  for (const auto& [node, inside] : nodes) {
    of_nodes.push_back(ports.of_node(inside.one));
    if (inside.ranks == ranks) continue;
    const bool has_root = node == topology.node_of(gpus[root]);
    add_cuts(cut_load(collective, ranks, inside.ranks, has_root), of_nodes.back(), cuts);
  }
  if (collective == Collective::send_recv) add_messages(topology, gpus, ports, cuts);
  if (collective == Collective::all_reduce) {
    if (!reduces(topology, false)) add_traffic(of_gpus, cuts);
    if (!reduces(topology, true)) add_traffic(of_nodes, cuts);
  }
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  return cuts;
}

/// The least latencies from a GPU. Nodes that are like each other, and not the GPU's own, are
/// reached alike, so that only the first of them is searched.
class Latencies {
 public:
  explicit Latencies(const Topology& topology)
      : topology_(topology), like_(first_like_nodes(topology)) {}

  void set_origin(DeviceId origin) {
    choose_stand_ins(topology_.node_of(origin));
    vertices_.clear();
    first_vertex_.assign(topology_.node_count(), absent);
    for (std::uint32_t node = 0; node < topology_.node_count(); ++node) {
      if (stand_in_[node] != node) continue;
      first_vertex_[node] = vertices_.size();
      const NodePart part = topology_.node(node);
      const auto size = static_cast<DeviceId>(part.graph->graph().devices.size());
      for (DeviceId number = 0; number < size; ++number) {
        vertices_.push_back(part.first_device + number);
      }
    }
    first_of_fabric_ = vertices_.size();
    for (DeviceId id = topology_.first_fabric_device(); id < topology_.devices().size(); ++id) {
      vertices_.push_back(id);
    }
    times_ = min_latencies(vertices_.size(), vertex_of(origin),
                           [&](std::size_t vertex, const auto& visit) {
                             for (const LinkId id : topology_.links_from(vertices_[vertex])) {
                               const Link link = topology_.link(id);
                               const std::size_t to = vertex_of(link.to);
                               if (to != absent) visit(to, link.latency.value);
                             }
                           });
  }

  double of(DeviceId gpu) const {
    const NodePart part = topology_.node(static_cast<std::uint32_t>(topology_.node_of(gpu)));
    const std::uint32_t node = stand_in_[static_cast<std::size_t>(topology_.node_of(gpu))];
    return times_[first_vertex_[node] + (gpu - part.first_device)];
  }

  /// The first of the GPUs that are farthest.
  DeviceId farthest(std::span<const DeviceId> gpus) const {
    return *std::max_element(gpus.begin(), gpus.end(),
                             [&](DeviceId a, DeviceId b) { return of(a) < of(b); });
  }

 private:
  static constexpr std::size_t absent = std::numeric_limits<std::size_t>::max();

  void choose_stand_ins(std::int32_t own_node) {
    constexpr auto none = std::numeric_limits<std::uint32_t>::max();
    std::vector<std::uint32_t> of_likes(topology_.node_count(), none);
    stand_in_.resize(topology_.node_count());
    for (std::uint32_t node = 0; node < topology_.node_count(); ++node) {
      std::uint32_t& first = of_likes[like_[node]];
      const bool own = static_cast<std::int32_t>(node) == own_node;
      if (!own && first == none) first = node;
      stand_in_[node] = own ? node : first;
    }
  }

  std::size_t vertex_of(DeviceId device) const {
    const std::int32_t node = topology_.node_of(device);
    if (node < 0) return first_of_fabric_ + (device - topology_.first_fabric_device());
    const std::size_t first = first_vertex_[static_cast<std::size_t>(node)];
    const DeviceId begin = topology_.node(static_cast<std::uint32_t>(node)).first_device;
    return first == absent ? absent : first + (device - begin);
  }

  const Topology& topology_;
  std::vector<std::uint32_t> like_;
  std::vector<std::uint32_t> stand_in_;  // by node: the one that is searched for it
  std::vector<DeviceId> vertices_;
  std::vector<std::size_t> first_vertex_;
  std::size_t first_of_fabric_ = 0;
  std::vector<double> times_;
};

/// Both ways between two devices are alike, so that it holds for a root that hears, too. Neighbours
/// that send to each other may all be near.
double latency_bound(const Topology& topology, std::span<const DeviceId> gpus,
                     Collective collective, Rank root, std::uint32_t calls) {
  if (collective == Collective::send_recv) return 0;
  Latencies latencies(topology);
  latencies.set_origin(gpus[root]);
  const DeviceId farthest = latencies.farthest(gpus);
  if (has_root(collective)) return latencies.of(farthest) / calls;
  latencies.set_origin(farthest);  // which is farther from some than rank 0 is
  return latencies.of(latencies.farthest(gpus));
}

}  // namespace

Seconds Bounds::largest() const {
  return std::max(bandwidth, latency);
}

MachineBounds::MachineBounds(const Topology& topology, std::span<const DeviceId> gpus,
                             Collective collective, Rank root, std::uint32_t calls)
    : collective_(collective) {
  if (gpus.size() < 2) return;
  if (!has_root(collective)) root = 0;
  if (root >= gpus.size()) {
    throw InputError(fmt::format("root {} of {} ranks", root, gpus.size()),
                     fmt::format("0 to {}", gpus.size() - 1));
  }
  cuts_ = cuts_of(topology, gpus, collective, root);
  latency_ = Seconds{latency_bound(topology, gpus, collective, root, calls)};
}

Bounds MachineBounds::of(Bytes size) const {
  const bool moves = size.count > 0 || collective_ == Collective::barrier;
  if (!moves) return {};
  double most = 0;
  for (const Cut& cut : cuts_) {
    most = std::max(most, (cut.load * static_cast<double>(size.count) - cut.burst) / cut.rate);
  }
  return {Seconds{most}, latency_};
}

void check_not_below(Seconds time, Seconds least, std::string_view what) {
  constexpr double rounding =
      1e-9;  // of a sum over millions of events; a wrong model is off by more
  if (time.value >= least.value * (1 - rounding)) return;
  throw std::logic_error(fmt::format("{} came out as {:.6g} us, below its lower bound of {:.6g} us",
                                     what, in_microseconds(time), in_microseconds(least)));
}

}  // namespace collsim
