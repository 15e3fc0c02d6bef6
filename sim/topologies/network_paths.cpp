#include "sim/topologies/network_paths.h"

#include <algorithm>
#include <cassert>

#include "sim/topologies/path_tree.h"

namespace collsim {

NetworkPaths::NetworkPaths(const Topology& topology)
    : topology_(topology),
      ports_(topology.devices().size()),
      switch_index_(topology.devices().size(), unreachable) {
  std::uint32_t switches = 0;
  for (DeviceId id = 0; id < topology.devices().size(); ++id) {
    if (topology.device(id).node < 0) switch_index_[id] = switches++;
  }
  switch_links_.resize(switches);
  distances_.resize(switches);
  for (LinkId id = 0; id < topology.links().size(); ++id) {
    const Link& link = topology.link(id);
    const std::int32_t from_node = topology.device(link.from).node;
    const std::int32_t to_node = topology.device(link.to).node;
    if (from_node >= 0 && from_node != to_node) ports_[link.from].push_back(id);
    if (from_node < 0 && to_node < 0) switch_links_[switch_index_[link.from]].push_back(id);
  }
}

NetworkPaths::Distances NetworkPaths::search(std::uint32_t switch_index) const {
  Distances distances{std::vector<std::uint32_t>(switch_links_.size(), unreachable),
                      std::vector<std::uint32_t>(switch_links_.size(), 0)};
  distances.hops[switch_index] = 0;
  distances.counts[switch_index] = 1;
  std::vector<std::uint32_t> queue{switch_index};
  for (std::size_t i = 0; i < queue.size(); ++i) {
    const std::uint32_t here = queue[i];
    for (const LinkId id : switch_links_[here]) {
      const std::uint32_t next = switch_index_[topology_.link(id).to];
      if (distances.hops[next] == unreachable) {
        distances.hops[next] = distances.hops[here] + 1;
        queue.push_back(next);
      }
      if (distances.hops[next] != distances.hops[here] + 1) continue;
      const std::uint64_t count = std::uint64_t{distances.counts[next]} + distances.counts[here];
      distances.counts[next] = static_cast<std::uint32_t>(std::min(count, path_count_limit));
    }
  }
  return distances;
}

const NetworkPaths::Distances& NetworkPaths::distances_to(std::uint32_t switch_index) {
  Distances& distances = distances_[switch_index];
  if (distances.hops.empty()) distances = search(switch_index);
  return distances;
}

/// Links of the shortest path that leaves its end by `first` and reaches the other by the way back
/// of `last`.
std::uint32_t NetworkPaths::hops_by(LinkId first, LinkId last) {
  const std::uint32_t entry = switch_index_[topology_.link(first).to];
  const std::uint32_t exit = switch_index_[topology_.link(last).to];
  if (entry == unreachable || exit == unreachable) {
    return topology_.link(first).reverse == last ? 1 : unreachable;
  }
  const std::uint32_t between = distances_to(exit).hops[entry];
  return between == unreachable ? unreachable : between + 2;
}

std::uint64_t NetworkPaths::count_by(LinkId first, LinkId last) {
  const std::uint32_t entry = switch_index_[topology_.link(first).to];
  const std::uint32_t exit = switch_index_[topology_.link(last).to];
  return entry == unreachable ? 1 : distances_to(exit).counts[entry];
}

std::uint32_t NetworkPaths::hops(DeviceId from, DeviceId to) {
  std::uint32_t least = unreachable;
  for (const LinkId first : ports_[from]) {
    for (const LinkId last : ports_[to]) least = std::min(least, hops_by(first, last));
  }
  return least;
}

std::uint64_t NetworkPaths::count(DeviceId from, DeviceId to) {
  const std::uint32_t least = hops(from, to);
  std::uint64_t sum = 0;
  for (const LinkId first : ports_[from]) {
    for (const LinkId last : ports_[to]) {
      if (hops_by(first, last) == least) sum += count_by(first, last);
    }
  }
  return least == unreachable ? 0 : std::min(sum, path_count_limit);
}

void NetworkPaths::append_path(DeviceId from, DeviceId to, std::uint64_t index,
                               std::vector<LinkId>& links) {
  const std::uint32_t least = hops(from, to);
  for (const LinkId first : ports_[from]) {
    for (const LinkId last : ports_[to]) {
      if (hops_by(first, last) != least) continue;
      const std::uint64_t count = count_by(first, last);
      if (index >= count) {
        index -= count;
        continue;
      }
      links.push_back(first);
      if (least == 1) return;
      const Distances& distances = distances_to(switch_index_[topology_.link(last).to]);
      std::uint32_t here = switch_index_[topology_.link(first).to];
      while (distances.hops[here] != 0) {
        for (const LinkId id : switch_links_[here]) {
          const std::uint32_t next = switch_index_[topology_.link(id).to];
          if (distances.hops[next] + 1 != distances.hops[here]) continue;
          if (index < distances.counts[next]) {
            links.push_back(id);
            here = next;
            break;
          }
          index -= distances.counts[next];
        }
      }
      links.push_back(topology_.link(last).reverse);
      return;
    }
  }
  assert(false);
}

}  // namespace collsim
