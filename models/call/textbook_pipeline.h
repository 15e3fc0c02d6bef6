#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "sim/cost/calibration.h"
#include "sim/execution/data_partition.h"
#include "sim/plan/collective.h"
#include "sim/topologies/topology.h"

namespace collsim {

/// The number of channels that NCCL would run between these GPUs of the machine; 1 where NCCL's
/// rules do not know the machine, such as one of unlike hosts.
std::uint32_t nccls_channels(const Topology& topology, std::span<const DeviceId> gpus);

/// Pieces as large as NCCL's (sim/nccl/nccl_chunking.h): a chunk is one step of a connection's
/// buffer; with Simple, rings in which everybody sends everywhere have chunks of four steps in two
/// slices. A channel is used when it has as many bytes as NCCL wants for one
/// (models/nccl/launch_size.h).
Chunking nccls_chunking(Collective collective, std::string_view algorithm, Protocol protocol);

}  // namespace collsim
