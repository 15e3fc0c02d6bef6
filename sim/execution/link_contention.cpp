#include "sim/execution/link_contention.h"

#include <algorithm>

namespace collsim {

LinkContention::LinkContention(const Wiring& wiring) {
  for (const BytesPerSecond capacity : wiring.capacities) links_.push_back({0, 1 / capacity.value});
  for (const std::vector<Wire>& wires : wiring.wires) {
    first_connection_.push_back(static_cast<std::uint32_t>(begins_.size()));
    for (const Wire& wire : wires) {
      begins_.push_back(static_cast<std::uint32_t>(links_of_connections_.size()));
      links_of_connections_.insert(links_of_connections_.end(), wire.resources.begin(),
                                   wire.resources.end());
    }
  }
  begins_.push_back(static_cast<std::uint32_t>(links_of_connections_.size()));
}

template <typename Visit>
void LinkContention::for_each_link_of(const Worker& worker, const Visit& visit) const {
  const std::uint32_t first = first_connection_[worker.channel];
  for (const ConnectionId peer : worker.peers(worker.current().send_group)) {
    const std::uint32_t end = begins_[first + peer + 1];
    for (std::uint32_t i = begins_[first + peer]; i < end; ++i) visit(links_of_connections_[i]);
  }
}

double LinkContention::join(Worker& worker, BytesPerSecond rate) {
  worker.demand = std::min(rate, worker.part).value;
  double fullest = 0;
  for_each_link_of(worker, [&](ResourceId link) {
    links_[link].demand += worker.demand;
    fullest = std::max(fullest, fullness(links_[link]));
  });
  return worker.cost->contended_share(fullest, worker.steps_done());
}

double LinkContention::overfill(const Worker& worker) const {
  double fullest = 1;
  if (worker.demand == 0) return fullest;
  for_each_link_of(worker,
                   [&](ResourceId link) { fullest = std::max(fullest, fullness(links_[link])); });
  return fullest;
}

void LinkContention::leave(const Worker& worker) {
  for_each_link_of(worker, [&](ResourceId link) {
    links_[link].demand = std::max(links_[link].demand - worker.demand, 0.0);
  });
}

}  // namespace collsim
