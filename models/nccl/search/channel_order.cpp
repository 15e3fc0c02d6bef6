// The order in which a channel search tries GPUs and NICs, and what ways it may take.

#include <algorithm>
#include <tuple>

#include "models/nccl/search/channel_search.h"

namespace collsim {

namespace {

constexpr std::uint32_t max_channels = 64;

void add_once(std::vector<std::uint32_t>& list, std::uint32_t value) {
  if (std::find(list.begin(), list.end(), value) == list.end()) list.push_back(value);
}

}  // namespace

/// GPUs that the channel does not have yet, the most promising first. `toward_net` 1: the next one
/// goes to the NIC, so nearness to it counts most; -1: a later one does, so if all are alike the
/// near ones are kept for later.
std::vector<std::uint32_t> ChannelSearch::next_gpus(std::uint32_t gpu, int toward_net) const {
  struct NextGpu {
    std::uint32_t gpu;
    int net_bandwidth = 0;
    int net_pci_bandwidth = 0;
    std::size_t net_hops = 0;
    int bandwidth;
    std::size_t hops;
    std::uint32_t distance;

    auto key() const {
      return std::tuple(-net_bandwidth, -net_pci_bandwidth, net_hops, -bandwidth, hops, distance);
    }
  };
  if (!system_->of_kind(NcclNodeKind::nvs).empty()) return next_neighbours(gpu);
  std::vector<NextGpu> candidates;
  candidates.reserve(gpus_);
  for (std::uint32_t distance = 1; distance < gpus_; ++distance) {
    const std::uint32_t other = (gpu + distance) % gpus_;
    if (!may_go(gpu, other)) continue;
    const NcclPath& path = paths_->between(gpu_node(gpu), gpu_node(other));
    NextGpu candidate{.gpu = other,
                      .bandwidth = static_cast<int>(path.bandwidth),
                      .hops = path.links.size(),
                      .distance = distance};
    if (toward_net != 0) {
      const NcclPath& from_net =
          paths_->between(net_node(*channel(done_).first_net), gpu_node(other));
      candidate.net_bandwidth = static_cast<int>(from_net.bandwidth);
      candidate.net_pci_bandwidth = static_cast<int>(pci_bandwidth(other));
      candidate.net_hops = from_net.links.size();
    }
    candidates.push_back(candidate);
  }
  std::sort(candidates.begin(), candidates.end(),
            [](const NextGpu& a, const NextGpu& b) { return a.key() < b.key(); });
  const bool all_alike =
      std::all_of(candidates.begin(), candidates.end(), [&](const NextGpu& each) {
        return each.bandwidth == candidates.front().bandwidth &&
               each.hops == candidates.front().hops;
      });
  if (toward_net == -1 && all_alike) std::reverse(candidates.begin(), candidates.end());
  std::vector<std::uint32_t> next;
  next.reserve(candidates.size());
  for (const NextGpu& candidate : candidates) next.push_back(candidate.gpu);
  return next;
}

bool ChannelSearch::may_go(std::uint32_t gpu, std::uint32_t other) const {
  const bool is_used = (used_[other] & (std::uint64_t{1} << done_)) != 0;
  return gpu != other && !is_used && !paths_->between(gpu_node(gpu), gpu_node(other)).links.empty();
}

/// On NVSwitch every GPU is equally near, and few different peers are best: only index +1 and -1.
std::vector<std::uint32_t> ChannelSearch::next_neighbours(std::uint32_t gpu) const {
  const std::uint32_t below = (gpu + gpus_ - 1) % gpus_;
  const std::uint32_t above = (gpu + 1) % gpus_;
  std::vector<std::uint32_t> next;
  next.reserve(2);
  const auto add = [&](std::uint32_t other) {
    if (may_go(gpu, other)) add_once(next, other);
  };
  if (graph_.pattern == GraphPattern::ring) add(below);
  add(above);
  if (graph_.pattern != GraphPattern::ring && graph_.pattern != GraphPattern::tree) add(below);
  return next;
}

/// The preferred one first.
std::vector<std::uint32_t> ChannelSearch::order_gpus_beside(std::uint32_t net) const {
  std::vector<std::uint32_t> gpus;
  if (const auto preferred = paths_->preferred_gpu(net)) gpus.push_back(*preferred);
  for (const std::uint32_t gpu : paths_->closest(net_node(net), NcclNodeKind::gpu)) {
    add_once(gpus, gpu);
  }
  return gpus;
}

std::vector<std::uint32_t> ChannelSearch::order_nets(std::optional<std::uint32_t> gpu) const {
  std::vector<std::uint32_t> nets;
  const std::uint32_t first = gpu.value_or(0);
  const std::uint32_t last = gpu.value_or(gpus_ - 1);
  for (std::uint32_t each = first; each <= last; ++each) {
    const auto favourite = paths_->preferred_net(each, 0);
    if (!favourite) continue;
    add_once(nets, *favourite);
    for (std::uint32_t channel = 1; channel < max_channels; ++channel) {
      const std::uint32_t net = *paths_->preferred_net(each, channel);
      if (net == *favourite) break;
      add_once(nets, net);
    }
  }
  const auto net_count = static_cast<std::uint32_t>(system_->of_kind(NcclNodeKind::net).size());
  for (PathType type = PathType::loc; type <= graph_.inter_type; type = next_worse(type)) {
    for (std::uint32_t each = first; each <= last; ++each) {
      for (std::uint32_t net = 0; net < std::min(net_count, max_channels); ++net) {
        if (paths_->between(gpu_node(each), net_node(net)).type == type) add_once(nets, net);
      }
    }
  }
  return nets;
}

bool ChannelSearch::may_leave_by(std::uint32_t net, std::uint32_t position) const {
  const std::uint32_t came_by = *channel(done_).first_net;
  if (graph_.pattern == GraphPattern::tree && net != came_by) return false;
  if (graph_.pattern == GraphPattern::ring && graph_.cross_nic == 2) {
    // The second of a pair leaves where the first came in.
    if (done_ % 2 == 1 && channel(done_ - 1).first_net != net) return false;
  } else if (graph_.cross_nic == 0) {
    const NcclNet& in = net_of(came_by);
    const NcclNet& out = net_of(net);
    if (in.asic != out.asic || in.port != out.port) return false;
  }
  return graph_.pattern != GraphPattern::balanced_tree || position == 0 ||
         net == channel(done_).last_net;
}

/// Of the GPU's own PCIe link, or -1 without one.
float ChannelSearch::pci_bandwidth(std::uint32_t gpu) const {
  for (const std::uint32_t id : system_->node(gpu_node(gpu)).links) {
    const NcclLink& link = system_->links()[id];
    if (link.kind == NcclLinkKind::pci) return link.bandwidth;
  }
  return -1;
}

bool ChannelSearch::inside(std::uint32_t node) const {
  const NcclNodeKind kind = system_->node(node).kind;
  return kind == NcclNodeKind::gpu || kind == NcclNodeKind::nvs;
}

float ChannelSearch::bandwidth_between(std::uint32_t from, std::uint32_t to) const {
  return inside(from) && inside(to) ? graph_.intra_bandwidth : graph_.inter_bandwidth;
}

bool ChannelSearch::take(std::uint32_t from, std::uint32_t to, Load load) {
  const NcclPath& path = paths_->between(from, to);
  if (path.type == PathType::disconnected) return false;
  if (!load.of_any_type) {
    const PathType worst = inside(from) && inside(to) ? graph_.intra_type : graph_.inter_type;
    const bool both_ways = graph_.pattern == GraphPattern::balanced_tree ||
                           graph_.pattern == GraphPattern::tree ||
                           graph_.pattern == GraphPattern::split_tree;
    if (path.type > worst || (both_ways && paths_->between(to, from).type > worst)) return false;
  }
  if (!budget_.take(path, from, load.share * bandwidth_between(from, to))) return false;
  if (!load.of_any_type) graph_.hops += static_cast<int>(path.links.size());
  return true;
}

void ChannelSearch::give_back(std::uint32_t from, std::uint32_t to, Load load) {
  const NcclPath& path = paths_->between(from, to);
  budget_.give_back(path, from, load.share * bandwidth_between(from, to));
  if (!load.of_any_type) graph_.hops -= static_cast<int>(path.links.size());
}

}  // namespace collsim
