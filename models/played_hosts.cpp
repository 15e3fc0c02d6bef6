#include "models/played_hosts.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include "sim/input_error.h"

namespace collsim {

namespace {

constexpr BytesPerSecond unreadable_rate{10e9 / 8};
/// What an interface of software does that nothing shapes. Not measured: one TCP stream is slower.
constexpr BytesPerSecond rate_of_memory{100e9 / 8};

/// Copies the first node of a machine, once a host.
class HostBuilder {
 public:
  HostBuilder(const PlayedHosts& hosts, const Topology& machine)
      : hosts_(hosts),
        machine_(machine),
        builder_(fmt::format("{} hosts of {} GPU{}, {} Ethernet", hosts.count, hosts.gpus,
                             hosts.gpus == 1 ? "" : "s", to_string(hosts.rate)),
                 machine.calibration()) {
    std::uint32_t gpus = 0;
    for (DeviceId id = 0; id < machine.devices().size(); ++id) {
      const Device& device = machine.device(id);
      if (device.node != 0 || device.kind == DeviceKind::nic) continue;
      if (device.kind == DeviceKind::gpu && gpus++ >= hosts.gpus) continue;
      copied_.push_back(id);
    }
    if (gpus < hosts.gpus) {
      throw InputError(fmt::format("hosts of {} GPUs, played on nodes of {}", hosts.gpus, gpus),
                       "a machine whose nodes have as many");
    }
  }

  Topology build() && {
    const std::uint32_t bridges = hosts_.uplink ? 2 : 1;
    for (std::uint32_t i = 0; i < bridges; ++i) {
      Device bridge;
      bridge.name = fmt::format("switch{}", i);
      bridge.kind = DeviceKind::network_switch;
      bridges_.push_back(builder_.add_device(std::move(bridge)));
    }
    if (hosts_.uplink) connect(bridges_[0], bridges_[1], *hosts_.uplink);
    for (std::uint32_t host = 0; host < hosts_.count; ++host) add_host(host);
    return std::move(builder_).build();
  }

 private:
  void add_host(std::uint32_t host) {
    std::map<DeviceId, DeviceId> copies;
    for (const DeviceId id : copied_) {
      Device device = machine_.device(id);
      device.node = static_cast<std::int32_t>(host);
      device.name = fmt::format("node{}/{}", host, device.name.substr(device.name.find('/') + 1));
      copies[id] = builder_.add_device(std::move(device));
    }
    for (LinkId id = 0; id < machine_.links().size(); ++id) {
      const Link& link = machine_.link(id);
      if (link.reverse < id || copies.count(link.from) == 0 || copies.count(link.to) == 0) continue;
      builder_.add_link(copies[link.from], copies[link.to], link.kind, link.bandwidth, link.latency,
                        link.count);
    }
    const bool is_slow = hosts_.slow && hosts_.slow->host == host;
    const bool is_in_second_half = hosts_.uplink && host >= hosts_.count / 2;
    connect(add_interface(host, copies), bridges_[is_in_second_half ? 1 : 0],
            is_slow ? hosts_.slow->rate : hosts_.rate);
  }

  /// A NIC on a CPU, or the GPU itself where a node is no more than that.
  DeviceId add_interface(std::uint32_t host, const std::map<DeviceId, DeviceId>& copies) {
    const auto cpu = std::find_if(copied_.begin(), copied_.end(), [&](DeviceId id) {
      return machine_.device(id).kind == DeviceKind::cpu;
    });
    if (cpu == copied_.end()) return copies.at(machine_.gpus().front());
    Device nic;
    nic.name = fmt::format("node{}/nic0", host);
    nic.kind = DeviceKind::nic;
    nic.node = static_cast<std::int32_t>(host);
    nic.port_rate = unreadable_rate;
    nic.gpudirect = false;
    const DeviceId id = builder_.add_device(std::move(nic));
    // The interface is software: between it and host memory nothing limits.
    constexpr BytesPerSecond of_memory{48e9};
    builder_.add_link(copies.at(*cpu), id, LinkKind::pcie, of_memory, {});
    return id;
  }

  void connect(DeviceId from, DeviceId to, BytesPerSecond rate) {
    Burst burst{hosts_.burst, rate_of_memory};
    if (burst.peak <= rate) burst.size = {};
    builder_.add_link(from, to, LinkKind::network, rate, {}, 1, burst);
  }

  const PlayedHosts& hosts_;
  const Topology& machine_;
  TopologyBuilder builder_;
  std::vector<DeviceId> copied_;  // of the machine's first node
  std::vector<DeviceId> bridges_;
};

BytesPerSecond bits(const std::string& number, double unit) {
  return {std::stod(number) * unit / 8};
}

}  // namespace

Topology play_hosts(const PlayedHosts& hosts, const Topology& machine) {
  return HostBuilder(hosts, machine).build();
}

std::optional<PlayedHosts> played_hosts_of_id(std::string_view id) {
  static const std::regex shape(R"(net(\d{1,4})x(\d{1,3})-(\d{1,4})g(-.*)?)");
  static const std::regex slow(R"(-slow(\d{1,4})-(\d{1,6})m(-.*)?)");
  static const std::regex oversubscribed(R"(-oversub(\d{1,4})(-.*)?)");
  std::match_results<std::string_view::const_iterator> found;
  if (!std::regex_match(id.begin(), id.end(), found, shape)) return std::nullopt;
  PlayedHosts hosts;
  hosts.count = static_cast<std::uint32_t>(std::stoul(found[1]));
  hosts.gpus = static_cast<std::uint32_t>(std::stoul(found[2]));
  hosts.rate = bits(found[3], 1e9);
  if (std::regex_search(id.begin(), id.end(), found, slow)) {
    hosts.slow = {static_cast<std::uint32_t>(std::stoul(found[1])), bits(found[2], 1e6)};
  }
  constexpr Bytes usual_burst{512 << 10};
  constexpr Bytes small_burst{64 << 10};
  hosts.burst = id.find("-b64k") == std::string_view::npos ? usual_burst : small_burst;
  // The link between the halves has the hosts' rate.
  if (std::regex_search(id.begin(), id.end(), found, oversubscribed)) hosts.uplink = hosts.rate;
  return hosts;
}

}  // namespace collsim
