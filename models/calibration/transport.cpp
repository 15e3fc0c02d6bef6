#include "models/calibration/transport.h"

#include <fmt/format.h>

#include <array>
#include <system_error>

#include "models/calibration/calibration_choice.h"
#include "models/calibration/calibration_file.h"
#include "sim/base/data_directory.h"
#include "sim/base/input_error.h"

namespace collsim {

namespace {

constexpr std::string_view calibrations = "models/calibrations";
constexpr std::string_view transports = "models/calibrations/transports";
constexpr auto between_hosts = static_cast<std::size_t>(LinkKind::network);

Calibration load_transport(std::string_view name) {
  return load_calibration(find_data_file(name, transports));
}

/// NICs whose model begins so.
struct NicFamily {
  std::string_view model;
  std::string_view transport;
};
constexpr std::array nic_families{
    NicFamily{"EFA", "efa"},    NicFamily{"Slingshot", "ofi"}, NicFamily{"Cassini", "ofi"},
    NicFamily{"gVNIC", "tcpx"}, NicFamily{"Ethernet", "tcp"},  NicFamily{"eth", "tcp"},
};

std::string_view transport_of(std::string_view nic) {
  for (const NicFamily& family : nic_families) {
    if (nic.starts_with(family.model)) return family.transport;
  }
  return "ib";
}

/// The name of the GPUs' part.
std::string_view without_transport(const Calibration& cost) {
  const std::string_view name = cost.name;
  return cost.transport.empty() ? name : name.substr(0, name.rfind('+'));
}

}  // namespace

std::vector<std::string> transport_names() {
  return shipped_names(transports);
}

std::string_view transport_of_nics(const Topology& topology) {
  if (topology.node_count() == 1) return {};
  for (const Device device : topology.devices()) {
    if (device.kind == DeviceKind::nic) return transport_of(device.model);
  }
  return {};
}

Calibration with_transport(Calibration gpus, const Calibration& transport) {
  gpus.name = fmt::format("{}+{}", without_transport(gpus), transport.name);
  gpus.transport = transport.name;
  gpus.proxy = transport.proxy;
  gpus.efficiency[between_hosts] = transport.efficiency[between_hosts];
  gpus.trust.links[between_hosts] = transport.trust.links[between_hosts];
  for (std::size_t protocol = 0; protocol < protocol_count; ++protocol) {
    gpus.protocols[protocol].alpha[between_hosts] =
        transport.protocols[protocol].alpha[between_hosts];
    auto& own = gpus.over[protocol][between_hosts];
    own.reset();
    if (const auto& stated = transport.over[protocol][between_hosts]) {
      own = gpus.protocols[protocol];
      own->step = stated->step;
    }
  }
  return gpus;
}

bool knows_network(const Calibration& cost) {
  return !cost.transport.empty() || cost.trust.links[between_hosts] <= Trust::measured;
}

Calibration completed(const Calibration& cost, const Topology& topology) {
  const std::string_view transport = transport_of_nics(topology);
  if (transport.empty() || knows_network(cost)) return cost;
  return with_transport(cost, load_transport(transport));
}

Calibration named_calibration(std::string_view name, const std::filesystem::path& base) {
  const std::size_t plus = name.rfind('+');
  std::error_code not_a_file;
  if (plus == std::string_view::npos || std::filesystem::is_regular_file(base / name, not_a_file)) {
    return load_calibration(find_data_file(name, calibrations, base));
  }
  return with_transport(load_calibration(find_data_file(name.substr(0, plus), calibrations, base)),
                        load_transport(name.substr(plus + 1)));
}

Calibration over_tcp(const Calibration& cost) {
  if (cost.proxy.used) return cost;
  if (cost.over_tcp.empty()) return with_transport(cost, load_transport("tcp"));
  return load_calibration(find_data_file(cost.over_tcp, calibrations));
}

bool has_sockets_only(const Topology& topology) {
  bool found = false;
  for (const Device device : topology.devices()) {
    if (device.kind != DeviceKind::nic) continue;
    if (transport_of(device.model) != "tcp") return false;
    found = true;
  }
  return found;
}

Calibration calibration_for(const Topology& topology) {
  return completed(named_calibration(calibration_name(topology)), topology);
}

}  // namespace collsim
