#include "sim/topologies/reduced_topology.h"

#include <cassert>
#include <limits>
#include <utility>

namespace collsim {

ReducedTopology without_links(const Topology& topology, const std::vector<bool>& dead) {
  assert(dead.size() == topology.links().size());
  constexpr LinkId gone = std::numeric_limits<LinkId>::max();
  TopologyBuilder builder(topology.name(), topology.calibration());
  for (const Device& device : topology.devices()) builder.add_device(device);
  std::vector<LinkId> original;
  std::vector<LinkId> reduced(topology.links().size(), gone);
  for (LinkId id = 0; id < topology.links().size(); ++id) {
    const Link& link = topology.link(id);
    if (link.reverse < id || dead[id] || dead[link.reverse]) continue;
    reduced[id] = builder.add_link(link.from, link.to, link.kind, link.bandwidth, link.latency,
                                   link.count, link.burst);
    reduced[link.reverse] = reduced[id] + 1;
    original.push_back(id);
    original.push_back(link.reverse);
  }
  for (const SharedResource& whole : topology.shared_resources()) {
    SharedResource shared{whole.name, whole.bandwidth, {}};
    for (const LinkId link : whole.links) {
      if (reduced[link] != gone) shared.links.push_back(reduced[link]);
    }
    builder.add_shared_resource(std::move(shared));
  }
  return {std::move(builder).build(), std::move(original)};
}

}  // namespace collsim
