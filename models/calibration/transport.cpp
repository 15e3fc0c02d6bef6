#include "models/calibration/transport.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "models/calibration/calibration_choice.h"
#include "models/calibration/calibration_file.h"
#include "sim/base/data_directory.h"
#include "sim/base/file_status.h"
#include "sim/base/input_error.h"
#include "sim/cost/constants.h"

namespace collsim {

namespace {

constexpr std::string_view calibrations = "models/data/calibrations";
constexpr std::string_view transports = "models/data/calibrations/transports";
constexpr auto between_hosts = static_cast<std::size_t>(LinkKind::network);

Calibration load_transport(std::string_view name) {
  return load_calibration(find_data_file(name, transports));
}

/// NICs whose model begins so. Those of EFA that cannot reach GPU memory cannot read the memory of
/// other hosts either: their CPU cuts what they send into packets and copies it.
struct NicFamily {
  std::string_view model;
  std::string_view transport;
  std::string_view without_gpudirect;
};
constexpr std::array nic_families{
    NicFamily{"EFA", "efa", "efa-host"}, NicFamily{"Slingshot", "ofi", "ofi"},
    NicFamily{"Cassini", "ofi", "ofi"},  NicFamily{"gVNIC", "tcpx", "tcpx"},
    NicFamily{"Ethernet", "tcp", "tcp"}, NicFamily{"eth", "tcp", "tcp"},
};

std::string_view transport_of(const Device& nic) {
  for (const NicFamily& family : nic_families) {
    if (!nic.model.starts_with(family.model)) continue;
    return nic.gpudirect ? family.transport : family.without_gpudirect;
  }
  return "ib";
}

/// Whether a calibration's threads of the network serve sockets, not RDMA: only these hold bytes.
bool has_sockets(const Calibration& cost) {
  return cost.proxy.used && cost.proxy.socket.count > 0;
}

/// The name of the GPUs' part.
std::string_view without_transports(const Calibration& cost) {
  std::string_view name = cost.name;
  for (const std::string* transport : {&cost.host_transport, &cost.transport}) {
    if (!transport->empty()) name = name.substr(0, name.rfind('+'));
  }
  return name;
}

std::string name_of(std::string_view gpus, std::string_view transport,
                    std::string_view host_transport) {
  std::string name(gpus);
  for (const std::string_view part : {transport, host_transport}) {
    if (!part.empty()) name += fmt::format("+{}", part);
  }
  return name;
}

Calibration with_host_transport(Calibration gpus, const Calibration& transport) {
  gpus.name = name_of(without_transports(gpus), gpus.transport, transport.name);
  gpus.host_transport = transport.name;
  gpus.wants_host_transport = false;
  gpus.memory = transport.memory;
  for (const LinkKind kind : {LinkKind::pcie, LinkKind::cpu}) {
    const auto index = static_cast<std::size_t>(kind);
    gpus.efficiency[index] = transport.efficiency[index];
    gpus.trust.links[index] = transport.trust.links[index];
    for (std::size_t protocol = 0; protocol < protocol_count; ++protocol) {
      ProtocolConstants& general = gpus.protocols[protocol];
      general.alpha[index] = transport.protocols[protocol].alpha[index];
      auto stated = transport.over[protocol][index];
      auto& own = gpus.over[protocol][index];
      own.reset();
      if (!stated) continue;
      own = general;
      for (const ProtocolConstant& constant : thread_block_constants) {
        constant.in(*own) = constant.in(*stated);
      }
    }
  }
  return gpus;
}

/// Cards that are slower through host memory than others, on hosts with such CPUs: GeForce RTX 40
/// get a tenth on a Xeon, and what others get on an EPYC (recordings/published, rtx4090x2-shm-*,
/// rtx4090x4-shm-* and rtx4090x8-sys-nop2p-allreduce).
struct CardFamily {
  std::string_view gpu;
  std::string_view cpu;
  std::string_view through_host_memory;
};
constexpr std::array card_families{CardFamily{"RTX 40", "Xeon", "shm-rtx40"}};

bool has_nvlink(const Topology& topology) {
  const auto gpus = topology.gpus();
  return std::any_of(gpus.begin(), gpus.end(), [&](DeviceId gpu) {
    const auto links = topology.links_from(gpu);
    return std::any_of(links.begin(), links.end(),
                       [&](LinkId link) { return topology.link(link).kind == LinkKind::nvlink; });
  });
}

/// Whether the machine has such a device.
bool has(const Topology& topology, DeviceKind kind, std::string_view model) {
  for (const Device device : topology.devices()) {
    if (device.kind == kind && device.model.find(model) != std::string_view::npos) return true;
  }
  return false;
}

}  // namespace

std::vector<std::string> transport_names() {
  return shipped_names(transports);
}

std::string_view transport_of_nics(const Topology& topology) {
  if (topology.node_count() == 1) return {};
  for (const Device device : topology.devices()) {
    if (device.kind == DeviceKind::nic) return transport_of(device);
  }
  return {};
}

std::string_view transport_inside_host(const Topology& topology, bool through_host_memory) {
  if (!through_host_memory) return has_nvlink(topology) ? "" : "p2p";
  for (const CardFamily& family : card_families) {
    const bool is_meant =
        has(topology, DeviceKind::gpu, family.gpu) && has(topology, DeviceKind::cpu, family.cpu);
    if (is_meant) return family.through_host_memory;
  }
  return "shm";
}

Calibration with_transport(Calibration gpus, const Calibration& transport) {
  if (transport.inside_hosts) return with_host_transport(std::move(gpus), transport);
  gpus.name = name_of(without_transports(gpus), transport.name, gpus.host_transport);
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

bool knows_pcie(const Calibration& cost) {
  return !cost.host_transport.empty() ||
         cost.trust.links[static_cast<std::size_t>(LinkKind::pcie)] <= Trust::measured;
}

Calibration shipped_transport(std::string_view name) {
  return load_transport(name);
}

Calibration with_transports(const Calibration& cost, const Topology& topology) {
  const std::string_view transport = transport_of_nics(topology);
  Calibration whole = transport.empty() || knows_network(cost)
                          ? cost
                          : with_transport(cost, load_transport(transport));
  whole.wants_host_transport = !knows_pcie(cost);
  return whole;
}

Calibration named_calibration(std::string_view name, const std::filesystem::path& base) {
  const std::size_t plus = name.rfind('+');
  if (plus == std::string_view::npos || is_readable_kind(base / name)) {
    return load_calibration(find_data_file(name, calibrations, base));
  }
  return with_transport(named_calibration(name.substr(0, plus), base),
                        load_transport(name.substr(plus + 1)));
}

Calibration over_tcp(const Calibration& cost) {
  if (has_sockets(cost)) return cost;
  if (cost.over_tcp.empty()) return with_transport(cost, load_transport("tcp"));
  return load_calibration(find_data_file(cost.over_tcp, calibrations));
}

bool has_sockets_only(const Topology& topology) {
  bool found = false;
  for (const Device device : topology.devices()) {
    if (device.kind != DeviceKind::nic) continue;
    if (transport_of(device) != "tcp") return false;
    found = true;
  }
  return found;
}

Calibration calibration_for(const Topology& topology) {
  return with_transports(named_calibration(calibration_name(topology)), topology);
}

}  // namespace collsim
