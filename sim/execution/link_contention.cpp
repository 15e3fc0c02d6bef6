#include "sim/execution/link_contention.h"

#include <algorithm>

#include "sim/execution/symmetry.h"

namespace collsim {

LinkContention::LinkContention(const Wiring& wiring, const CallLayout& layout, LinkDemands* shared)
    : links_(shared == nullptr ? own_ : *shared) {
  links_.resize(wiring.capacities.size());
  const auto stands_for = [&](ResourceId resource) {
    return layout.resource_of.empty() ? resource : layout.resource_of[resource];
  };
  for (ResourceId resource = 0; resource < wiring.capacities.size(); ++resource) {
    const ResourceId link = stands_for(resource);
    if (link == ClassesOf::none) continue;
    const double copies = layout.resource_copies.empty() ? 1 : layout.resource_copies[link];
    links_[link] = {0, 1 / wiring.capacities[resource].value, 1 / copies};
  }
  for (const std::vector<Wire>& wires : wiring.wires) {
    first_connection_.push_back(static_cast<std::uint32_t>(begins_.size()));
    for (const Wire& wire : wires) {
      begins_.push_back(static_cast<std::uint32_t>(links_of_connections_.size()));
      for (const ResourceId resource : wire.resources) {
        const ResourceId link = stands_for(resource);
        if (link != ClassesOf::none) links_of_connections_.push_back(link);
      }
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

void LinkContention::join(Worker& worker, BytesPerSecond rate) {
  worker.demand = std::min(rate, worker.part).value;
  for_each_link_of(worker, [&](ResourceId link) {
    links_[link].demand += worker.demand * worker.copies * links_[link].part;
  });
}

double LinkContention::share(const Worker& worker) const {
  double fullest = 0;
  for_each_link_of(worker,
                   [&](ResourceId link) { fullest = std::max(fullest, fullness(links_[link])); });
  return contended_share(worker.cost(), fullest, worker.steps_done());
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
    const double left = worker.demand * worker.copies * links_[link].part;
    links_[link].demand = std::max(links_[link].demand - left, 0.0);
  });
}

}  // namespace collsim
