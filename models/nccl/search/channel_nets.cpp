#include "models/nccl/search/channel_nets.h"

#include <algorithm>

namespace collsim {

std::optional<ChannelNets::Found> ChannelNets::found(const NcclSystem& system,
                                                     const NcclPaths& paths, const NcclGraph& graph,
                                                     std::uint32_t channel, std::uint32_t gpu) {
  const GraphChannel& own = graph.channels[channel];
  const auto index = own.gpus.front() == gpu ? own.first_net : own.last_net;
  if (!index) return std::nullopt;
  const std::uint32_t node = system.of_kind(NcclNodeKind::net)[*index];
  Found net{system.node(node).net.nics, 0, std::nullopt};
  net.turn = static_cast<std::size_t>(
      std::count_if(graph.channels.begin(), graph.channels.begin() + channel,
                    [&](const GraphChannel& each) { return each.first_net == own.first_net; }));
  if (paths.between(system.of_kind(NcclNodeKind::gpu)[gpu], node).type == PathType::pxn) {
    const auto relay = paths.preferred_gpu(*index);
    if (relay) net.relay = static_cast<std::uint32_t>(system.gpu(*relay).gpu.rank);
  }
  return net;
}

ChannelNets::ChannelNets(const NcclSystem& system, const NcclPaths& paths, const NcclGraph& graph,
                         std::uint32_t channels) {
  const auto gpus = static_cast<std::uint32_t>(system.gpu_count());
  for (std::uint32_t channel = 0; channel < channels; ++channel) {
    std::vector<std::optional<Found>>& nets = nets_.emplace_back(gpus);
    for (std::uint32_t gpu = 0; gpu < gpus; ++gpu) {
      const auto rank = static_cast<std::size_t>(system.gpu(gpu).gpu.rank);
      nets[rank] = found(system, paths, graph, channel, gpu);
    }
  }
}

std::optional<ChannelNet> ChannelNets::of(std::uint32_t channel, std::uint32_t local_rank) const {
  if (nets_.empty()) return std::nullopt;
  const auto& net = nets_[channel % nets_.size()][local_rank];
  if (!net || net->nics.empty()) return std::nullopt;
  const std::size_t port = (net->turn + channel / nets_.size()) % net->nics.size();
  return ChannelNet{net->nics[port], net->relay};
}

}  // namespace collsim
