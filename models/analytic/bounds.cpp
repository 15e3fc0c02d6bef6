#include "models/analytic/bounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>
#include <vector>

#include "models/analytic/min_latencies.h"
#include "sim/base/input_error.h"

namespace collsim {

namespace {

/// Capacity that leaves and that enters something, or what must cross it.
struct Port {
  double out = 0;
  double in = 0;
  double bursts = 0;  ///< that the links of a capacity pass at once

  Port& operator+=(const Port& other) {
    out += other.out;
    in += other.in;
    bursts += other.bursts;
    return *this;
  }
};

struct Ports {
  std::vector<Port> devices;
  std::vector<Port> nodes;
};

Ports count_ports(const Topology& topology) {
  Ports ports{std::vector<Port>(topology.devices().size()),
              std::vector<Port>(topology.node_count())};
  for (const Link& link : topology.links()) {
    const double rate = line_rate(link).value;
    const auto burst = static_cast<double>(link.burst.size.count);
    ports.devices[link.from] += {rate, 0, burst};
    ports.devices[link.to] += {0, rate, burst};
    const auto from = topology.device(link.from).node;
    const auto to = topology.device(link.to).node;
    if (from == to) continue;
    if (from >= 0) ports.nodes[static_cast<std::size_t>(from)] += {rate, 0, burst};
    if (to >= 0) ports.nodes[static_cast<std::size_t>(to)] += {0, rate, burst};
  }
  return ports;
}

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
    case Collective::send_recv:  // who of the set sends to whom is open
      return inside == 1 ? Port{1, 1} : Port{};
    case Collective::barrier:
      break;
  }
  return {};
}

void add_cuts(const Port& load, const Port& capacity, std::vector<Cut>& cuts) {
  if (load.out > 0) cuts.push_back({load.out, capacity.out, capacity.bursts});
  if (load.in > 0) cuts.push_back({load.in, capacity.in, capacity.bursts});
}

bool reduces(const Topology& topology, bool on_network) {
  return std::any_of(topology.devices().begin(), topology.devices().end(), [&](const Device& each) {
    return each.reduces && (each.kind == DeviceKind::network_switch || !on_network);
  });
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

std::size_t node_of(const Topology& topology, DeviceId gpu) {
  return static_cast<std::size_t>(topology.device(gpu).node);
}

/// The sets of ranks tried are single GPUs and whole nodes, and all of either in an all-reduce.
std::vector<Cut> cuts_of(const Topology& topology, std::span<const DeviceId> gpus,
                         Collective collective, Rank root) {
  const Ports ports = count_ports(topology);
  const auto ranks = static_cast<double>(gpus.size());
  std::vector<Cut> cuts;
  std::vector<Port> of_gpus;
  std::map<std::size_t, double> ranks_of_node;
  for (Rank rank = 0; rank < gpus.size(); ++rank) {
    of_gpus.push_back(ports.devices[gpus[rank]]);
    ++ranks_of_node[node_of(topology, gpus[rank])];
    add_cuts(cut_load(collective, ranks, 1, rank == root), of_gpus.back(), cuts);
  }
  std::vector<Port> of_nodes;
  for (const auto& [node, inside] : ranks_of_node) {
    of_nodes.push_back(ports.nodes[node]);
    if (inside == ranks) continue;
    const bool has_root = node == node_of(topology, gpus[root]);
    add_cuts(cut_load(collective, ranks, inside, has_root), of_nodes.back(), cuts);
  }
  if (collective == Collective::all_reduce) {
    if (!reduces(topology, false)) add_traffic(of_gpus, cuts);
    if (!reduces(topology, true)) add_traffic(of_nodes, cuts);
  }
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  return cuts;
}

std::vector<double> latencies_from(const Topology& topology, DeviceId origin) {
  return min_latencies(
      topology.devices().size(), origin, [&](std::size_t device, const auto& visit) {
        for (const LinkId id : topology.links_from(static_cast<DeviceId>(device))) {
          const Link& link = topology.link(id);
          visit(link.to, link.latency.value);
        }
      });
}

/// Both ways between two devices are alike, so that it holds for a root that hears, too. Neighbours
/// that send to each other may all be near.
double latency_bound(const Topology& topology, std::span<const DeviceId> gpus,
                     Collective collective, Rank root, std::uint32_t calls) {
  if (collective == Collective::send_recv) return 0;
  const auto farther = [](const std::vector<double>& times) {
    return [&times](DeviceId a, DeviceId b) { return times[a] < times[b]; };
  };
  std::vector<double> times = latencies_from(topology, gpus[root]);
  DeviceId farthest = *std::max_element(gpus.begin(), gpus.end(), farther(times));
  if (has_root(collective)) return times[farthest] / calls;
  times = latencies_from(topology, farthest);  // which is farther from some than rank 0 is
  farthest = *std::max_element(gpus.begin(), gpus.end(), farther(times));
  return times[farthest];
}

}  // namespace

Seconds Bounds::largest() const {
  return std::max(bandwidth, latency);
}

BytesPerSecond line_rate(const Link& link) {
  constexpr double wire_of_usable_pcie = 15.75 / 12;
  return link.kind == LinkKind::pcie ? wire_of_usable_pcie * link.bandwidth : link.bandwidth;
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
