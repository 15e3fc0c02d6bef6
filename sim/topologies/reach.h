#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "sim/topologies/topology.h"

namespace collsim {

/// Sets of numbers that are joined to each other (union-find).
class JoinedSets {
 public:
  explicit JoinedSets(std::size_t size);
  std::uint32_t set_of(std::uint32_t member);
  void join(std::uint32_t a, std::uint32_t b) { parent_[set_of(a)] = set_of(b); }

 private:
  std::vector<std::uint32_t> parent_;
};

/// Sets of devices that links join, all or those of one kind. What links inside nodes join is found
/// once for each template.
class JoinedDevices {
 public:
  explicit JoinedDevices(const Topology& topology, std::optional<LinkKind> kind = std::nullopt);
  std::uint32_t set_of(DeviceId device);

 private:
  /// The first device of its node that links inside the node join a device to.
  DeviceId first_inside(DeviceId device);

  const Topology& topology_;
  std::optional<LinkKind> kind_;
  std::map<const IndexedGraph*, std::vector<std::uint32_t>> firsts_;  // by device of the template
  const IndexedGraph* last_ = nullptr;
  const std::vector<std::uint32_t>* firsts_of_last_ = nullptr;
  JoinedSets sets_;
};

/// Some GPU that the first one cannot reach, if there is one.
std::optional<DeviceId> unreachable_gpu(const Topology& topology);

}  // namespace collsim
