#include "models/nccl/system/paths.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "models/nccl/system/link_bandwidth.h"
#include "sim/base/division.h"
#include "sim/base/input_error.h"

namespace collsim {

namespace {

constexpr std::uint32_t max_channels = 64;

PathType type_of(NcclLinkKind kind) {
  switch (kind) {
    case NcclLinkKind::nvl:
      return PathType::nvl;
    case NcclLinkKind::c2c:
      return PathType::c2c;
    case NcclLinkKind::pci:
      return PathType::pix;
    case NcclLinkKind::sys:
      return PathType::sys;
    case NcclLinkKind::loc:
    case NcclLinkKind::net:  // only the way from the NIC to the GPU counts
      break;
  }
  return PathType::loc;
}

/// C2C to the CPU and PCIe to the NIC.
bool is_behind_grace(PathType a, PathType b) {
  return std::max(a, b) == PathType::phb && std::min(a, b) == PathType::c2c;
}

std::uint32_t mirrored_bits(std::uint32_t value, std::uint32_t power_of_two) {
  std::uint32_t mirrored = 0;
  for (std::uint32_t bit = 1, image = power_of_two >> 1; bit < power_of_two;
       bit <<= 1, image >>= 1) {
    if ((value & bit) != 0) mirrored |= image;
  }
  return mirrored;
}

PathType default_p2p_level(const NcclSystem& system, NcclVersion version) {
  const NcclCpu& cpu = system.cpu();
  const bool amd = cpu.architecture == CpuArchitecture::x86 && cpu.vendor == CpuVendor::amd;
  if (amd && (version < NcclVersion{2, 23} || system.gpu_count() <= 2)) return PathType::sys;
  return PathType::pxb;
}

/// A NIC behind Grace lies behind a host bridge until 2.26, where GPUDirect over NVLink-C2C can be
/// asked for; 2.27 knows its path, and 2.28 leads neighbours over it (NCCL's notes of releases
/// 2.26.2, 2.27.3 and 2.28.3; src/graph/paths.cc).
NcclPaths::GraceRules grace_rules(const NcclEnvironment& environment, NcclVersion version) {
  const bool knows_path = version >= NcclVersion{2, 27};
  NcclPaths::GraceRules rules;
  rules.nic_path = knows_path ? PathType::p2c : PathType::phb;
  rules.gpudirect = version >= NcclVersion{2, 26} && environment.gdr_over_c2c.value_or(knows_path);
  const bool relays = environment.pxn_over_c2c.value_or(version >= NcclVersion{2, 28});
  rules.worst_of_relay = knows_path && relays ? PathType::p2c : PathType::pxb;
  return rules;
}

}  // namespace

NcclPaths::NcclPaths(const NcclSystem& system, const NcclEnvironment& environment,
                     NcclVersion version)
    : system_(&system),
      node_count_(system.nodes().size()),
      paths_(node_count_ * node_count_),
      grace_(grace_rules(environment, version)) {
  for (const NcclNodeKind kind :
       {NcclNodeKind::cpu, NcclNodeKind::gpu, NcclNodeKind::net, NcclNodeKind::nvs}) {
    for (const std::uint32_t base : system.of_kind(kind)) flood(base, !environment.nvb_disabled);
  }
  avoid_forbidden_peers(environment, version);
  const auto nets = static_cast<std::uint32_t>(system.of_kind(NcclNodeKind::net).size());
  if (nets > 0) mark_c2c_nets();
  for (std::uint32_t net = 0; net < nets; ++net) {
    if (!environment.pxn_disabled) relay_through_gpus(net, environment);
    avoid_forbidden_rdma(net, environment);
  }
  for (std::uint32_t gpu = 0; gpu < system.gpu_count(); ++gpu) {
    preferences_.push_back(net_preference(gpu));
  }
  for (std::uint32_t net = 0; net < nets; ++net) preferring_gpus_.push_back(preferring_gpu(net));
}

/// Breadth first from `base` over all nodes: every node learns its path to it.
void NcclPaths::flood(std::uint32_t base, bool relay) {
  path(base, base) = {{}, local_bandwidth, PathType::loc};
  std::vector<std::uint32_t> front{base};
  while (!front.empty()) {
    std::vector<std::uint32_t> next;
    for (const std::uint32_t node : front) {
      for (const std::uint32_t link : system_->node(node).links) {
        extend(base, node, link, relay, next);
      }
    }
    front = std::move(next);
  }
}

void NcclPaths::extend(std::uint32_t base, std::uint32_t node, std::uint32_t link_id, bool relay,
                       std::vector<std::uint32_t>& next) {
  const NcclLink& link = system_->links()[link_id];
  const NcclPath& known = path(node, base);
  NcclPath& longer = path(link.to, base);
  const NcclNodeKind kind = system_->node(node).kind;
  const NcclNodeKind far_kind = system_->node(link.to).kind;
  const bool through_gpu = node != base && kind == NcclNodeKind::gpu;
  // Another GPU may relay between two that NVLink joins to it, and nothing else.
  if (through_gpu && (!relay || link.kind != NcclLinkKind::nvl || far_kind != NcclNodeKind::gpu ||
                      known.links.size() > 1)) {
    return;
  }
  const float bandwidth = std::min(known.bandwidth, link.bandwidth);
  const bool shorter = longer.bandwidth == 0 || longer.links.size() > known.links.size();
  if (!shorter || longer.bandwidth >= bandwidth) return;
  const auto& back_links = system_->node(link.to).links;
  const auto back = std::find_if(back_links.begin(), back_links.end(), [&](std::uint32_t id) {
    return system_->links()[id].to == node && system_->links()[id].kind == link.kind;
  });
  if (back == back_links.end()) return;

  PathType type = type_of(link.kind);
  if (kind == NcclNodeKind::pci && far_kind == NcclNodeKind::pci) type = PathType::pxb;
  if (link.kind == NcclLinkKind::pci &&
      (kind == NcclNodeKind::cpu || far_kind == NcclNodeKind::cpu)) {
    type = PathType::phb;
  }
  if (kind == NcclNodeKind::gpu && known.type == PathType::nvl && type == PathType::nvl &&
      !known.links.empty()) {
    type = PathType::nvb;
  }
  std::vector<std::uint32_t> links{*back};
  links.insert(links.end(), known.links.begin(), known.links.end());
  longer = {std::move(links), bandwidth, std::max(known.type, type)};
  if (std::find(next.begin(), next.end(), link.to) == next.end()) next.push_back(link.to);
}

/// Leads the path from `from` to `to` over `via`.
void NcclPaths::detour(std::uint32_t from, std::uint32_t via, std::uint32_t to) {
  const NcclPath& first = between(from, via);
  const NcclPath& second = between(via, to);
  NcclPath joint = first;
  joint.links.insert(joint.links.end(), second.links.begin(), second.links.end());
  joint.bandwidth = std::min(first.bandwidth, second.bandwidth);
  joint.staged = system_->node(via).kind == NcclNodeKind::cpu;
  joint.type = std::max(first.type, second.type);
  if (is_behind_grace(first.type, second.type)) joint.type = grace_.nic_path;
  if (system_->node(via).kind == NcclNodeKind::gpu) joint.type = PathType::pxn;
  path(from, to) = std::move(joint);
}

void NcclPaths::avoid_forbidden_peers(const NcclEnvironment& environment, NcclVersion version) {
  const PathType level = environment.p2p_level.value_or(default_p2p_level(*system_, version));
  for (const std::uint32_t to : system_->of_kind(NcclNodeKind::gpu)) {
    for (const std::uint32_t from : system_->of_kind(NcclNodeKind::gpu)) {
      if (from == to || between(from, to).type <= level) continue;
      if (environment.shm_disabled) {
        throw InputError(
            fmt::format("GPUs {} and {} of a node may use neither peer-to-peer ({} is worse than "
                        "{}) nor shared memory",
                        system_->node(from).gpu.rank, system_->node(to).gpu.rank,
                        to_string(between(from, to).type), to_string(level)),
            "NCCL_SHM_DISABLE=0, or an NCCL_P2P_LEVEL that allows them");
      }
      detour(from, local_cpu(to), to);
    }
  }
}

/// A NIC that hangs off the CPU which the GPU reaches over C2C is nearer than a host bridge.
void NcclPaths::mark_c2c_nets() {
  for (const std::uint32_t gpu : system_->of_kind(NcclNodeKind::gpu)) {
    const std::uint32_t cpu = local_cpu(gpu);
    for (const std::uint32_t index : closest(gpu, NcclNodeKind::net)) {
      const std::uint32_t net = system_->of_kind(NcclNodeKind::net)[index];
      if (!is_behind_grace(between(gpu, cpu).type, between(net, cpu).type)) continue;
      path(gpu, net).type = std::min(grace_.nic_path, path(gpu, net).type);
      path(net, gpu).type = std::min(grace_.nic_path, path(net, gpu).type);
    }
  }
}

/// PXN: sends, never receives, may go over NVLink to the GPU beside the NIC.
void NcclPaths::relay_through_gpus(std::uint32_t net_index, const NcclEnvironment& environment) {
  const std::uint32_t net = system_->of_kind(NcclNodeKind::net)[net_index];
  for (const std::uint32_t gpu : system_->of_kind(NcclNodeKind::gpu)) {
    const auto beside = preferring_gpu(net_index);
    if (beside) {
      const std::uint32_t relay = system_->of_kind(NcclNodeKind::gpu)[*beside];
      const NcclPath& direct = between(gpu, net);
      const NcclPath& from_relay = between(relay, net);
      const bool better = from_relay.bandwidth > direct.bandwidth || direct.type > PathType::pxn;
      if (relay != gpu && from_relay.type <= grace_.worst_of_relay && better &&
          between(relay, gpu).type <= PathType::nvl &&
          rdma_allowed(relay, net, true, environment)) {
        detour(gpu, relay, net);
      }
    }
  }
}

void NcclPaths::avoid_forbidden_rdma(std::uint32_t net_index, const NcclEnvironment& environment) {
  const std::uint32_t net = system_->of_kind(NcclNodeKind::net)[net_index];
  for (const std::uint32_t gpu : system_->of_kind(NcclNodeKind::gpu)) {
    if (between(gpu, net).type >= PathType::phb || rdma_allowed(gpu, net, false, environment)) {
      continue;
    }
    const std::uint32_t cpu = local_cpu(gpu);
    detour(net, cpu, gpu);
    detour(gpu, cpu, net);
  }
}

/// Whether NIC and GPU may exchange data without host memory. `read`: the NIC fetches what is sent.
bool NcclPaths::rdma_allowed(std::uint32_t gpu, std::uint32_t net, bool read,
                             const NcclEnvironment& environment) const {
  const NcclGpu& properties = system_->node(gpu).gpu;
  if (!system_->node(net).net.gdr || environment.over_sockets() || !properties.gdr) return false;
  if (read && properties.compute_capability < 80 && system_->gpu_count() > 1) {
    // Before Ampere PCIe reads are slow; they pay only where other traffic has NVLink.
    const auto gpus = system_->of_kind(NcclNodeKind::gpu);
    const bool nvlink = std::any_of(gpus.begin(), gpus.end(), [&](std::uint32_t peer) {
      return peer != gpu && between(gpu, peer).type == PathType::nvl;
    });
    if (!nvlink) return false;
  }
  const PathType level = environment.gdr_level.value_or(PathType::pxb);
  const PathType distance = between(gpu, net).type;
  // The relay's distance counts for PXN, and PXN is only set where that was near enough.
  if (distance == PathType::pxn || distance <= level) return true;
  return grace_.gpudirect && distance == grace_.nic_path &&
         between(gpu, local_cpu(gpu)).type == PathType::c2c && PathType::c2c <= level;
}

std::uint32_t NcclPaths::local_cpu(std::uint32_t gpu) const {
  const auto cpus = system_->of_kind(NcclNodeKind::cpu);
  std::optional<std::uint32_t> nearest;
  for (const std::uint32_t cpu : cpus) {
    const std::size_t hops = between(gpu, cpu).links.size();
    if (hops > 0 && (!nearest || hops < between(gpu, *nearest).links.size())) nearest = cpu;
  }
  if (!nearest) {
    throw InputError(fmt::format("GPU {} reaches no CPU", system_->node(gpu).gpu.rank),
                     "a machine whose GPUs are attached to CPUs");
  }
  return *nearest;
}

std::vector<std::uint32_t> NcclPaths::closest(std::uint32_t node, NcclNodeKind kind) const {
  std::vector<std::uint32_t> best;
  float bandwidth = 0;
  PathType type = PathType::disconnected;
  const auto candidates = system_->of_kind(kind);
  for (std::uint32_t index = 0; index < candidates.size(); ++index) {
    const NcclPath& each = between(node, candidates[index]);
    if (each.bandwidth > bandwidth || (each.bandwidth == bandwidth && each.type < type)) {
      bandwidth = each.bandwidth;
      type = each.type;
      best.clear();
    }
    if (each.bandwidth == bandwidth && each.type == type) best.push_back(index);
  }
  return best;
}

NcclPaths::NetPreference NcclPaths::net_preference(std::uint32_t gpu) const {
  NetPreference preference;
  preference.nets = closest(system_->of_kind(NcclNodeKind::gpu)[gpu], NcclNodeKind::net);
  if (preference.nets.empty()) return preference;
  const std::uint32_t net = system_->of_kind(NcclNodeKind::net)[preference.nets.front()];
  const auto sharers = closest(net, NcclNodeKind::gpu).size();
  const auto net_count = static_cast<std::uint32_t>(preference.nets.size());
  const auto gpu_count = static_cast<std::uint32_t>(std::max<std::size_t>(sharers, 1));
  preference.per_gpu = divide_up(net_count, gpu_count);
  preference.first = static_cast<std::uint32_t>(system_->gpu(gpu).gpu.device) % gpu_count;
  if (std::has_single_bit(net_count)) preference.first = mirrored_bits(preference.first, net_count);
  return preference;
}

/// The first GPU whose channel of the lowest number prefers the NIC, by the paths as they are.
std::optional<std::uint32_t> NcclPaths::preferring_gpu(std::uint32_t net) const {
  std::optional<std::uint32_t> best;
  std::uint32_t best_channel = max_channels;
  for (const std::uint32_t gpu :
       closest(system_->of_kind(NcclNodeKind::net)[net], NcclNodeKind::gpu)) {
    const NetPreference preference = net_preference(gpu);
    for (std::uint32_t channel = 0; channel < std::min(best_channel, preference.per_gpu);
         ++channel) {
      if (preference.on(channel) != net) continue;
      best = gpu;
      best_channel = channel;
    }
  }
  return best;
}

PathType NcclPaths::best_type(NcclNodeKind to) const {
  PathType best = PathType::sys;
  for (const std::uint32_t from : system_->of_kind(NcclNodeKind::gpu)) {
    for (const std::uint32_t end : system_->of_kind(to)) {
      if (from != end) best = std::min(best, between(from, end).type);
    }
  }
  return best;
}

PathType NcclPaths::worst_type(NcclNodeKind to) const {
  PathType worst = PathType::loc;
  for (const std::uint32_t from : system_->of_kind(NcclNodeKind::gpu)) {
    for (const std::uint32_t end : system_->of_kind(to)) {
      if (from != end) worst = std::max(worst, between(from, end).type);
    }
  }
  return worst;
}

}  // namespace collsim
