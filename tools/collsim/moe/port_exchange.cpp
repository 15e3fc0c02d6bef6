#include "tools/collsim/moe/port_exchange.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "sim/base/input_error.h"
#include "sim/fabric/engine.h"
#include "sim/routing/routing.h"

namespace collsim {

namespace {

/// Faster than any link, for routes on which none limits.
constexpr BytesPerSecond faster_than_links{1e18};

/// Numbers what flows load, and adds up how much.
class LoadedPorts {
 public:
  LoadedPorts(const Topology& topology, const ReachedShares& shares, Fabric& fabric)
      : topology_(topology), shares_(shares), fabric_(fabric) {}

  std::vector<ResourceId> load(const Route& route, double bytes) {
    std::vector<ResourceId> loaded;
    for (const LinkId id : route.links) load_link(id, bytes, loaded);
    return loaded;
  }

  void load_link(LinkId id, double bytes, std::vector<ResourceId>& loaded) {
    const Link link = topology_.link(id);
    add({false, id}, reached(link), bytes, loaded);
    for (const SharedResourceId shared : topology_.shares_of_link(id)) {
      const double share = link.kind == LinkKind::nvlink ? shares_.nvlink : 1;
      add({true, shared}, share * topology_.shared_resource(shared).bandwidth, bytes, loaded);
    }
  }

  std::vector<PortLoad> sorted() const {
    std::vector<PortLoad> loads;
    for (const auto& [key, port] : ports_) {
      const std::string name =
          key.first ? topology_.shared_resource_name(key.second) : topology_.link_name(key.second);
      loads.push_back({name, port.bytes, Seconds{port.bytes / port.rate.value}});
    }
    std::stable_sort(loads.begin(), loads.end(),
                     [](const PortLoad& a, const PortLoad& b) { return a.time > b.time; });
    return loads;
  }

 private:
  using Key = std::pair<bool, std::uint32_t>;  // whether shared, and its id
  struct Port {
    ResourceId resource = 0;
    BytesPerSecond rate;
    double bytes = 0;
  };

  BytesPerSecond reached(const Link& link) const {
    if (link.kind == LinkKind::nvlink) return shares_.nvlink * link.bandwidth;
    if (link.kind == LinkKind::network) return shares_.network * link.bandwidth;
    return link.bandwidth;
  }

  /// A flow loads a resource once, however often it passes.
  void add(const Key& key, BytesPerSecond rate, double bytes, std::vector<ResourceId>& loaded) {
    auto found = ports_.find(key);
    if (found == ports_.end()) {
      found = ports_.emplace(key, Port{fabric_.add_resource(rate), rate, 0}).first;
    }
    const ResourceId resource = found->second.resource;
    if (std::find(loaded.begin(), loaded.end(), resource) != loaded.end()) return;
    found->second.bytes += bytes;
    loaded.push_back(resource);
  }

  const Topology& topology_;
  const ReachedShares& shares_;
  Fabric& fabric_;
  std::map<Key, Port> ports_;
};

constexpr double no_difference = 1e-6;  // a relative one that is none

/// The ranks of the first host. Throws InputError where ranks are not alike.
std::vector<bool> alike_ranks(const Topology& topology, std::span<const DeviceId> gpus,
                              const TrafficMatrix& bytes) {
  std::vector<double> sent(gpus.size());
  std::vector<double> received(gpus.size());
  std::map<std::int32_t, std::size_t> ranks_of_node;
  for (Rank from = 0; from < bytes.ranks(); ++from) {
    ++ranks_of_node[topology.node_of(gpus[from])];
    for (Rank to = 0; to < bytes.ranks(); ++to) {
      if (from == to) continue;
      sent[from] += bytes.amount(from, to);
      received[to] += bytes.amount(from, to);
    }
  }
  const std::int32_t home = topology.node_of(gpus.front());
  const auto home_template = topology.node_template(static_cast<std::uint32_t>(home));
  bool are_alike = true;
  for (std::size_t rank = 0; rank < gpus.size(); ++rank) {
    are_alike = are_alike && std::abs(sent[rank] - sent[0]) <= no_difference * sent[0] &&
                std::abs(received[rank] - received[0]) <= no_difference * received[0];
  }
  for (const auto& [node, ranks] : ranks_of_node) {
    are_alike = are_alike && ranks == ranks_of_node[home] &&
                topology.node_template(static_cast<std::uint32_t>(node)) == home_template;
  }
  if (!are_alike) {
    throw InputError(fmt::format("an exchange of {} ranks that are not alike", gpus.size()),
                     fmt::format("at most {} ranks, or equal hosts whose ranks have as many "
                                 "experts and tokens each, and no skew",
                                 max_single_ranks));
  }
  std::vector<bool> at_home;
  for (const DeviceId gpu : gpus) at_home.push_back(topology.node_of(gpu) == home);
  return at_home;
}

/// How many switches lie between each device of the fabric and the nearest of the nodes' NICs.
class SwitchLayers {
 public:
  SwitchLayers(const Topology& topology, std::span<const DeviceId> gpus) : topology_(topology) {
    std::set<std::int32_t> nodes;
    for (const DeviceId gpu : gpus) nodes.insert(topology.node_of(gpu));
    layers_.resize(topology.fabric_devices().size(), unknown);
    for (std::uint32_t i = 0; i < layers_.size(); ++i) {
      for (const LinkId id : topology.links_from(topology.first_fabric_device() + i)) {
        if (nodes.contains(topology.node_of(topology.link(id).to))) layers_[i] = 0;
      }
      if (layers_[i] == 0) reached_.push_back(i);
    }
    for (std::size_t next = 0; next < reached_.size(); ++next) reach_from(reached_[next]);
  }

  /// The layers that a cable between switches joins; nothing for other links.
  std::optional<std::pair<int, int>> of(const Link& link) const {
    const DeviceId first = topology_.first_fabric_device();
    if (link.from < first || link.to < first) return std::nullopt;
    return std::pair(layers_[link.from - first], layers_[link.to - first]);
  }

 private:
  static constexpr int unknown = -1;

  void reach_from(std::uint32_t place) {
    const DeviceId first = topology_.first_fabric_device();
    for (const LinkId id : topology_.links_from(first + place)) {
      const DeviceId to = topology_.link(id).to;
      if (to < first || layers_[to - first] != unknown) continue;
      layers_[to - first] = layers_[place] + 1;
      reached_.push_back(to - first);
    }
  }

  const Topology& topology_;
  std::vector<int> layers_;
  std::vector<std::uint32_t> reached_;
};

/// What all cables between two layers of switches carry.
struct LayerLoad {
  LinkId first = 0;  ///< of them
  double bytes = 0;  ///< of all hosts
  double rate = 0;   ///< of all of them, bytes per second
};
using LayerLoads = std::map<std::pair<int, int>, LayerLoad>;

void add_layers(const Topology& topology, const SwitchLayers& layers, const LayerLoads& loads,
                double network_share, std::vector<PortLoad>& ports) {
  LayerLoads all = loads;
  for (LinkId id = topology.first_fabric_link(); id < topology.links().size(); ++id) {
    const Link link = topology.link(id);
    const auto key = layers.of(link);
    const auto found = key ? all.find(*key) : all.end();
    if (found == all.end()) continue;
    if (found->second.rate == 0) found->second.first = id;
    found->second.rate += network_share * link.bandwidth.value;
  }
  for (const auto& [key, load] : all) {
    const double part = network_share * topology.link(load.first).bandwidth.value / load.rate;
    ports.push_back({topology.link_name(load.first) + ", and its like", part * load.bytes,
                     Seconds{load.bytes / load.rate}});
  }
}

struct Arrivals : FabricListener {
  std::vector<double> bytes;  // by tag
  double delivered = 0;

  void on_flow_done(EventTag tag) override { delivered += bytes[tag]; }
  void on_timer(EventTag /*tag*/) override {}
};

}  // namespace

PortExchange exchange_over_ports(const Topology& topology, std::span<const DeviceId> gpus,
                                 const TrafficMatrix& bytes, const ReachedShares& shares) {
  if (bytes.ranks() > max_single_ranks) return balanced_exchange(topology, gpus, bytes, shares);
  Router router(topology);
  const std::unique_ptr<Fabric> fabric = make_fabric(Engine::native);
  LoadedPorts ports(topology, shares, *fabric);
  Arrivals arrivals;
  std::vector<RouteId> routes;
  for (Rank from = 0; from < bytes.ranks(); ++from) {
    for (Rank to = 0; to < bytes.ranks(); ++to) {
      const double amount = bytes.amount(from, to);
      if (from == to || amount <= 0) continue;
      const Route route = router.route(gpus[from], gpus[to]);
      routes.push_back(fabric->add_route(ports.load(route, amount)));
      arrivals.bytes.push_back(amount);
    }
  }
  for (std::size_t i = 0; i < routes.size(); ++i) {
    fabric->start_flow(routes[i], arrivals.bytes[i], faster_than_links, static_cast<EventTag>(i));
  }
  fabric->run(arrivals);
  return {fabric->now(), ports.sorted(), arrivals.delivered};
}

PortExchange balanced_exchange(const Topology& topology, std::span<const DeviceId> gpus,
                               const TrafficMatrix& bytes, const ReachedShares& shares) {
  const std::vector<bool> at_home = alike_ranks(topology, gpus, bytes);
  const std::int32_t home = topology.node_of(gpus.front());
  const SwitchLayers layers(topology, gpus);
  const std::unique_ptr<Fabric> fabric = make_fabric(Engine::native);  // only numbers ports here
  LoadedPorts ports(topology, shares, *fabric);
  LayerLoads between;
  const auto at = std::count(at_home.begin(), at_home.end(), true);
  const double hosts = static_cast<double>(gpus.size()) / static_cast<double>(at);
  double delivered = 0;
  Router router(topology);
  for (Rank from = 0; from < bytes.ranks(); ++from) {
    for (Rank to = 0; to < bytes.ranks(); ++to) {
      const double amount = bytes.amount(from, to);
      if (from == to || amount <= 0 || !(at_home[from] || at_home[to])) continue;
      if (at_home[from]) delivered += hosts * amount;
      std::vector<ResourceId> loaded;
      for (const LinkId id : router.route(gpus[from], gpus[to]).links) {
        const Link link = topology.link(id);
        const bool is_home =
            topology.node_of(link.from) == home || topology.node_of(link.to) == home;
        if (is_home) ports.load_link(id, amount, loaded);
        const auto key = at_home[from] ? layers.of(link) : std::nullopt;
        if (key) between[*key].bytes += hosts * amount;
      }
    }
  }
  std::vector<PortLoad> loads = ports.sorted();
  add_layers(topology, layers, between, shares.network, loads);
  std::stable_sort(loads.begin(), loads.end(),
                   [](const PortLoad& a, const PortLoad& b) { return a.time > b.time; });
  const Seconds time = loads.empty() ? Seconds{} : loads.front().time;
  return {time, std::move(loads), delivered};
}

}  // namespace collsim
