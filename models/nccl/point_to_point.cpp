#include "models/nccl/point_to_point.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "models/nccl/link_bandwidth.h"
#include "sim/nccl/nccl_chunking.h"

namespace collsim {

namespace {

constexpr std::uint32_t peers_at_once = 8;        // of one channel
constexpr double channel_network_bandwidth = 14;  // GB/s
constexpr std::int64_t steps_per_buffer = 8;

/// Channels that a pair of one node's GPUs has a use for.
std::uint32_t channels_of_pair(const NcclSystem& system, const NcclPath& path,
                               NcclVersion version) {
  if (path.type != PathType::nvl) return 2;
  const double link = nvlink_bandwidth(system.min_compute_capability(), version);
  const double links = std::floor(static_cast<double>(path.bandwidth) / link);
  return 2 * std::max(1U, static_cast<std::uint32_t>(links));
}

/// Channels that it takes to fill the NICs beside a GPU; it takes as many NICs as its way to the
/// CPU could feed.
std::uint32_t channels_to_network(const NcclSystem& system, const NcclPaths& paths,
                                  std::uint32_t gpu) {
  const std::uint32_t node = system.of_kind(NcclNodeKind::gpu)[gpu];
  const auto cpu = paths.closest(node, NcclNodeKind::cpu).front();
  const float most = paths.between(node, system.of_kind(NcclNodeKind::cpu)[cpu]).bandwidth;
  const auto first = paths.preferred_net(gpu, 0);
  float bandwidth = 0;
  std::uint32_t nets = 0;
  const auto count = static_cast<std::uint32_t>(system.of_kind(NcclNodeKind::net).size());
  for (std::uint32_t channel = 0; channel < count && bandwidth < most; ++channel) {
    const auto net = paths.preferred_net(gpu, channel);
    if (!net || (channel > 0 && net == first)) break;
    bandwidth += paths.between(node, system.of_kind(NcclNodeKind::net)[*net]).bandwidth;
    ++nets;
  }
  const double filled = std::ceil(static_cast<double>(bandwidth) / channel_network_bandwidth);
  return std::max({1U, nets, static_cast<std::uint32_t>(filled)});
}

/// Of the weakest pair.
std::uint32_t channels_per_peer(const NcclSystem& system, const NcclPaths& paths,
                                std::uint32_t nodes, NcclVersion version) {
  std::uint32_t least = ~0U;
  const auto gpus = system.of_kind(NcclNodeKind::gpu);
  for (std::uint32_t gpu = 0; gpu < gpus.size(); ++gpu) {
    for (const std::uint32_t peer : gpus) {
      if (peer == gpus[gpu]) continue;
      least = std::min(least, channels_of_pair(system, paths.between(peer, gpus[gpu]), version));
    }
    if (nodes == 1) continue;
    const bool fixed = version < NcclVersion{2, 20};
    least = std::min(least, fixed ? 2 : channels_to_network(system, paths, gpu));
  }
  return least;
}

}  // namespace

PointToPoint point_to_point_channels(const NcclSystem& system, const NcclPaths& paths,
                                     std::uint32_t nodes, std::uint32_t collective_channels,
                                     const NcclEnvironment& environment, NcclVersion version) {
  PointToPoint result;
  const std::uint32_t channels =
      std::max(std::min(collective_channels, environment.max_message_channels),
               environment.min_message_channels);
  result.channels = std::bit_ceil(channels);
  result.per_peer =
      std::bit_ceil(std::min(channels, channels_per_peer(system, paths, nodes, version)));
  if (nodes > 1) {
    const auto ranks = nodes * static_cast<std::uint32_t>(system.gpu_count());
    const std::uint32_t rounds = (ranks + peers_at_once - 1) / peers_at_once;
    while (result.per_peer > 1 && result.per_peer * rounds > result.channels) result.per_peer /= 2;
  }
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
