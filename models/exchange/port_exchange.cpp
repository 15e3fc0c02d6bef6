#include "models/exchange/port_exchange.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

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
    for (const LinkId id : route.links) {
      const Link link = topology_.link(id);
      add({false, id}, reached(link), bytes, loaded);
      for (const SharedResourceId shared : topology_.shares_of_link(id)) {
        const double share = link.kind == LinkKind::nvlink ? shares_.nvlink : 1;
        add({true, shared}, share * topology_.shared_resource(shared).bandwidth, bytes, loaded);
      }
    }
    return loaded;
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

struct Arrivals : FabricListener {
  std::vector<double> bytes;  // by tag
  double delivered = 0;

  void on_flow_done(EventTag tag) override { delivered += bytes[tag]; }
  void on_timer(EventTag /*tag*/) override {}
};

}  // namespace

PortExchange exchange_over_ports(const Topology& topology, std::span<const DeviceId> gpus,
                                 const TrafficMatrix& bytes, const ReachedShares& shares) {
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

}  // namespace collsim
