#include "models/analytic/bounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <queue>
#include <stdexcept>
#include <utility>
#include <vector>

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

/// Bytes that must leave and enter a set of `inside` of the `ranks` ranks, whatever the algorithm:
/// what the others need to know of the set's data (a sum counts once), and what the set needs of
/// theirs.
Port cut_load(Collective collective, double ranks, double inside, bool has_root, double bytes) {
  const double own = bytes * inside / ranks;
  const double others = bytes - own;
  switch (collective) {
    case Collective::all_reduce:
      return {bytes, bytes};
    case Collective::all_gather:
      return {own, others};
    case Collective::reduce_scatter:
      return {others, own};
    case Collective::broadcast:
      return has_root ? Port{bytes, 0} : Port{0, bytes};
    case Collective::reduce:
      return has_root ? Port{0, bytes} : Port{bytes, 0};
    case Collective::scatter:
      return has_root ? Port{others, 0} : Port{0, own};
    case Collective::gather:
      return has_root ? Port{0, others} : Port{own, 0};
    case Collective::all_to_all:
      return {inside * others, inside * others};
    case Collective::send_recv:  // who of the set sends to whom is open
      return inside == 1 ? Port{bytes, bytes} : Port{};
    case Collective::barrier:
      break;
  }
  return {};
}

double crossing_time(const Port& load, const Port& capacity) {
  const double out = load.out > 0 ? (load.out - capacity.bursts) / capacity.out : 0;
  const double in = load.in > 0 ? (load.in - capacity.bursts) / capacity.in : 0;
  return std::max({out, in, 0.0});
}

bool reduces(const Topology& topology, bool on_network) {
  return std::any_of(topology.devices().begin(), topology.devices().end(), [&](const Device& each) {
    return each.reduces && (each.kind == DeviceKind::network_switch || !on_network);
  });
}

/// What all ports of `parties` carry together in an all-reduce where only the parties add up and
/// copy. Until one of them knows the sum, every other has sent what it has; after that, every other
/// receives.
double traffic_time(const std::vector<Port>& parties, double bytes) {
  Port all;
  for (const Port& port : parties) all += port;
  const double load = 2 * (static_cast<double>(parties.size()) - 1) * bytes;
  return crossing_time({load, load}, all);
}

class BandwidthBound {
 public:
  BandwidthBound(const Topology& topology, std::span<const DeviceId> gpus, const BoundedCall& call)
      : topology_(topology),
        gpus_(gpus),
        call_(call),
        ports_(count_ports(topology)),
        ranks_of_node_(topology.node_count()) {
    for (const DeviceId gpu : gpus_) ++ranks_of_node_[node_of(gpu)];
  }

  double time() const {
    const double cut = cut_time();
    return call_.collective == Collective::all_reduce ? std::max(cut, all_reduce_time()) : cut;
  }

 private:
  std::size_t node_of(DeviceId gpu) const {
    return static_cast<std::size_t>(topology_.device(gpu).node);
  }
  double bytes() const { return static_cast<double>(call_.size.count); }

  /// The sets of ranks tried are single GPUs and whole nodes.
  double cut_time() const {
    const auto ranks = static_cast<double>(gpus_.size());
    const std::size_t root_node = node_of(gpus_[call_.root]);
    double time = 0;
    for (Rank rank = 0; rank < gpus_.size(); ++rank) {
      const Port load = cut_load(call_.collective, ranks, 1, rank == call_.root, bytes());
      time = std::max(time, crossing_time(load, ports_.devices[gpus_[rank]]));
      const std::size_t node = node_of(gpus_[rank]);
      const double inside = ranks_of_node_[node];
      if (inside == ranks) continue;
      const Port of_node = cut_load(call_.collective, ranks, inside, node == root_node, bytes());
      time = std::max(time, crossing_time(of_node, ports_.nodes[node]));
    }
    return time;
  }

  double all_reduce_time() const {
    double time = 0;
    if (!reduces(topology_, false)) {
      std::vector<Port> of_gpus;
      for (const DeviceId gpu : gpus_) of_gpus.push_back(ports_.devices[gpu]);
      time = traffic_time(of_gpus, bytes());
    }
    if (!reduces(topology_, true)) {
      std::vector<Port> of_nodes;
      for (std::size_t node = 0; node < ranks_of_node_.size(); ++node) {
        if (ranks_of_node_[node] > 0) of_nodes.push_back(ports_.nodes[node]);
      }
      if (of_nodes.size() > 1) time = std::max(time, traffic_time(of_nodes, bytes()));
    }
    return time;
  }

  const Topology& topology_;
  std::span<const DeviceId> gpus_;
  const BoundedCall& call_;
  Ports ports_;
  std::vector<double> ranks_of_node_;
};

/// The latency of the shortest way from `origin` to each device.
std::vector<double> latencies_from(const Topology& topology, DeviceId origin) {
  std::vector<double> times(topology.devices().size(), std::numeric_limits<double>::infinity());
  using Entry = std::pair<double, DeviceId>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  times[origin] = 0;
  queue.emplace(0, origin);
  while (!queue.empty()) {
    const auto [at, device] = queue.top();
    queue.pop();
    if (at > times[device]) continue;
    for (const LinkId id : topology.links_from(device)) {
      const Link& link = topology.link(id);
      const double there = at + link.latency.value;
      if (there >= times[link.to]) continue;
      times[link.to] = there;
      queue.emplace(there, link.to);
    }
  }
  return times;
}

/// Both ways between two devices are alike, so that it holds for a root that hears, too. Neighbours
/// that send to each other may all be near.
double latency_bound(const Topology& topology, std::span<const DeviceId> gpus,
                     const BoundedCall& call) {
  if (call.collective == Collective::send_recv) return 0;
  const auto farther = [](const std::vector<double>& times) {
    return [&times](DeviceId a, DeviceId b) { return times[a] < times[b]; };
  };
  const DeviceId origin = gpus[has_root(call.collective) ? call.root : 0];
  std::vector<double> times = latencies_from(topology, origin);
  DeviceId farthest = *std::max_element(gpus.begin(), gpus.end(), farther(times));
  if (has_root(call.collective)) return times[farthest] / call.calls;
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

Bounds lower_bounds(const Topology& topology, std::span<const DeviceId> gpus,
                    const BoundedCall& call) {
  const bool moves = call.size.count > 0 || call.collective == Collective::barrier;
  if (gpus.size() < 2 || !moves) return {};
  return {Seconds{BandwidthBound(topology, gpus, call).time()},
          Seconds{latency_bound(topology, gpus, call)}};
}

void check_not_below(Seconds time, Seconds least, std::string_view what) {
  constexpr double rounding =
      1e-9;  // of a sum over millions of events; a wrong model is off by more
  if (time.value >= least.value * (1 - rounding)) return;
  throw std::logic_error(fmt::format("{} came out as {:.6g} us, below its lower bound of {:.6g} us",
                                     what, in_microseconds(time), in_microseconds(least)));
}

}  // namespace collsim
