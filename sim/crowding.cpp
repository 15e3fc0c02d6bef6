#include "sim/crowding.h"

#include <algorithm>

namespace collsim {

namespace {

/// Calls visit(resource) for every peer that the worker sends to over it.
template <typename Visit>
void for_each_link(const Worker& worker, const Wiring& wiring, const Visit& visit) {
  for (const ConnectionId peer : worker.peers(worker.current().send_group)) {
    for (const ResourceId link : wiring.wires[worker.channel][peer].resources) visit(link);
  }
}

}  // namespace

void Crowding::end(const Worker& worker) {
  busy_[worker.rank] = std::max(busy_[worker.rank] - worker.weight, 0.0);
}

double Crowding::join(Worker& worker, BytesPerSecond rate) {
  worker.demand = std::min(rate, worker.part).value;
  for_each_link(worker, wiring_, [&](ResourceId link) { demand_[link] += worker.demand; });
  double fullest = 0;
  for_each_link(worker, wiring_, [&](ResourceId link) {
    fullest = std::max(fullest, demand_[link] / wiring_.capacities[link].value);
  });
  return worker.cost->crowded_share(fullest);
}

void Crowding::leave(const Worker& worker) {
  for_each_link(worker, wiring_, [&](ResourceId link) {
    demand_[link] = std::max(demand_[link] - worker.demand, 0.0);
  });
}

}  // namespace collsim
