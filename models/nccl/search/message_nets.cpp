#include "models/nccl/search/message_nets.h"

#include <algorithm>

namespace collsim {

MessageNets::MessageNets(const NcclSystem& system, const NcclPaths& paths,
                         const NcclEnvironment& environment, std::uint32_t channels) {
  const auto nets = system.of_kind(NcclNodeKind::net);
  for (const std::uint32_t net : nets) nics_.push_back(system.node(net).net.nics);
  const auto gpus = static_cast<std::uint32_t>(system.gpu_count());
  ways_.resize(gpus);
  preferred_.assign(channels, std::vector<std::optional<std::uint32_t>>(gpus));
  for (std::uint32_t gpu = 0; gpu < gpus; ++gpu) {
    const auto rank = static_cast<std::size_t>(system.gpu(gpu).gpu.rank);
    for (std::uint32_t channel = 0; channel < channels; ++channel) {
      preferred_[channel][rank] = paths.preferred_net(gpu, channel);
    }
    for (std::uint32_t net = 0; net < nets.size(); ++net) {
      ways_[rank].push_back(way(system, paths, environment, gpu, net));
    }
  }
}

MessageNets::Way MessageNets::way(const NcclSystem& system, const NcclPaths& paths,
                                  const NcclEnvironment& environment, std::uint32_t gpu,
                                  std::uint32_t net) {
  Way own;
  if (environment.cross_nic == 0) own.net = net;
  const int level = environment.pxn_disabled ? 0 : environment.message_pxn_level;
  const auto beside = paths.preferred_gpu(net);
  if (level == 0 || !beside) return own;
  const auto gpus = system.of_kind(NcclNodeKind::gpu);
  const std::uint32_t node = system.of_kind(NcclNodeKind::net)[net];
  const auto relay = static_cast<std::uint32_t>(system.gpu(*beside).gpu.rank);
  const Way through{net, *beside == gpu ? std::nullopt : std::optional(relay)};
  if (level == 1) {
    const PathType type = paths.between(gpus[gpu], node).type;
    if (type > PathType::pxn) return own;
    return type == PathType::pxn ? through : Way{net, std::nullopt};
  }
  const bool reached = paths.between(gpus[*beside], gpus[gpu]).type <= PathType::nvl &&
                       paths.between(gpus[*beside], node).type <= paths.worst_of_relay();
  return reached ? through : own;
}

std::optional<ChannelNet> MessageNets::found(std::uint32_t channel, std::uint32_t net,
                                             std::optional<std::uint32_t> relay) const {
  const std::vector<int>& nics = nics_[net];
  if (nics.empty()) return std::nullopt;
  return ChannelNet{nics[channel % nics.size()], relay};
}

std::optional<ChannelNet> MessageNets::in(std::uint32_t channel, std::uint32_t to) const {
  if (preferred_.empty()) return std::nullopt;
  const auto net = preferred_[channel % preferred_.size()][to];
  return net ? found(channel, *net, std::nullopt) : std::nullopt;
}

std::optional<ChannelNet> MessageNets::out(std::uint32_t channel, std::uint32_t from,
                                           const MessageNets& receiver, std::uint32_t to) const {
  if (preferred_.empty() || receiver.preferred_.empty()) return std::nullopt;
  const auto& own = preferred_[channel % preferred_.size()][from];
  const auto& other = receiver.preferred_[channel % receiver.preferred_.size()][to];
  if (!own || !other) return std::nullopt;
  const Way way = *other < ways_[from].size() ? ways_[from][*other] : Way{};
  return found(channel, way.net.value_or(*own), way.relay);
}

}  // namespace collsim
