#include "models/nccl/point_to_point.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "models/nccl/system/link_bandwidth.h"
#include "sim/base/division.h"
#include "sim/nccl/nccl_chunking.h"

namespace collsim {

namespace {

constexpr std::uint32_t peers_at_once = 8;  // of one channel
constexpr std::int64_t steps_per_buffer = 8;

/// The communicator that asks for channels.
struct Asked {
  const NcclSystem& system;
  const NcclPaths& paths;
  const NcclEnvironment& environment;
  NcclVersion version;
  std::uint32_t nodes;
  std::uint32_t ranks;
  std::uint32_t channels;  ///< for sends and receives, of all peers
};

/// Channels that a pair of one node's GPUs has a use for.
std::uint32_t channels_of_pair(const NcclSystem& system, const NcclPath& path,
                               NcclVersion version) {
  if (path.type != PathType::nvl) return 2;
  const double link = nvlink_bandwidth(system.min_compute_capability(), version);
  const double links = std::floor(static_cast<double>(path.bandwidth) / link);
  return 2 * std::max(1U, static_cast<std::uint32_t>(links));
}

/// The NICs beside a GPU, as many as its way to the CPU could feed.
struct NetsOfGpu {
  std::uint32_t count = 0;
  float bandwidth = 0;  ///< GB/s, together
};

NetsOfGpu nets_of(const NcclSystem& system, const NcclPaths& paths, std::uint32_t gpu) {
  const std::uint32_t node = system.of_kind(NcclNodeKind::gpu)[gpu];
  const auto cpu = paths.closest(node, NcclNodeKind::cpu).front();
  const float most = paths.between(node, system.of_kind(NcclNodeKind::cpu)[cpu]).bandwidth;
  const auto first = paths.preferred_net(gpu, 0);
  NetsOfGpu nets;
  const auto count = static_cast<std::uint32_t>(system.of_kind(NcclNodeKind::net).size());
  for (std::uint32_t channel = 0; channel < count && nets.bandwidth < most; ++channel) {
    const auto net = paths.preferred_net(gpu, channel);
    if (!net || (channel > 0 && net == first)) break;
    nets.bandwidth += paths.between(node, system.of_kind(NcclNodeKind::net)[*net]).bandwidth;
    ++nets.count;
  }
  return nets;
}

/// Of 2.20 to 2.28: two, or one where each channel would get more than four messages; as many as
/// the GPU has NICs at least.
std::uint32_t channels_by_ranks(const Asked& asked, std::uint32_t gpu) {
  constexpr std::uint32_t messages_of_channel = 4;
  std::uint32_t channels = 2;
  while (channels > 1 && channels * asked.ranks > messages_of_channel * asked.channels) {
    channels /= 2;
  }
  return std::max(channels, nets_of(asked.system, asked.paths, gpu).count);
}

/// Since 2.29.2: as many as fill the NICs, whatever the ranks.
std::uint32_t channels_by_bandwidth(const Asked& asked, std::uint32_t gpu) {
  const NetsOfGpu nets = nets_of(asked.system, asked.paths, gpu);
  if (nets.count == 0) return 2;
  const std::int64_t each = asked.environment.message_channel_bandwidth;
  const auto whole = static_cast<std::int64_t>(nets.bandwidth);  // NCCL drops the fraction
  return std::max(nets.count, static_cast<std::uint32_t>(divide_up(whole, each)));
}

std::uint32_t channels_to_network(const Asked& asked, std::uint32_t gpu) {
  if (asked.environment.channels_per_net_peer) return *asked.environment.channels_per_net_peer;
  if (asked.version < NcclVersion{2, 20}) return 2;
  if (asked.version < NcclVersion{2, 29, 2}) return channels_by_ranks(asked, gpu);
  return channels_by_bandwidth(asked, gpu);
}

/// Of the weakest pair.
std::uint32_t channels_per_peer(const Asked& asked) {
  std::uint32_t least = ~0U;
  const auto gpus = asked.system.of_kind(NcclNodeKind::gpu);
  for (std::uint32_t gpu = 0; gpu < gpus.size(); ++gpu) {
    for (const std::uint32_t peer : gpus) {
      if (peer == gpus[gpu]) continue;
      const NcclPath& path = asked.paths.between(peer, gpus[gpu]);
      least = std::min(least, channels_of_pair(asked.system, path, asked.version));
    }
    if (asked.nodes > 1) least = std::min(least, channels_to_network(asked, gpu));
  }
  return least;
}

/// Fewer where the peers would not fit at once; not before 2.29.2, nor where the user has asked.
std::uint32_t fitted(std::uint32_t per_peer, const Asked& asked, std::uint32_t channels) {
  const bool given = asked.environment.channels_per_net_peer.has_value();
  if (asked.nodes == 1 || given || asked.version < NcclVersion{2, 29, 2}) return per_peer;
  const std::uint32_t rounds = divide_up(asked.ranks, peers_at_once);
  while (per_peer > 1 && per_peer * rounds > channels) per_peer /= 2;
  return per_peer;
}

}  // namespace

PointToPoint point_to_point_channels(const NcclSystem& system, const NcclPaths& paths,
                                     std::uint32_t nodes, std::uint32_t ranks,
                                     std::uint32_t collective_channels,
                                     const NcclEnvironment& environment, NcclVersion version) {
  PointToPoint result;
  const std::uint32_t channels =
      std::max(std::min(collective_channels, environment.max_message_channels),
               environment.min_message_channels);
  result.channels = std::bit_ceil(channels);
  const Asked asked{system, paths, environment, version, nodes, ranks, channels};
  result.per_peer =
      fitted(std::bit_ceil(std::min(channels, channels_per_peer(asked))), asked, result.channels);
  const bool all_nvlink = nodes == 1 && paths.worst_type(NcclNodeKind::gpu) < PathType::pix;
  const std::int64_t buffer = environment.buffer_size[index_of(Protocol::simple)].count;
  const Bytes step = nodes > 1    ? environment.network_message_step
                     : all_nvlink ? environment.nvlink_message_step
                                  : environment.pcie_message_step;
  result.step.count = std::min(step.count, buffer / steps_per_buffer);
  result.ll_threshold = environment.message_ll_threshold;
  return result;
}

MessageLaunch launch_messages(const PointToPoint& resources, Bytes bytes, std::uint32_t ranks,
                              std::uint32_t nodes) {
  MessageLaunch launch;
  launch.parts =
      nccl_parts(bytes, ranks, resources.channels, resources.per_peer, nodes, resources.step);
  if (nodes == 1 && bytes.count <= resources.per_peer * resources.ll_threshold.count) {
    launch.protocol = Protocol::ll;
  }
  launch.chunk = resources.step;
  if (nodes > 1 && bytes < resources.step) {
    launch.chunk.count /= 4;
  } else if (nodes > 1 && bytes.count < steps_per_buffer * resources.step.count) {
    launch.chunk.count /= 2;
  }
  return launch;
}

}  // namespace collsim
