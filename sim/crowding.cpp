#include "sim/crowding.h"

#include <algorithm>

namespace collsim {

namespace {

/// Calls visit(resource, what the worker could put on it) for all that it sends over.
template <typename Visit>
void for_each_link(const Worker& worker, const Wiring& wiring, const Visit& visit) {
  const auto group = worker.peers(worker.current().send_group);
  const double part = worker.sending.value / static_cast<double>(group.size());
  for (const ConnectionId peer : group) {
    for (const ResourceId link : wiring.wires[worker.channel][peer].resources) visit(link, part);
  }
}

}  // namespace

double Crowding::join(const Worker& worker) {
  for_each_link(worker, wiring_, [&](ResourceId link, double part) { demand_[link] += part; });
  double fullest = 0;
  for_each_link(worker, wiring_, [&](ResourceId link, double) {
    fullest = std::max(fullest, demand_[link] / wiring_.capacities[link].value);
  });
  return worker.cost->crowded_share(fullest);
}

void Crowding::leave(const Worker& worker) {
  for_each_link(worker, wiring_, [&](ResourceId link, double part) {
    demand_[link] = std::max(demand_[link] - part, 0.0);
  });
}

}  // namespace collsim
