#include "models/nccl/system/link_budget.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace collsim {

namespace {

/// Differences of floats drift, so NCCL keeps three decimals.
float rounded(float value) {
  return std::round(value * 1000) / 1000;
}

}  // namespace

LinkBudget::LinkBudget(const NcclSystem& system) : system_(&system) {
  for (const NcclLink& link : system.links()) links_.push_back(link.bandwidth);
  for (const std::uint32_t net : system.of_kind(NcclNodeKind::net)) {
    nets_.push_back(system.node(net).net.bandwidth);
  }
}

bool LinkBudget::take(const NcclPath& path, std::uint32_t start, float bandwidth) {
  const std::size_t steps = follow(path, start, path.links.size(), bandwidth);
  if (steps == path.links.size()) return true;
  follow(path, start, steps, -bandwidth);
  return false;
}

void LinkBudget::give_back(const NcclPath& path, std::uint32_t start, float bandwidth) {
  follow(path, start, path.links.size(), -bandwidth);
}

void LinkBudget::take_net(std::uint32_t net, float bandwidth) {
  const auto nets = system_->of_kind(NcclNodeKind::net);
  const NcclNet& taken = system_->node(nets[net]).net;
  for (std::size_t i = 0; i < nets.size(); ++i) {
    const NcclNet& each = system_->node(nets[i]).net;
    if (each.asic == taken.asic && each.port == taken.port) nets_[i] -= bandwidth;
  }
}

/// Intel's host bridges cut what GPUs send each other into small packets: 6/5 of the traffic.
float LinkBudget::on_pci(const NcclPath& path, std::uint32_t start, float bandwidth) const {
  if (path.type != PathType::phb || system_->node(start).kind != NcclNodeKind::gpu) {
    return bandwidth;
  }
  const bool intel = std::any_of(path.links.begin(), path.links.end(), [&](std::uint32_t link) {
    const NcclNode& node = system_->node(system_->links()[link].to);
    return node.kind == NcclNodeKind::cpu && node.cpu.vendor == CpuVendor::intel &&
           node.cpu.architecture == CpuArchitecture::x86;
  });
  return intel ? bandwidth * 6 / 5 : bandwidth;
}

std::uint32_t LinkBudget::reverse_of(std::uint32_t link) const {
  const NcclLink& forward = system_->links()[link];
  const auto& candidates = system_->node(forward.to).links;
  const auto found = std::find_if(candidates.begin(), candidates.end(), [&](std::uint32_t id) {
    return system_->links()[id].to == forward.from && system_->links()[id].kind == forward.kind;
  });
  assert(found != candidates.end());
  return *found;
}

std::size_t LinkBudget::follow(const NcclPath& path, std::uint32_t start, std::size_t steps,
                               float bandwidth) {
  const float pci_bandwidth = on_pci(path, start, bandwidth);
  for (std::size_t step = 0; step < steps; ++step) {
    const std::uint32_t id = path.links[step];
    const NcclLink& link = system_->links()[id];
    const NcclNode& to = system_->node(link.to);
    const float forward = link.kind == NcclLinkKind::pci ? pci_bandwidth : bandwidth;
    float backward = 0;
    // Writes of NICs into GPUs before Ampere are acknowledged at length.
    if (to.kind == NcclNodeKind::gpu && to.gpu.compute_capability < 80 &&
        system_->node(start).kind != NcclNodeKind::gpu) {
      backward += forward / 8;
    }
    // The NVLinks of Power CPUs carry one direction at a time.
    if (to.kind == NcclNodeKind::cpu && to.cpu.architecture == CpuArchitecture::power &&
        link.kind == NcclLinkKind::nvl) {
      backward += forward;
    }
    const std::uint32_t reverse = backward != 0 ? reverse_of(id) : id;
    if (links_[id] < forward || (backward != 0 && links_[reverse] < backward)) return step;
    links_[id] = rounded(links_[id] - forward);
    if (backward != 0) links_[reverse] = rounded(links_[reverse] - backward);
  }
  return steps;
}

}  // namespace collsim
