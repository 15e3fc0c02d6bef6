#include "models/nccl/channel_nets.h"

namespace collsim {

namespace {

std::optional<ChannelNet> net_of(const NcclSystem& system, const NcclPaths& paths,
                                 const GraphChannel& channel, std::uint32_t gpu) {
  const auto index = channel.gpus.front() == gpu ? channel.first_net : channel.last_net;
  if (!index) return std::nullopt;
  const std::uint32_t node = system.of_kind(NcclNodeKind::net)[*index];
  ChannelNet net{system.node(node).net.device, std::nullopt};
  if (paths.between(system.of_kind(NcclNodeKind::gpu)[gpu], node).type == PathType::pxn) {
    const auto relay = paths.preferred_gpu(*index);
    if (relay) net.relay = static_cast<std::uint32_t>(system.gpu(*relay).gpu.rank);
  }
  return net;
}

}  // namespace

ChannelNets::ChannelNets(const NcclSystem& system, const NcclPaths& paths, const NcclGraph& graph,
                         std::uint32_t channels) {
  const auto gpus = static_cast<std::uint32_t>(system.gpu_count());
  for (std::uint32_t channel = 0; channel < channels; ++channel) {
    std::vector<std::optional<ChannelNet>>& nets = nets_.emplace_back(gpus);
    for (std::uint32_t gpu = 0; gpu < gpus; ++gpu) {
      const auto rank = static_cast<std::size_t>(system.gpu(gpu).gpu.rank);
      nets[rank] = net_of(system, paths, graph.channels[channel], gpu);
    }
  }
}

}  // namespace collsim
