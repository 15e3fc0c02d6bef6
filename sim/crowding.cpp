#include "sim/crowding.h"

#include <algorithm>
#include <unordered_map>

namespace collsim {

Crowding::Crowding(const Plan& plan, const Wiring& wiring, std::size_t participants)
    : busy_(participants, 0) {
  for (const BytesPerSecond capacity : wiring.capacities) links_.push_back({0, capacity.value});
  add_routes(plan, wiring);
}

void Crowding::add_routes(const Plan& plan, const Wiring& wiring) {
  std::unordered_map<std::uint64_t, std::uint32_t> of_rank;
  for (std::uint32_t channel = 0; channel < wiring.wires.size(); ++channel) {
    first_connection_.push_back(static_cast<std::uint32_t>(begins_.size()));
    const auto connections = plan.schedule(channel).connections();
    for (std::size_t i = 0; i < connections.size(); ++i) {
      begins_.push_back(static_cast<std::uint32_t>(hops_.size()));
      for (const ResourceId link : wiring.wires[channel][i].resources) {
        const std::uint64_t key = (std::uint64_t{link} << 32U) | connections[i].src;
        const auto next = static_cast<std::uint32_t>(of_rank.size());
        hops_.push_back({link, of_rank.try_emplace(key, next).first->second});
      }
    }
  }
  begins_.push_back(static_cast<std::uint32_t>(hops_.size()));
  of_ranks_.resize(of_rank.size(), 0);
}

template <typename Visit>
void Crowding::for_each_link(const Worker& worker, const Visit& visit) {
  const std::uint32_t first = first_connection_[worker.channel];
  for (const ConnectionId peer : worker.peers(worker.current().send_group)) {
    const std::uint32_t end = begins_[first + peer + 1];
    for (std::uint32_t i = begins_[first + peer]; i < end; ++i)
      visit(links_[hops_[i].link], of_ranks_[hops_[i].of_rank]);
  }
}

void Crowding::end(const Worker& worker) {
  busy_[worker.rank] = std::max(busy_[worker.rank] - worker.weight, 0.0);
}

double Crowding::join(Worker& worker, BytesPerSecond rate) {
  worker.demand = std::min(rate, worker.part).value;
  double fullest = 0;
  double others = 0;
  for_each_link(worker, [&](Link& link, double& of_rank) {
    link.demand += worker.demand;
    of_rank += worker.demand;
    fullest = std::max(fullest, link.demand / link.capacity);
    others = std::max(others, 1 - of_rank / link.demand);
  });
  return worker.cost->crowded_share(fullest) * (1 - worker.cost->mixing * others);
}

void Crowding::leave(const Worker& worker) {
  for_each_link(worker, [&](Link& link, double& of_rank) {
    link.demand = std::max(link.demand - worker.demand, 0.0);
    of_rank = std::max(of_rank - worker.demand, 0.0);
  });
}

}  // namespace collsim
