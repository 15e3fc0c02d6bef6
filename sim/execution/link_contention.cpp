#include "sim/execution/link_contention.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <unordered_map>

namespace collsim {

namespace {

/// Gives numbers to the ends of what goes over links, to the sources or to the destinations.
class LinkEnds {
 public:
  explicit LinkEnds(std::size_t links) : first_(links), several_(links, false) {}

  /// Something goes over the link from, or to, the rank.
  void see(ResourceId link, Rank rank) {
    if (!first_[link]) first_[link] = rank;
    if (first_[link] != rank) several_[link] = true;
  }
  /// When all is seen: the number of the rank at that link, `alone` where it is the only one.
  std::uint32_t number(ResourceId link, Rank rank, std::uint32_t alone) {
    if (!several_[link]) return alone;
    const std::uint64_t key = (std::uint64_t{link} << 32U) | rank;
    return numbers_.try_emplace(key, static_cast<std::uint32_t>(numbers_.size())).first->second;
  }
  std::size_t count() const { return numbers_.size(); }

 private:
  std::vector<std::optional<Rank>> first_;  // by link
  std::vector<bool> several_;               // by link
  std::unordered_map<std::uint64_t, std::uint32_t> numbers_;
};

/// Calls visit(connection, link) for every link that a connection of the channel goes over.
template <typename Visit>
void for_each_hop(const Plan& plan, const Wiring& wiring, std::uint32_t channel,
                  const Visit& visit) {
  const auto connections = plan.schedule(channel).connections();
  for (std::size_t i = 0; i < connections.size(); ++i) {
    for (const ResourceId link : wiring.wires[channel][i].resources) visit(connections[i], link);
  }
}

}  // namespace

LinkContention::LinkContention(const Plan& plan, const Wiring& wiring) {
  for (const BytesPerSecond capacity : wiring.capacities) links_.push_back({0, 1 / capacity.value});
  add_hops(plan, wiring);
}

void LinkContention::add_hops(const Plan& plan, const Wiring& wiring) {
  const auto channels = static_cast<std::uint32_t>(wiring.wires.size());
  LinkEnds sources(links_.size());
  LinkEnds destinations(links_.size());
  for (std::uint32_t channel = 0; channel < channels; ++channel) {
    for_each_hop(plan, wiring, channel, [&](const Connection& connection, ResourceId link) {
      sources.see(link, connection.src);
      destinations.see(link, connection.dst);
    });
  }
  for (std::uint32_t channel = 0; channel < channels; ++channel) {
    first_connection_.push_back(static_cast<std::uint32_t>(begins_.size()));
    std::uint32_t begin = static_cast<std::uint32_t>(hops_.size());
    for (const Wire& wire : wiring.wires[channel]) {
      begins_.push_back(begin);
      begin += static_cast<std::uint32_t>(wire.resources.size());
    }
    for_each_hop(plan, wiring, channel, [&](const Connection& connection, ResourceId link) {
      hops_.push_back({link, sources.number(link, connection.src, alone),
                       destinations.number(link, connection.dst, alone)});
    });
  }
  begins_.push_back(static_cast<std::uint32_t>(hops_.size()));
  from_source_.resize(sources.count(), 0);
  to_destination_.resize(destinations.count(), 0);
}

template <typename Visit>
void LinkContention::for_each_hop_of(const Worker& worker, const Visit& visit) const {
  const std::uint32_t first = first_connection_[worker.channel];
  for (const ConnectionId peer : worker.peers(worker.current().send_group)) {
    const std::uint32_t end = begins_[first + peer + 1];
    for (std::uint32_t i = begins_[first + peer]; i < end; ++i) visit(hops_[i]);
  }
}

double LinkContention::join(Worker& worker, BytesPerSecond rate) {
  worker.demand = std::min(rate, worker.part).value;
  double fullest = 0;
  double other_sources = 0;
  double other_destinations = 0;
  const auto add = [&](double& demand, double of_link) {
    demand += worker.demand;
    return 1 - demand / of_link;
  };
  for_each_hop_of(worker, [&](const Hop& hop) {
    Link& link = links_[hop.link];
    link.demand += worker.demand;
    fullest = std::max(fullest, fullness(link));
    if (hop.source != alone) {
      other_sources = std::max(other_sources, add(from_source_[hop.source], link.demand));
    }
    if (hop.destination != alone) {
      other_destinations =
          std::max(other_destinations, add(to_destination_[hop.destination], link.demand));
    }
  });
  const double blocked = std::sqrt(other_sources * other_destinations);
  const double of_link = 1 - worker.cost->corrections.hol_blocking * blocked;
  return worker.cost->contended_share(fullest, worker.steps_done(), of_link);
}

double LinkContention::overfill(const Worker& worker) const {
  double fullest = 1;
  if (worker.demand == 0) return fullest;
  for_each_hop_of(worker,
                  [&](const Hop& hop) { fullest = std::max(fullest, fullness(links_[hop.link])); });
  return fullest;
}

void LinkContention::leave(const Worker& worker) {
  const auto subtract = [&](double& demand) { demand = std::max(demand - worker.demand, 0.0); };
  for_each_hop_of(worker, [&](const Hop& hop) {
    subtract(links_[hop.link].demand);
    if (hop.source != alone) subtract(from_source_[hop.source]);
    if (hop.destination != alone) subtract(to_destination_[hop.destination]);
  });
}

}  // namespace collsim
