#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/units.h"

namespace collsim {

using DeviceId = std::uint32_t;
using LinkId = std::uint32_t;
using SharedResourceId = std::uint32_t;
/// The index of a process (one per GPU) in a collective, 0 to N-1.
using Rank = std::uint32_t;

/// `network_switch` belongs to the fabric, all others to a node.
enum class DeviceKind : std::uint8_t { gpu, nvswitch, pcie_switch, cpu, nic, network_switch };

/// What a link is made of; alphas and efficiencies are calibrated per kind. `cpu` joins two sockets
/// (UPI, xGMI), `network` is everything outside a node (InfiniBand, Ethernet).
enum class LinkKind : std::uint8_t { nvlink, pcie, cpu, network };
inline constexpr std::size_t link_kind_count = 4;

std::string_view to_string(DeviceKind kind);
std::string_view to_string(LinkKind kind);

struct Device {
  std::string name;  ///< unique in the topology: "node3/gpu7", "leaf0"
  DeviceKind kind = DeviceKind::gpu;
  std::int32_t node = -1;      ///< -1: part of the fabric
  std::string model;           ///< "H200"; may be empty
  BytesPerSecond port_rate{};  ///< that a NIC reports; 0: that of its network
  bool gpudirect = true;       ///< of a NIC: it reads and writes the memory of GPUs itself
  /// Of a switch: adds up what several senders send and copies a message to many, on the way. An
  /// NVSwitch with multicast (NVLink SHARP, Hopper and later), a network switch with SHARP.
  bool reduces = false;
};

/// A shaper (a token bucket) lets a link that was idle pass this many bytes at `peak` before it
/// holds it to its bandwidth; they come back at the bandwidth, while less is used.
struct Burst {
  Bytes size;  ///< 0: no shaper
  BytesPerSecond peak;
};

/// One direction of a cable or trunk. Links come in pairs: `reverse` is the other direction, with
/// its own capacity. A trunk of `count` equal parallel lanes is one link whose `bandwidth` is the
/// sum, since hardware stripes over them.
struct Link {
  DeviceId from = 0;
  DeviceId to = 0;
  LinkKind kind = LinkKind::nvlink;
  std::uint32_t count = 1;
  BytesPerSecond bandwidth;  ///< of all lanes together, in this direction
  Seconds latency;
  LinkId reverse = 0;
  Burst burst{};
};

/// A capacity that several links draw on at once, beyond their own: a GPU's NVLink egress, a
/// socket's host memory. A transfer loads it once, however many of the
/// listed links it crosses.
struct SharedResource {
  std::string name;
  BytesPerSecond bandwidth;
  std::vector<LinkId> links;
};

/// A machine or cluster: devices joined by directed links. Immutable; made by TopologyBuilder.
class Topology {
 public:
  const std::string& name() const { return name_; }
  /// The calibration that the file names ("hgx-h200"), or empty.
  const std::string& calibration() const { return calibration_; }
  std::span<const Device> devices() const { return devices_; }
  std::span<const Link> links() const { return links_; }
  std::span<const SharedResource> shared_resources() const { return shared_resources_; }
  const Device& device(DeviceId id) const { return devices_[id]; }
  const Link& link(LinkId id) const { return links_[id]; }
  /// Links that start at a device, in the order in which they were added.
  std::span<const LinkId> links_from(DeviceId id) const;
  /// Every GPU, node by node in file order: the GPU of rank r is gpus()[r].
  std::span<const DeviceId> gpus() const { return gpus_; }
  std::uint32_t node_count() const { return node_count_; }
  /// "node0/gpu1 -> node0/nvswitch0".
  std::string link_name(LinkId id) const;

 private:
  friend class TopologyBuilder;
  std::string name_;
  std::string calibration_;
  std::vector<Device> devices_;
  std::vector<Link> links_;
  std::vector<SharedResource> shared_resources_;
  std::vector<DeviceId> gpus_;
  std::vector<LinkId> outgoing_;               // grouped by device
  std::vector<std::uint32_t> outgoing_begin_;  // devices + 1
  std::uint32_t node_count_ = 0;
};

/// Collects devices and links, then indexes them. Ids count up from 0 in the order of addition.
class TopologyBuilder {
 public:
  explicit TopologyBuilder(std::string name, std::string calibration = {});
  DeviceId add_device(Device device);
  /// Adds both directions and returns the id of `from` to `to`; the other is the next id.
  LinkId add_link(DeviceId from, DeviceId to, LinkKind kind, BytesPerSecond bandwidth,
                  Seconds latency, std::uint32_t count = 1, Burst burst = {});
  SharedResourceId add_shared_resource(SharedResource resource);
  /// Gives every network switch so far Device::reduces.
  void let_network_reduce();
  Topology build() &&;

 private:
  Topology topology_;
};

}  // namespace collsim
