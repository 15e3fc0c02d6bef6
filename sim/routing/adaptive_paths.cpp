#include "sim/routing/adaptive_paths.h"

#include <algorithm>

namespace collsim {

namespace {

/// Ways that are looked at: shortest ones, and switches that one may go over, spread over the
/// fabric from the flow's own one on, so that flows of different groups do not choose the same.
constexpr std::uint64_t max_shortest = 8;
constexpr std::uint32_t max_switches = 64;

}  // namespace

AdaptivePaths::AdaptivePaths(const Topology& topology, NetworkPaths& network)
    : topology_(topology),
      network_(network),
      flows_(topology.links().size() - topology.first_fabric_link()) {}

double AdaptivePaths::busy_with_one_more(LinkId id) const {
  return (flows_[id - topology_.first_fabric_link()] + 1) / topology_.link(id).bandwidth.value;
}

AdaptivePaths::Cost AdaptivePaths::cost_of(const std::vector<LinkId>& way) const {
  double busiest = 0;
  for (const LinkId id : way) busiest = std::max(busiest, busy_with_one_more(id));
  return {busiest, way.size()};
}

/// Whether no other way between the same ends could be less busy.
bool AdaptivePaths::is_bound_by_its_ends(const std::vector<LinkId>& way) const {
  const double ends = std::max(busy_with_one_more(way.front()), busy_with_one_more(way.back()));
  return cost_of(way).first <= ends;
}

std::vector<LinkId> AdaptivePaths::best_path(DeviceId from, DeviceId to, std::uint64_t hash) {
  std::vector<LinkId> best;
  const auto consider = [&](std::vector<LinkId> way) {
    if (!way.empty() && (best.empty() || cost_of(way) < cost_of(best))) best = std::move(way);
  };
  const std::uint64_t shortest = network_.count(from, to);
  for (std::uint64_t i = 0; i < std::min(shortest, max_shortest); ++i) {
    std::vector<LinkId> way;
    network_.append_path(from, to, (hash + i) % shortest, way);
    consider(std::move(way));
  }
  if (is_bound_by_its_ends(best)) return best;
  const std::uint32_t switches = network_.switch_count();
  const std::uint32_t looked_at = std::min(switches, max_switches);
  const std::uint32_t own = topology_.link(best.front()).to - topology_.first_fabric_device();
  for (std::uint32_t i = 1; i < looked_at; ++i) {
    const auto further = static_cast<std::uint32_t>(std::uint64_t{i} * switches / looked_at);
    consider(network_.path_over(from, to, (own + further) % switches, hash));
  }
  return best;
}

void AdaptivePaths::append_path(DeviceId from, DeviceId to, std::uint64_t hash,
                                std::vector<LinkId>& links) {
  const std::vector<LinkId> way = best_path(from, to, hash);
  for (const LinkId id : way) ++flows_[id - topology_.first_fabric_link()];
  links.insert(links.end(), way.begin(), way.end());
}

}  // namespace collsim
