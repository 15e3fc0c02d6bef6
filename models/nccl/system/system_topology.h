#pragma once

#include <cstdint>
#include <string_view>

#include "models/nccl/settings/environment.h"
#include "models/nccl/settings/version.h"
#include "models/nccl/system/system.h"
#include "sim/topologies/topology.h"

namespace collsim {

/// 10 major + minor of a GPU model ("H100": 90); what it says in "sm_86"; 90 for one that is not
/// known or not named.
int compute_capability_of(std::string_view model);

/// A host of a topology as NCCL would detect it: GPUs, NICs and switches in file order;
/// compute capability from the GPU's model; NCCL's own bandwidths in place of the file's where it
/// has them. CPUs: from the model's text ("EPYC", "Xeon", "Grace"), else from the bandwidth between
/// sockets. NICs speak GPUDirect; a GPU that is on the network itself gets a plain Ethernet NIC of
/// at least 10 Gb/s, which is what NCCL takes for a link whose speed it cannot read. Devices that
/// are attached to nothing hang off the first CPU, which is made when missing.
NcclSystem system_from_topology(const Topology& topology, NcclVersion version,
                                std::uint32_t host = 0);

/// Hosts with GPUs.
std::uint32_t host_count(const Topology& topology);

/// The system with only those NICs that the filter allows.
NcclSystem keep_nets(NcclSystem system, const NetFilter& filter);

}  // namespace collsim
