#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/units.h"

namespace collsim {

/// `network_switch` belongs to the fabric, all others to a node.
enum class DeviceKind : std::uint8_t { gpu, nvswitch, pcie_switch, cpu, nic, network_switch };

/// What a link is made of; alphas and efficiencies are calibrated per kind. `cpu` joins two sockets
/// (UPI, xGMI), `network` is everything outside a node (InfiniBand, Ethernet).
enum class LinkKind : std::uint8_t { nvlink, pcie, cpu, network };
inline constexpr std::size_t link_kind_count = 4;

std::string_view to_string(DeviceKind kind);
std::string_view to_string(LinkKind kind);

/// A shaper (a token bucket) lets a link that was idle pass this many bytes at `peak` before it
/// holds it to its bandwidth; they come back at the bandwidth, while less is used.
struct Burst {
  Bytes size;  ///< 0: no shaper
  BytesPerSecond peak;
};

/// A device of a Graph, of any kind.
struct GraphDevice {
  std::string name;  ///< unique in the graph, without a slash: "gpu7", "leaf0"
  DeviceKind kind = DeviceKind::gpu;
  std::string model{};         ///< "H200"; may be empty
  BytesPerSecond port_rate{};  ///< that a NIC reports; 0: that of its network
  bool gpudirect = true;       ///< of a NIC: it reads and writes the memory of GPUs itself
  std::string card{};          ///< of a NIC that is one port of several: the card's name; or empty
  /// Whether a switch adds up what several senders send and copies a message to many: an NVSwitch
  /// with multicast (NVLink SHARP, Hopper and later), a network switch with SHARP.
  bool reduces = false;
};

/// A cable or trunk between two devices of a Graph, given by index. A trunk of `count` equal
/// parallel lanes is one link, since hardware stripes over them.
struct GraphLink {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  LinkKind kind = LinkKind::nvlink;
  std::uint32_t count = 1;
  BytesPerSecond bandwidth;  ///< bandwidth of all lanes together, per direction
  Seconds latency;
  Burst burst{};
};

/// One direction of a GraphLink.
struct GraphDirection {
  std::uint32_t link = 0;
  bool reversed = false;
};

/// A capacity that several links of a Graph draw on at once.
struct GraphShare {
  std::string name;
  BytesPerSecond bandwidth;
  std::vector<GraphDirection> links;
};

/// Devices, links and shared resources as a file lists them: the inside of a node, or a custom
/// fabric.
struct Graph {
  std::vector<GraphDevice> devices;
  std::vector<GraphLink> links;
  std::vector<GraphShare> shares;
};

}  // namespace collsim
