#include "models/call/machine_view.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>

namespace collsim {

namespace {

/// The topology's nodes that a link joins, or the nodes of the switches that it joins.
std::set<std::int32_t> nodes_of(const Topology& topology, LinkId link) {
  std::set<std::int32_t> nodes;
  const std::array ends{topology.link(link).from, topology.link(link).to};
  for (const DeviceId end : ends) nodes.insert(topology.node_of(end));
  nodes.erase(-1);
  if (!nodes.empty()) return nodes;
  for (const DeviceId end : ends) {
    for (const LinkId other : topology.fabric_links_from(end)) {
      nodes.insert(topology.node_of(topology.link(other).to));
    }
  }
  nodes.erase(-1);
  return nodes;
}

}  // namespace

std::vector<bool> touched_ranks(const CallCompiler& compiler) {
  const CallSpec& spec = compiler.spec();
  std::set<std::int32_t> nodes;
  for (const LinkFault& fault : spec.faults.links) {
    for (const LinkId link : fault.links) nodes.merge(nodes_of(compiler.topology(), link));
  }
  for (const HostFault& fault : spec.faults.hosts) nodes.insert(fault.node);
  std::vector<bool> touched(spec.gpus.size());
  for (Rank rank = 0; rank < touched.size(); ++rank) {
    touched[rank] = nodes.contains(compiler.topology().node_of(spec.gpus[rank]));
  }
  for (const RankFault& fault : spec.faults.ranks) touched[fault.rank] = true;
  return touched;
}

std::set<Rank> touched_nodes(const CallCompiler& compiler) {
  const RankNodes of_ranks = compiler.nccl() != nullptr
                                 ? compiler.nccl()->rank_nodes()
                                 : RankNodes(ranks_per_node(compiler.placement()));
  const std::vector<bool> touched = touched_ranks(compiler);
  std::set<Rank> nodes;
  for (Rank rank = 0; rank < touched.size(); ++rank) {
    if (touched[rank]) nodes.insert(of_ranks.node_of(rank));
  }
  return nodes;
}

std::vector<double> speeds_of(const CallCompiler& compiler) {
  const MachineFaults& faults = compiler.spec().faults;
  if (faults.ranks.empty() && faults.hosts.empty()) return {};
  std::vector<double> speeds(compiler.ranks(), 1);
  for (const RankFault& fault : faults.ranks) speeds[fault.rank] *= fault.speed;
  for (const HostFault& fault : faults.hosts) {
    for (Rank rank = 0; rank < compiler.ranks(); ++rank) {
      if (compiler.topology().node_of(compiler.spec().gpus[rank]) == fault.node) {
        speeds[rank] *= fault.speed;
      }
    }
  }
  return speeds;
}

MachineView::MachineView(const CallCompiler& compiler, Seconds at)
    : compiler_(compiler),
      nodes_(compiler.nccl()->rank_nodes()),
      alike_(compiler.nccl()->has_like_hosts()) {
  const MachineFaults& faults = compiler.spec().faults;
  if (!faults.empty()) {
    states_ = states_at(faults, compiler.topology(), at);
    touched_ = touched_nodes(compiler);
  }
  const Rank nodes = compiler.nccl()->nodes();
  Rank alike = 0;
  for (Rank node = 0; node < std::min(nodes, window_of_nodes); ++node) {
    if (!touches(node)) ++alike;
  }
  if (alike_ && alike > 0) weight_ = static_cast<double>(nodes - touched_.size()) / alike;
  speed_ = speeds_of(compiler);
}

std::vector<Rank> MachineView::touched_ranks() const {
  std::vector<Rank> ranks;
  for (const Rank node : touched_) {
    for (Rank rank = nodes_.first_rank(node);
         rank < compiler_.ranks() && nodes_.node_of(rank) == node; ++rank) {
      ranks.push_back(rank);
    }
  }
  return ranks;
}

std::vector<Rank> MachineView::unlike_nodes() const {
  if (!alike_) {
    std::vector<Rank> all(compiler_.nccl()->nodes());
    std::iota(all.begin(), all.end(), Rank{0});
    return all;
  }
  std::vector<Rank> nodes(touched_.begin(), touched_.end());
  if (!touches(0)) nodes.insert(nodes.begin(), 0);
  return nodes;
}

double MachineView::min_speed() const {
  return speed_.empty() ? 1 : *std::min_element(speed_.begin(), speed_.end());
}

}  // namespace collsim
