#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "models/faults/machine_faults.h"
#include "sim/base/did_you_mean.h"

namespace collsim {

namespace {

/// Up to three names of devices, those of least edit distance first.
std::string nearest(const Topology& topology, std::string_view name) {
  std::vector<std::pair<std::size_t, std::string>> near;
  for (DeviceId id = 0; id < topology.devices().size(); ++id) {
    std::string known = topology.device_name(id);
    const std::size_t distance = edit_distance(name, known);
    near.emplace_back(distance, std::move(known));
  }
  const auto count = static_cast<std::ptrdiff_t>(std::min<std::size_t>(near.size(), 3));
  std::partial_sort(near.begin(), near.begin() + count, near.end());
  std::string text;
  for (std::ptrdiff_t i = 0; i < count; ++i) {
    text += (i == 0 ? "" : ", ") + near[static_cast<std::size_t>(i)].second;
  }
  return text;
}

DeviceId find_device(const std::string& name, const Fault& fault, const Topology& topology) {
  if (const auto found = topology.find_device(name)) return *found;
  throw InputError(fault.where, fmt::format("'{}' has no device '{}'", topology.name(), name),
                   "a device of it, such as " + nearest(topology, name));
}

std::string neighbours(const Topology& topology, DeviceId device) {
  std::string text;
  for (const LinkId link : topology.links_from(device)) {
    text += (text.empty() ? "" : ", ") + topology.device_name(topology.link(link).to);
    if (text.size() > 100) return text + ", ...";
  }
  return text;
}

std::int32_t find_host(const std::string& name, const Fault& fault, const Topology& topology) {
  const auto hosts = static_cast<std::int32_t>(topology.node_count());
  for (std::int32_t node = 0; node < hosts; ++node) {
    if (name == fmt::format("node{}", node)) return node;
  }
  throw InputError(fault.where, fmt::format("'{}' has no host '{}'", topology.name(), name),
                   hosts == 1 ? "node0" : fmt::format("node0 to node{}", hosts - 1));
}

/// All links by which a node's devices reach what is outside it.
std::vector<LinkId> links_out_of(const std::string& name, const Fault& fault,
                                 const Topology& topology) {
  const std::int32_t node = find_host(name, fault, topology);
  std::vector<LinkId> links;
  const NodePart part = topology.node(static_cast<std::uint32_t>(node));
  const auto size = static_cast<DeviceId>(part.graph->graph().devices.size());
  for (DeviceId id = part.first_device; id < part.first_device + size; ++id) {
    for (const LinkId link : topology.fabric_links_from(id)) {
      if (topology.node_of(topology.link(link).to) != node) links.push_back(link);
    }
  }
  std::sort(links.begin(), links.end());
  if (links.empty()) {
    throw InputError(fault.where, fmt::format("no link leaves {}", name),
                     "late or speed of its ranks; or a link or device inside it");
  }
  return links;
}

std::vector<LinkId> outgoing(const Fault& fault, const std::pair<std::string, std::string>& names,
                             const Topology& topology) {
  if (fault.target == Fault::Target::host) return links_out_of(names.first, fault, topology);
  const DeviceId device = find_device(names.first, fault, topology);
  std::vector<LinkId> links;
  switch (fault.target) {
    case Fault::Target::cable: {
      const DeviceId other = find_device(names.second, fault, topology);
      for (const LinkId link : topology.links_from(device)) {
        if (topology.link(link).to == other) links.push_back(link);
      }
      if (links.empty()) {
        throw InputError(
            fault.where, fmt::format("no link joins {} and {}", names.first, names.second),
            fmt::format("one of {}'s: to {}", names.first, neighbours(topology, device)));
      }
      break;
    }
    case Fault::Target::port:
      for (const LinkId link : topology.links_from(device)) {
        if (topology.node_of(topology.link(link).to) != topology.node_of(device)) {
          links.push_back(link);
        }
      }
      if (links.empty() || topology.node_of(device) < 0) {
        throw InputError(
            fault.where, fmt::format("{} is not a port of a node on the network", names.first),
            fmt::format("a NIC; 'link: {0} - {1}' for one link of it, 'device: {0}' "
                        "for all",
                        names.first,
                        topology.device_name(topology.link(topology.links_from(device)[0]).to)));
      }
      break;
    case Fault::Target::device:
      for (const LinkId link : topology.links_from(device)) links.push_back(link);
      break;
    case Fault::Target::host:
    case Fault::Target::rank:
      break;
  }
  return links;
}

LinkFault find_links(const Fault& fault, const Topology& topology) {
  LinkFault found;
  for (const auto& names : fault.names) {
    for (const LinkId link : outgoing(fault, names, topology)) {
      if (fault.direction != Fault::Direction::in) found.links.push_back(link);
      if (fault.direction != Fault::Direction::out) {
        found.links.push_back(topology.link(link).reverse);
      }
    }
  }
  if (fault.traffic) {
    for (const LinkId link : found.links) {
      if (*fault.traffic < topology.link(link).bandwidth) continue;
      throw InputError(
          fault.where,
          fmt::format("traffic of {} on {}, which has {}", to_string(*fault.traffic),
                      topology.link_name(link), to_string(topology.link(link).bandwidth)),
          "less than the link has; or dead: true");
    }
  }
  found.share = fault.share.value_or(1);
  found.rate = fault.rate;
  found.traffic = fault.traffic;
  found.dead = fault.dead;
  found.latency = fault.latency;
  found.jitter = fault.jitter;
  found.from = fault.from;
  found.until = fault.until;
  found.detection = fault.detection;
  return found;
}

}  // namespace

MachineFaults find_faults(std::span<const Fault> faults, const Topology& topology, Rank ranks,
                          std::uint64_t seed) {
  MachineFaults found;
  found.seed = seed;
  for (const Fault& fault : faults) {
    if (fault.target == Fault::Target::host && fault.changes_ranks()) {
      for (const auto& [host, none] : fault.names) {
        found.hosts.push_back({find_host(host, fault, topology), fault.late, fault.speed});
      }
    }
    if (fault.target != Fault::Target::rank) {
      if (fault.changes_links()) found.links.push_back(find_links(fault, topology));
      continue;
    }
    if (fault.rank >= ranks) {
      throw InputError(fault.where, fmt::format("rank {} of {} ranks", fault.rank, ranks),
                       fmt::format("0 to {}", ranks - 1));
    }
    found.ranks.push_back({fault.rank, fault.late, fault.speed});
  }
  return found;
}

}  // namespace collsim
