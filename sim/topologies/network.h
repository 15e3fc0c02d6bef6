#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "sim/topologies/topology.h"
#include "sim/yaml/yaml_reader.h"

namespace collsim {

/// What joins the nodes: the `fabric` of a topology file is one of these kinds. Each kind is a
/// function in the file of its name; `network_kinds()` is the only list of them.

/// ends[n]: the devices of node n that the fabric attaches to, its NICs or its GPUs, in order.
using NodeEnds = std::vector<std::vector<DeviceId>>;

struct NetworkKind {
  std::string_view name;
  std::string_view description;  ///< one line
  /// Adds the fabric's devices and links. `fabric` is the mapping in the file; reads and checks its
  /// keys. InputError for all that is wrong with it.
  void (*build)(TopologyBuilder& builder, const YamlValue& fabric, const NodeEnds& ends);
};

std::vector<NetworkKind> network_kinds();

void build_single_switch(TopologyBuilder& builder, const YamlValue& fabric, const NodeEnds& ends);
void build_fat_tree(TopologyBuilder& builder, const YamlValue& fabric, const NodeEnds& ends);
void build_dragonfly(TopologyBuilder& builder, const YamlValue& fabric, const NodeEnds& ends);
void build_rails(TopologyBuilder& builder, const YamlValue& fabric, const NodeEnds& ends);

/// `link: { bandwidth: 50 GB/s, latency: 0.6 us }`, the cable of an end; it may have a `burst`.
struct Cable {
  BytesPerSecond bandwidth;
  Seconds latency;
  Burst burst{};
};
Cable read_cable(const YamlMapping& fabric);

/// `oversubscription: 4` or `4:1`; 1 if it is not said.
double read_oversubscription(const YamlMapping& fabric);

/// The whole number under `key`, if it is there.
std::uint32_t read_count(const YamlMapping& fabric, std::string_view key, std::uint32_t fallback,
                         std::uint32_t most);

/// How switches choose among the ways that lead on.
enum class Routing : std::uint8_t {
  fixed,     ///< each flow keeps to one of the shortest, whatever else is there
  adaptive,  ///< packets go where least is
};
/// `routing: adaptive`, or the word of this fabric for what it does otherwise, its default.
Routing read_routing(const YamlMapping& fabric, std::string_view fixed);

/// How many ends every node has; InputError unless all have as many (rails need it).
std::size_t equal_end_count(const YamlValue& fabric, const NodeEnds& ends);

DeviceId add_network_switch(TopologyBuilder& builder, std::string_view name, std::size_t number);

/// Adds the cable of an end.
void add_cable(TopologyBuilder& builder, DeviceId end, DeviceId above, const Cable& cable);

/// Adds cables between two switches, `bandwidth` together.
void add_trunk(TopologyBuilder& builder, DeviceId below, DeviceId above, BytesPerSecond bandwidth,
               const Cable& cable);

}  // namespace collsim
