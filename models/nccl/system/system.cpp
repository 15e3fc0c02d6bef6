#include "models/nccl/system/system.h"

#include <algorithm>
#include <cassert>
#include <iterator>
#include <optional>
#include <set>

#include "models/nccl/system/link_bandwidth.h"

namespace collsim {

NcclNode make_node(NcclNodeKind kind, std::uint64_t id) {
  NcclNode node;
  node.kind = kind;
  node.id = id;
  return node;
}

const NcclLink* NcclSystem::link_up(std::uint32_t index) const {
  const NcclNode& node = nodes_[index];
  if (node.kind == NcclNodeKind::cpu) return nullptr;
  // After those down the tree, which only switches have.
  const auto up = std::find_if(node.links.rbegin(), node.links.rend(), [&](std::uint32_t id) {
    return links_[id].kind == NcclLinkKind::pci;
  });
  return up == node.links.rend() ? nullptr : &links_[*up];
}

int NcclSystem::min_compute_capability() const {
  int least = gpu(0).gpu.compute_capability;
  for (const std::uint32_t index : by_kind_[0]) {
    least = std::min(least, nodes_[index].gpu.compute_capability);
  }
  return least;
}

int NcclSystem::greatest_compute_capability() const {
  int greatest = 0;
  for (const std::uint32_t index : by_kind_[0]) {
    greatest = std::max(greatest, nodes_[index].gpu.compute_capability);
  }
  return greatest;
}

const NcclCpu& NcclSystem::cpu() const {
  return nodes_[of_kind(NcclNodeKind::cpu).front()].cpu;
}

void NcclSystem::keep_gpus(std::span<const std::uint32_t> ranks) {
  const std::set<std::uint32_t> kept(ranks.begin(), ranks.end());
  for (std::size_t index = gpu_count(); index-- > 0;) {
    NcclGpu& own = nodes_[by_kind_[0][index]].gpu;
    const auto place = kept.find(static_cast<std::uint32_t>(own.rank));
    if (place == kept.end()) {
      remove(NcclNodeKind::gpu, index);
    } else {
      own.rank = static_cast<int>(std::distance(kept.begin(), place));
    }
  }
}

void NcclSystem::remove(NcclNodeKind kind, std::size_t index) {
  auto& alike = by_kind_[static_cast<std::size_t>(kind)];
  const std::uint32_t gone = alike[index];
  for (NcclNode& node : nodes_) {
    std::erase_if(node.links, [&](std::uint32_t id) { return links_[id].to == gone; });
  }
  nodes_[gone].links.clear();
  alike.erase(alike.begin() + static_cast<std::ptrdiff_t>(index));
}

void NcclSystem::set_net_latency(float microseconds) {
  for (const std::uint32_t net : of_kind(NcclNodeKind::net)) nodes_[net].net.latency = microseconds;
}

void NcclSystem::merge_nets(std::span<const std::uint32_t> nets, int device) {
  const std::uint32_t kept = nets.front();
  NcclNet& merged = nodes_[kept].net;
  const auto& all = by_kind_[static_cast<std::size_t>(NcclNodeKind::net)];
  for (const std::uint32_t node : nets.subspan(1)) {
    const NcclNet& port = nodes_[node].net;
    merged.name += "+" + port.name;
    merged.nics.insert(merged.nics.end(), port.nics.begin(), port.nics.end());
    merged.bandwidth += port.bandwidth;
    merged.gdr = merged.gdr && port.gdr;
    merged.collnet = merged.collnet && port.collnet;
    remove_net(static_cast<std::size_t>(std::find(all.begin(), all.end(), node) - all.begin()));
  }
  merged.device = device;
  nodes_[kept].id = static_cast<std::uint64_t>(device);
  for (NcclLink& link : links_) {
    if (link.from == kept || link.to == kept) link.bandwidth = merged.bandwidth;
  }
}

std::uint32_t NcclSystemBuilder::add(NcclNode node) {
  const auto index = static_cast<std::uint32_t>(system_.nodes_.size());
  system_.by_kind_[static_cast<std::size_t>(node.kind)].push_back(index);
  system_.nodes_.push_back(std::move(node));
  return index;
}

void NcclSystemBuilder::connect(std::uint32_t from, std::uint32_t to, NcclLinkKind kind,
                                double bandwidth) {
  std::vector<std::uint32_t>& ids = system_.nodes_[from].links;
  auto place = std::find_if(ids.begin(), ids.end(), [&](std::uint32_t id) {
    return system_.links_[id].to == to && system_.links_[id].kind == kind;
  });
  if (place == ids.end()) {
    ids.push_back(static_cast<std::uint32_t>(system_.links_.size()));
    system_.links_.push_back({from, to, kind, 0});
    place = ids.end() - 1;
  }
  NcclLink& link = system_.links_[*place];
  link.bandwidth += static_cast<float>(bandwidth);
  // The widest first; among equals the older one.
  while (place != ids.begin() && system_.links_[*(place - 1)].bandwidth < link.bandwidth) {
    std::iter_swap(place - 1, place);
    --place;
  }
}

void NcclSystemBuilder::connect_both(std::uint32_t a, std::uint32_t b, NcclLinkKind kind,
                                     double bandwidth) {
  connect(a, b, kind, bandwidth);
  connect(b, a, kind, bandwidth);
}

void NcclSystemBuilder::connect_to_nvswitch(std::uint32_t gpu, double bandwidth) {
  const auto& switches = system_.by_kind_[static_cast<std::size_t>(NcclNodeKind::nvs)];
  const std::uint32_t nvs = switches.empty() ? add(make_node(NcclNodeKind::nvs)) : switches.front();
  connect_both(gpu, nvs, NcclLinkKind::nvl, bandwidth);
}

namespace {

/// The PCIe generation of a Broadcom switch that shows itself as two levels though it is one
/// (NCCL src/graph/topo.cc); `level` 1 is the lower half.
std::optional<int> broadcom_generation(std::uint64_t device, std::uint64_t level) {
  constexpr std::uint64_t without_subsystem_detail = 0xfffffffffffff000;
  const std::uint64_t family = device & without_subsystem_detail;
  if (family == 0x1000c0101000a000) return 4;
  if (family == (0x1000c03010000000 | level * 0x1000)) return 5;
  return std::nullopt;
}

}  // namespace

void NcclSystemBuilder::flatten_broadcom_switches() {
  std::vector<NcclNode>& nodes = system_.nodes_;
  std::vector<NcclLink>& links = system_.links_;
  std::vector<bool> absorbed(nodes.size(), false);
  for (const std::uint32_t upper : system_.by_kind_[static_cast<std::size_t>(NcclNodeKind::pci)]) {
    const auto generation = broadcom_generation(nodes[upper].pci_device, 0);
    if (!generation || absorbed[upper]) continue;
    std::vector<std::uint32_t> kept;
    std::vector<std::uint32_t> adopted;
    for (const std::uint32_t id : nodes[upper].links) {
      const std::uint32_t lower = links[id].to;
      if (nodes[lower].kind != NcclNodeKind::pci || absorbed[lower] ||
          broadcom_generation(nodes[lower].pci_device, 1) != generation) {
        kept.push_back(id);
        continue;
      }
      absorbed[lower] = true;
      for (const std::uint32_t down : nodes[lower].links) {
        if (links[down].to != upper) adopted.push_back(down);
      }
    }
    for (const std::uint32_t down : adopted) {
      for (const std::uint32_t back : nodes[links[down].to].links) {
        if (links[back].to == links[down].from) links[back].to = upper;
      }
      links[down].from = upper;
      kept.push_back(down);
    }
    nodes[upper].links = std::move(kept);
  }
  remove_absorbed(absorbed);
}

void NcclSystemBuilder::remove_absorbed(const std::vector<bool>& absorbed) {
  auto& switches = system_.by_kind_[static_cast<std::size_t>(NcclNodeKind::pci)];
  for (const std::uint32_t index : switches) {
    if (absorbed[index]) system_.nodes_[index].links.clear();
  }
  switches.erase(std::remove_if(switches.begin(), switches.end(),
                                [&](std::uint32_t index) { return absorbed[index]; }),
                 switches.end());
}

void NcclSystemBuilder::join_cpus(NcclVersion version) {
  const auto cpus = system_.by_kind_[static_cast<std::size_t>(NcclNodeKind::cpu)];
  for (const std::uint32_t from : cpus) {
    for (const std::uint32_t to : cpus) {
      if (from == to || system_.nodes_[from].host != system_.nodes_[to].host) continue;
      connect(from, to, NcclLinkKind::sys, cpu_link_bandwidth(system_.nodes_[from].cpu, version));
    }
  }
}

void NcclSystemBuilder::order_links() {
  // Down the PCIe tree from each CPU; the link back up comes last at every node.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pending;
  const auto descend = [&](std::uint32_t node, std::uint32_t up) {
    for (const std::uint32_t id : system_.nodes_[node].links) {
      const NcclLink& link = system_.links_[id];
      if (link.kind == NcclLinkKind::pci && link.to != up) pending.emplace_back(link.to, node);
    }
  };
  for (const std::uint32_t cpu : system_.of_kind(NcclNodeKind::cpu)) descend(cpu, cpu);
  while (!pending.empty()) {
    const auto [node, up] = pending.back();
    pending.pop_back();
    std::vector<std::uint32_t>& ids = system_.nodes_[node].links;
    const auto way_up = std::find_if(ids.begin(), ids.end(), [&, parent = up](std::uint32_t id) {
      return system_.links_[id].to == parent;
    });
    assert(way_up != ids.end());
    std::rotate(way_up, way_up + 1, ids.end());
    descend(node, up);
  }
}

void NcclSystemBuilder::number_ranks() {
  std::vector<std::uint32_t> gpus(system_.of_kind(NcclNodeKind::gpu).begin(),
                                  system_.of_kind(NcclNodeKind::gpu).end());
  std::stable_sort(gpus.begin(), gpus.end(), [&](std::uint32_t a, std::uint32_t b) {
    return system_.nodes_[a].gpu.rank < system_.nodes_[b].gpu.rank;
  });
  for (std::size_t rank = 0; rank < gpus.size(); ++rank) {
    system_.nodes_[gpus[rank]].gpu.rank = static_cast<int>(rank);
  }
}

NcclSystem NcclSystemBuilder::build(NcclVersion version) && {
  flatten_broadcom_switches();
  join_cpus(version);
  order_links();
  number_ranks();
  return std::move(system_);
}

}  // namespace collsim
