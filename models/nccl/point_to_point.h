#pragma once

#include <cstdint>

#include "models/nccl/settings/environment.h"
#include "models/nccl/settings/version.h"
#include "models/nccl/system/paths.h"
#include "models/nccl/system/system.h"
#include "sim/base/units.h"
#include "sim/cost/calibration.h"

namespace collsim {

/// What a communicator has for sends and receives.
struct PointToPoint {
  std::uint32_t channels = 1;    ///< a power of two
  std::uint32_t per_peer = 1;    ///< of them, at most, for one message; a power of two
  Bytes step;                    ///< of one connection's buffer, with Simple
  Bytes ll_threshold{16 << 10};  ///< times `per_peer`: the most that a message has with LL
};

/// Channels for sends and receives: as many as for collectives, rounded up to a power of two. One
/// message gets at most what the weakest pair of ranks has a use for: over NVLink two per link,
/// over PCIe two. Over the network, unless NCCL_NCHANNELS_PER_NET_PEER says how many: before 2.20
/// two; from then on two, or one where there would be more than four messages per channel; since
/// 2.29.2 one per 14 GB/s of the NICs beside the GPU, fewer where the peers of a many-node
/// communicator would not fit at once. A step is 512 KiB where all GPUs of the only node have
/// NVLink, else 128 KiB (NCCL src/graph/paths.cc, ncclTopoGetNchannels, ncclTopoComputeP2pChannels;
/// src/init.cc, computeBuffSizes). `nodes` and `ranks` are those of the communicator.
PointToPoint point_to_point_channels(const NcclSystem& system, const NcclPaths& paths,
                                     std::uint32_t nodes, std::uint32_t ranks,
                                     std::uint32_t collective_channels,
                                     const NcclEnvironment& environment, NcclVersion version);

/// How one size of message goes.
struct MessageLaunch {
  std::uint32_t parts = 1;  ///< channels that one message is spread over
  Protocol protocol = Protocol::simple;
  Bytes chunk;  ///< with Simple
};

/// What a group of messages of `bytes` each runs on (NCCL src/enqueue.cc, addP2pToPlan). LL up to
/// 16 KiB for each channel that a message could get, however many it gets (recordings/h200x4/
/// cache.yaml: beyond 512 KiB messages take less time again), inside one node, since connections
/// over the network have no LL buffers; over it a chunk is a quarter of a step for messages below
/// one, half below eight. Of a communicator over several nodes all messages are taken to be alike,
/// those inside nodes too.
MessageLaunch launch_messages(const PointToPoint& resources, Bytes bytes, std::uint32_t ranks,
                              std::uint32_t nodes);

}  // namespace collsim
