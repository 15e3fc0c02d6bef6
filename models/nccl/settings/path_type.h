#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace collsim {

/// How far apart two devices are in NCCL's eyes, best first (NCCL src/graph/topo.h).
enum class PathType : std::uint8_t {
  loc,          ///< the same device
  nvl,          ///< NVLink, also through NVSwitch
  nvb,          ///< NVLink through another GPU
  c2c,          ///< the chip-to-chip link of Grace
  pix,          ///< one PCIe switch
  pxb,          ///< several PCIe switches
  p2c,          ///< C2C to the CPU, PCIe to the NIC
  pxn,          ///< NVLink to the GPU beside the NIC
  phb,          ///< the host bridge of one CPU
  sys,          ///< between CPUs
  net,          ///< the network
  disconnected  ///< no way
};

/// NCCL's short name of the type, such as "NVL"; the last is "DIS".
std::string_view to_string(PathType type);
std::optional<PathType> find_path_type(std::string_view name);

/// The next worse type.
constexpr PathType next_worse(PathType type) {
  return static_cast<PathType>(static_cast<std::uint8_t>(type) + 1);
}

}  // namespace collsim
