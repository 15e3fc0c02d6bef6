#include "sim/topologies/network.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/base/number.h"
#include "sim/topologies/burst_reader.h"

namespace collsim {

std::vector<NetworkKind> network_kinds() {
  return {
      {"single_switch", "every end on one switch that never limits", build_single_switch},
      {"fat_tree", "two or three levels of switches", build_fat_tree},
      {"dragonfly", "groups of fully joined switches, all groups joined", build_dragonfly},
      {"rails", "one switch for the i-th end of every node", build_rails},
  };
}

Cable read_cable(const YamlMapping& fabric) {
  const YamlMapping link = fabric.at("link").mapping({"bandwidth", "latency", "burst"});
  const BytesPerSecond bandwidth = link.at("bandwidth").rate();
  return {bandwidth, link.at("latency").time(), read_burst(link, bandwidth)};
}

double read_oversubscription(const YamlMapping& fabric) {
  const auto value = fabric.find("oversubscription");
  if (!value) return 1;
  const std::string text = value->string();
  std::string_view rest = text;
  const double ratio = take_number<double>(rest).value_or(std::nan(""));
  const std::string accepted = "1 is full bisection, 4 (or 4:1) a quarter of it";
  if (!std::isfinite(ratio) || (!rest.empty() && rest != ":1")) {
    value->fail(fmt::format("'{}' is not a ratio", text), accepted);
  }
  if (ratio < 1) value->fail(fmt::format("oversubscription {} is less than 1", text), accepted);
  return ratio;
}

std::uint32_t read_count(const YamlMapping& fabric, std::string_view key, std::uint32_t fallback,
                         std::uint32_t most) {
  const auto value = fabric.find(key);
  return value ? static_cast<std::uint32_t>(value->integer(1, most)) : fallback;
}

Routing read_routing(const YamlMapping& fabric, std::string_view fixed) {
  const auto value = fabric.find("routing");
  if (!value || value->string() == fixed) return Routing::fixed;
  if (value->string() == "adaptive") return Routing::adaptive;
  value->fail(fmt::format("'{}' is not a routing of this fabric", value->string()),
              fmt::format("{} or adaptive", fixed));
}

std::size_t equal_end_count(const YamlValue& fabric, const NodeEnds& ends) {
  for (std::size_t node = 1; node < ends.size(); ++node) {
    if (ends[node].size() != ends[0].size()) {
      fabric.fail(fmt::format("node0 has {} ends on the fabric and node{} has {}", ends[0].size(),
                              node, ends[node].size()),
                  "rails need equally many on every node");
    }
  }
  return ends[0].size();
}

DeviceId add_network_switch(TopologyBuilder& builder, std::string_view name, std::size_t number) {
  return builder.add_device({fmt::format("{}{}", name, number), DeviceKind::network_switch});
}

void add_cable(TopologyBuilder& builder, DeviceId end, DeviceId above, const Cable& cable) {
  builder.add_link(end, above, LinkKind::network, cable.bandwidth, cable.latency, 1, cable.burst);
}

void add_trunk(TopologyBuilder& builder, DeviceId below, DeviceId above, BytesPerSecond bandwidth,
               const Cable& cable) {
  const auto count = std::max(1L, std::lround(bandwidth.value / cable.bandwidth.value));
  builder.add_link(below, above, LinkKind::network, bandwidth, cable.latency,
                   static_cast<std::uint32_t>(count));
}

}  // namespace collsim
