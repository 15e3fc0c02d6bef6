#include "sim/routing/network_paths.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "sim/routing/path_tree.h"

namespace collsim {

NetworkPaths::NetworkPaths(const Topology& topology) : topology_(topology) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> entries;
  for (LinkId id = topology.first_fabric_link(); id < topology.links().size(); ++id) {
    const Link link = topology.link(id);
    const std::uint32_t from = index_of_switch(link.from);
    if (from == unreachable || index_of_switch(link.to) == unreachable) continue;
    entries.emplace_back(from, id);
  }
  switch_links_ = Rows(switch_count(), entries);
  distances_.resize(switch_count());
}

std::uint32_t NetworkPaths::switch_count() const {
  return static_cast<std::uint32_t>(topology_.fabric_devices().size());
}

std::uint32_t NetworkPaths::index_of_switch(DeviceId device) const {
  const DeviceId first = topology_.first_fabric_device();
  return device < first ? unreachable : device - first;
}

bool NetworkPaths::is_end(DeviceId device) const {
  const auto links = topology_.fabric_links_from(device);
  if (links.empty()) return false;
  const std::int32_t node = topology_.node_of(device);
  return node >= 0 && std::any_of(links.begin(), links.end(), [&](LinkId link) {
           return topology_.node_of(topology_.link(link).to) != node;
         });
}

const std::vector<NetworkPaths::Port>& NetworkPaths::ports(DeviceId device) {
  const auto [entry, is_new] = ports_.try_emplace(device);
  if (!is_new) return entry->second;
  const std::int32_t node = topology_.node_of(device);
  for (const LinkId id : topology_.fabric_links_from(device)) {
    const Link link = topology_.link(id);
    if (topology_.node_of(link.to) == node) continue;
    entry->second.push_back({id, link.reverse, index_of_switch(link.to)});
  }
  return entry->second;
}

NetworkPaths::Distances NetworkPaths::search(std::uint32_t switch_index) const {
  Distances distances{std::vector<std::uint32_t>(switch_count(), unreachable),
                      std::vector<std::uint32_t>(switch_count(), 0)};
  distances.hops[switch_index] = 0;
  distances.counts[switch_index] = 1;
  std::vector<std::uint32_t> queue{switch_index};
  for (std::size_t i = 0; i < queue.size(); ++i) {
    const std::uint32_t here = queue[i];
    for (const LinkId id : switch_links_[here]) {
      const std::uint32_t next = index_of_switch(topology_.link(id).to);
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
std::uint32_t NetworkPaths::hops_by(const Port& first, const Port& last) {
  if (first.entry == unreachable || last.entry == unreachable) {
    return first.in == last.out ? 1 : unreachable;
  }
  const std::uint32_t between = distances_to(last.entry).hops[first.entry];
  return between == unreachable ? unreachable : between + 2;
}

std::uint64_t NetworkPaths::count_by(const Port& first, const Port& last) {
  return first.entry == unreachable ? 1 : distances_to(last.entry).counts[first.entry];
}

std::uint32_t NetworkPaths::hops(DeviceId from, DeviceId to) {
  std::uint32_t least = unreachable;
  const std::vector<Port>& ways_in = ports(to);
  for (const Port& first : ports(from)) {
    for (const Port& last : ways_in) least = std::min(least, hops_by(first, last));
  }
  return least;
}

std::uint64_t NetworkPaths::count(DeviceId from, DeviceId to) {
  const std::uint32_t least = hops(from, to);
  std::uint64_t sum = 0;
  const std::vector<Port>& ways_in = ports(to);
  for (const Port& first : ports(from)) {
    for (const Port& last : ways_in) {
      if (hops_by(first, last) == least) sum += count_by(first, last);
    }
  }
  return least == unreachable ? 0 : std::min(sum, path_count_limit);
}

/// The links of shortest path number `index` between two switches.
void NetworkPaths::append_between(std::uint32_t entry, std::uint32_t exit, std::uint64_t index,
                                  std::vector<LinkId>& links) {
  const Distances& distances = distances_to(exit);
  for (std::uint32_t here = entry; distances.hops[here] != 0;) {
    for (const LinkId id : switch_links_[here]) {
      const std::uint32_t next = index_of_switch(topology_.link(id).to);
      if (distances.hops[next] + 1 != distances.hops[here]) continue;
      if (index < distances.counts[next]) {
        links.push_back(id);
        here = next;
        break;
      }
      index -= distances.counts[next];
    }
  }
}

std::vector<LinkId> NetworkPaths::path_over(DeviceId from, DeviceId to, std::uint32_t over,
                                            std::uint64_t index) {
  const Port first = ports(from).front();
  const Port last = ports(to).front();
  const std::uint32_t entry = first.entry;
  const std::uint32_t exit = last.entry;
  if (entry == unreachable || exit == unreachable) return {};
  const std::uint64_t ways_there = distances_to(over).counts[entry];
  const std::uint64_t ways_on = distances_to(exit).counts[over];
  if (ways_there == 0 || ways_on == 0) return {};
  std::vector<LinkId> links{first.out};
  append_between(entry, over, index % ways_there, links);
  append_between(over, exit, index / ways_there % ways_on, links);
  links.push_back(last.in);
  for (const LinkId id : links) {
    const LinkId back = topology_.link(id).reverse;
    if (std::find(links.begin(), links.end(), back) != links.end()) return {};
  }
  return links;
}

void NetworkPaths::append_path(DeviceId from, DeviceId to, std::uint64_t index,
                               std::vector<LinkId>& links) {
  const std::uint32_t least = hops(from, to);
  const std::vector<Port>& ways_in = ports(to);
  for (const Port& first : ports(from)) {
    for (const Port& last : ways_in) {
      if (hops_by(first, last) != least) continue;
      const std::uint64_t count = count_by(first, last);
      if (index >= count) {
        index -= count;
        continue;
      }
      links.push_back(first.out);
      if (least == 1) return;
      append_between(first.entry, last.entry, index, links);
      links.push_back(last.in);
      return;
    }
  }
  assert(false);
}

}  // namespace collsim
