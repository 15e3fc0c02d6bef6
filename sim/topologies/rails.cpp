#include <algorithm>

#include "sim/topologies/network.h"

namespace collsim {

void build_rails(TopologyBuilder& builder, const YamlValue& fabric, const NodeEnds& ends) {
  const YamlMapping keys =
      fabric.mapping({"kind", "attach", "link", "sharp", "spines", "oversubscription", "routing"});
  const Cable cable = read_cable(keys);
  auto spine_count = keys.find("spines") ? keys.at("spines").integer(0, 1024) : 0;
  // To flows that are spread over all spines these are one.
  if (read_routing(keys, "ecmp") == Routing::adaptive) {
    spine_count = std::min<std::int64_t>(spine_count, 1);
  }
  const double oversubscription = read_oversubscription(keys);
  if (spine_count == 0 && keys.find("oversubscription")) {
    keys.at("oversubscription").fail("rails without spines have no uplinks", "add 'spines: 1'");
  }
  const std::size_t rail_count = equal_end_count(fabric, ends);

  std::vector<DeviceId> rails;
  for (std::size_t i = 0; i < rail_count; ++i) {
    rails.push_back(add_network_switch(builder, "rail", i));
    for (const auto& ends_of_node : ends) {
      add_cable(builder, ends_of_node[i], rails.back(), cable);
    }
  }
  const double cables = static_cast<double>(ends.size()) / oversubscription;
  for (std::int64_t s = 0; s < spine_count; ++s) {
    const DeviceId spine = add_network_switch(builder, "spine", static_cast<std::size_t>(s));
    for (const DeviceId rail : rails) {
      add_trunk(builder, rail, spine, cables / static_cast<double>(spine_count) * cable.bandwidth,
                cable);
    }
  }
}

}  // namespace collsim
