#include "sim/topologies/network.h"

namespace collsim {

void build_single_switch(TopologyBuilder& builder, const YamlValue& fabric, const NodeEnds& ends) {
  const YamlMapping keys = fabric.mapping({"kind", "attach", "link", "sharp"});
  const Cable cable = read_cable(keys);
  const DeviceId hub = add_network_switch(builder, "switch", 0);
  for (const auto& ends_of_node : ends) {
    for (const DeviceId end : ends_of_node) {
      add_cable(builder, end, hub, cable);
    }
  }
}

}  // namespace collsim
