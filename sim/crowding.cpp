#include "sim/crowding.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

namespace collsim {

namespace {

/// By resource: whether several ranks or agents send over it.
std::vector<bool> shared_links(const Plan& plan, const Wiring& wiring) {
  std::vector<std::optional<Rank>> sender(wiring.capacities.size());
  std::vector<bool> shared(wiring.capacities.size(), false);
  for (std::uint32_t channel = 0; channel < wiring.wires.size(); ++channel) {
    const auto connections = plan.schedule(channel).connections();
    for (std::size_t i = 0; i < connections.size(); ++i) {
      for (const ResourceId link : wiring.wires[channel][i].resources) {
        if (!sender[link]) sender[link] = connections[i].src;
        if (sender[link] != connections[i].src) shared[link] = true;
      }
    }
  }
  return shared;
}

}  // namespace

Crowding::Crowding(const Plan& plan, const Wiring& wiring, std::size_t participants)
    : busy_(participants, 0) {
  for (const BytesPerSecond capacity : wiring.capacities) links_.push_back({0, 1 / capacity.value});
  const std::vector<bool> shared = shared_links(plan, wiring);
  std::unordered_map<std::uint64_t, std::uint32_t> of_rank;
  for (std::uint32_t channel = 0; channel < wiring.wires.size(); ++channel) {
    first_connection_.push_back(static_cast<std::uint32_t>(begins_.size()));
    const auto connections = plan.schedule(channel).connections();
    for (std::size_t i = 0; i < connections.size(); ++i) {
      begins_.push_back(static_cast<std::uint32_t>(hops_.size()));
      for (const ResourceId link : wiring.wires[channel][i].resources) {
        const std::uint64_t key = (std::uint64_t{link} << 32U) | connections[i].src;
        const auto next = static_cast<std::uint32_t>(of_rank.size());
        hops_.push_back(
            {link, shared[link] ? of_rank.try_emplace(key, next).first->second : alone});
      }
    }
  }
  begins_.push_back(static_cast<std::uint32_t>(hops_.size()));
  of_ranks_.resize(of_rank.size(), 0);
}

template <typename Visit>
void Crowding::for_each_hop_of(const Worker& worker, const Visit& visit) const {
  const std::uint32_t first = first_connection_[worker.channel];
  for (const ConnectionId peer : worker.peers(worker.current().send_group)) {
    const std::uint32_t end = begins_[first + peer + 1];
    for (std::uint32_t i = begins_[first + peer]; i < end; ++i) visit(hops_[i]);
  }
}

void Crowding::end(const Worker& worker) {
  busy_[worker.rank] = std::max(busy_[worker.rank] - worker.weight, 0.0);
}

double Crowding::join(Worker& worker, BytesPerSecond rate) {
  worker.demand = std::min(rate, worker.part).value;
  double fullest = 0;
  double others = 0;
  for_each_hop_of(worker, [&](const Hop& hop) {
    Link& link = links_[hop.link];
    link.demand += worker.demand;
    fullest = std::max(fullest, link.demand * link.per_capacity);
    if (hop.of_rank == alone) return;
    of_ranks_[hop.of_rank] += worker.demand;
    others = std::max(others, 1 - of_ranks_[hop.of_rank] / link.demand);
  });
  return worker.cost->crowded_share(fullest) * (1 - worker.cost->mixing * others);
}

void Crowding::leave(const Worker& worker) {
  const auto subtract = [&](double& demand) { demand = std::max(demand - worker.demand, 0.0); };
  for_each_hop_of(worker, [&](const Hop& hop) {
    subtract(links_[hop.link].demand);
    if (hop.of_rank != alone) subtract(of_ranks_[hop.of_rank]);
  });
}

}  // namespace collsim
