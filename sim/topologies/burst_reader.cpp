#include "sim/topologies/burst_reader.h"

#include <fmt/format.h>

namespace collsim {

Burst read_burst(const YamlMapping& link, BytesPerSecond bandwidth) {
  const auto value = link.find("burst");
  if (!value) return {};
  const YamlMapping keys = value->mapping({"size", "peak"});
  const Burst burst{keys.at("size").bytes(), keys.at("peak").rate()};
  if (burst.peak <= bandwidth) {
    keys.at("peak").fail(fmt::format("a peak of {}", to_string(burst.peak)),
                         fmt::format("more than the link's {}", to_string(bandwidth)));
  }
  return burst;
}

}  // namespace collsim
