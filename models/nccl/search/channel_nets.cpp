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

std::optional<ChannelNets::Found> ChannelNets::found_for_head(const NcclSystem& system,
                                                              const NcclGraph& graph,
                                                              std::uint32_t channel,
                                                              std::uint32_t gpu) {
  std::vector<std::uint32_t> own;
  for (const GraphChannel& each : graph.channels) {
    if (each.gpus.front() == gpu && each.first_net) own.push_back(*each.first_net);
  }
  if (own.empty()) return std::nullopt;
  const std::uint32_t node = system.of_kind(NcclNodeKind::net)[own[channel % own.size()]];
  // The two trees have every other channel, and each is to fill all ports.
  return Found{system.node(node).net.nics, channel / own.size() / 2, std::nullopt};
}

ChannelNets ChannelNets::of_heads(const NcclSystem& system, const NcclGraph& graph,
                                  std::uint32_t channels) {
  const auto gpus = static_cast<std::uint32_t>(system.gpu_count());
  ChannelNets all;
  for (std::uint32_t channel = 0; channel < channels; ++channel) {
    std::vector<std::optional<Found>>& nets = all.nets_.emplace_back(gpus);
    for (std::uint32_t gpu = 0; gpu < gpus; ++gpu) {
      const auto rank = static_cast<std::size_t>(system.gpu(gpu).gpu.rank);
      nets[rank] = found_for_head(system, graph, channel, gpu);
    }
  }
  return all;
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
