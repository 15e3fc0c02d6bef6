#include "tools/collsim/calibrate/network_spread.h"

#include "sim/base/data_directory.h"
#include "sim/yaml/yaml_reader.h"

namespace collsim {

namespace {

constexpr std::string_view of_any = "any";

YamlMapping load_spreads() {
  return load_yaml(shipped_file("network-spread", "models/data"), "network-spread")
      .mapping({"spreads"})
      .at("spreads")
      .free_mapping();
}

NetworkSpread read_spread(const YamlValue& value) {
  constexpr int max_machines = 1'000'000;
  const YamlMapping keys = value.mapping({"rate", "latency", "machines"});
  return {keys.at("rate").fraction(), keys.at("latency").time(),
          static_cast<int>(keys.at("machines").integer(0, max_machines))};
}

}  // namespace

NetworkSpread load_network_spread(std::string_view transport) {
  const YamlMapping spreads = load_spreads();
  const auto own = spreads.find(transport);
  return read_spread(own ? *own : spreads.at(of_any));
}

}  // namespace collsim
