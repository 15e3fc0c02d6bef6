#pragma once

#include <vector>

#include "models/call/call_compiler.h"

namespace collsim {

/// The links that a call uses, one direction of each cable, by what they are for. Rising.
struct UsedLinks {
  std::vector<LinkId> nvlinks;   ///< of GPUs
  std::vector<LinkId> pcie;      ///< PCIe, and between sockets
  std::vector<LinkId> ports;     ///< that leave nodes
  std::vector<LinkId> switches;  ///< between switches of the fabric
};

/// Of the calls of these sizes, each as NCCL runs it.
UsedLinks used_links(const CallCompiler& compiler, const std::vector<Bytes>& sizes);

/// A device inside a node that a link ends at, the GPU or NIC where there is one.
DeviceId end_in_node(const Topology& topology, LinkId link);

}  // namespace collsim
