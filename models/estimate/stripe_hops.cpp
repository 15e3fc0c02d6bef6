#include "models/estimate/stripe_hops.h"

#include <algorithm>
#include <array>

namespace collsim {

namespace {

/// The NVSwitches of a GPU's node that add up.
std::vector<DeviceId> switches_near(const Topology& topology, DeviceId gpu) {
  std::vector<DeviceId> switches;
  const std::int32_t number = topology.node_of(gpu);
  if (number < 0) return switches;
  const NodePart part = topology.node(static_cast<std::uint32_t>(number));
  const std::vector<GraphDevice>& devices = part.graph->graph().devices;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    if (devices[i].reduces && devices[i].kind == DeviceKind::nvswitch) {
      switches.push_back(part.first_device + static_cast<DeviceId>(i));
    }
  }
  return switches;
}

/// A hop of a stripe that a fault has changed.
struct SlowHop {
  std::uint32_t channel = 0;
  Rank from = 0;
  Rank to = 0;
  double later = 0;  // there and back, than others
};

/// The most that two slow hops in a row, or one, take longer than others.
double longest_way(const std::vector<SlowHop>& hops) {
  std::map<std::pair<std::uint32_t, Rank>, double> above;  // by channel and sender
  for (const SlowHop& hop : hops) {
    double& longest = above[{hop.channel, hop.from}];
    longest = std::max(longest, hop.later);
  }
  double longest = 0;
  for (const SlowHop& hop : hops) {
    const auto next = above.find({hop.channel, hop.to});
    longest = std::max(longest, hop.later + (next == above.end() ? 0 : next->second));
  }
  return longest;
}

}  // namespace

StripeHops::StripeHops(const CallCompiler& compiler, NcclAlgorithm algorithm,
                       std::uint32_t channels)
    : compiler_(compiler.with_faults({})),
      algorithm_(algorithm),
      channels_(channels),
      ranks_(compiler_, algorithm),
      nodes_(compiler_, algorithm),
      in_window_(nodes_, algorithm == NcclAlgorithm::nvls_tree ? 1 : 0.5) {
  const Rank nodes = stripes().node_count();
  trees_ = {binary_tree(nodes), second_binary_tree(nodes)};
}

const NcclStripes& StripeHops::stripes() const {
  const NcclChannels& all = compiler_.nccl()->channels();
  return algorithm_ == NcclAlgorithm::collnet_direct ? all.collnet : all.nvls;
}

StripeHops::Range StripeHops::lay_rank(const MachineView& view, Rank rank) {
  const auto known = of_rank_.find(rank);
  if (known != of_rank_.end()) return known->second;
  Range range{static_cast<Id>(ranks_.size()), static_cast<Id>(ranks_.size())};
  const std::vector<Rank>& node = stripes().nodes[view.node_of(rank)];
  if (node.size() > 1) {
    const auto switches = algorithm_ == NcclAlgorithm::collnet_direct
                              ? std::vector<DeviceId>{}
                              : switches_near(compiler_.topology(), compiler_.spec().gpus[rank]);
    const Rank head = rank == node.front() ? node.back() : node.front();
    for (std::uint32_t channel = 0; channel < channels_; ++channel) {
      if (switches.empty()) {
        ranks_.lay(channel, rank, head);
        ranks_.lay(channel, head, rank);
      } else {
        ranks_.lay_there_and_back(channel, rank, switches[channel % switches.size()]);
      }
    }
    range.end = static_cast<Id>(ranks_.size());
  }
  of_rank_.emplace(rank, range);
  return range;
}

LocalStripeHops StripeHops::local(const MachineView& view) {
  const std::vector<Rank> touched = view.touched_ranks();
  const Rank first = stripes().nodes.front().front();
  std::vector<Range> shown;
  if (std::find(touched.begin(), touched.end(), first) == touched.end()) {
    shown.push_back(lay_rank(view, first));
  }
  for (const Rank rank : touched) shown.push_back(lay_rank(view, rank));
  std::vector<bool> counts(ranks_.size());
  WireUsage usage(ranks_, 1);
  LocalStripeHops hops;
  for (const Range& range : shown) {
    std::fill(counts.begin() + range.first, counts.begin() + range.end, true);
    usage.add(range.first, range.end);
    for (Id id = range.first; id < range.end; ++id) hops.kinds.insert(ranks_.hop(id).kind);
    if (range.first < range.end) hops.kind = ranks_.hop(range.end - 1).kind;
  }
  const auto changes = ranks_.changes(view.states(), [&](Id id) { return counts[id]; });
  usage.change(changes);
  hops.latency = usage.longest_latency();
  for (const LaidWires::Changed& each : changes.wires) {
    hops.latency = std::max(hops.latency, each.latency);
  }
  for (const auto& [id, detour] : changes.detours) hops.kinds.insert(detour.kind);
  hops.load = usage.busiest(changes);
  return hops;
}

/// Heads of a stripe in a tree; else each through a switch on the way to the next node's. A root's
/// is itself.
Rank StripeHops::other_end(std::uint32_t channel, Rank node) const {
  if (is_tree()) return tree(channel).parent[node].value_or(node);
  return (node + 1) % stripes().node_count();
}

/// Whether a fault touches either end of a node's hops.
bool StripeHops::is_touched(const MachineView& view, Rank node) const {
  if (view.touches(node)) return true;
  const auto trees = std::min(channels_, static_cast<std::uint32_t>(trees_.size()));
  for (std::uint32_t channel = 0; channel < trees; ++channel) {
    if (view.touches(other_end(channel, node))) return true;
  }
  return false;
}

void StripeHops::lay_node(std::uint32_t channel, Rank node) {
  const NcclStripes& all = stripes();
  const Rank other = other_end(channel, node);
  if (other == node) return;
  for (std::uint32_t stripe = 0; stripe < all.stripes(); ++stripe) {
    nodes_.lay(channel, all.head(node, stripe), all.head(other, stripe));
    nodes_.lay(channel, all.head(other, stripe), all.head(node, stripe));
  }
}

void StripeHops::lay_nodes(const MachineView& view) {
  const Rank nodes = stripes().node_count();
  const bool is_new = nodes_.size() == 0;
  for (std::uint32_t channel = 0; is_new && channel < channels_; ++channel) {
    for (Rank node = 0; node < nodes; ++node) {
      if (!view.has_like_nodes() || node < window_of_nodes) lay_node(channel, node);
    }
  }
  if (is_new) {
    window_.end = static_cast<Id>(nodes_.size());
    in_window_.add(window_.first, window_.end);
  }
  if (!view.has_like_nodes()) return;
  for (Rank node = window_of_nodes; node < nodes; ++node) {
    if (of_node_.contains(node) || !is_touched(view, node)) continue;
    const auto first = static_cast<Id>(nodes_.size());
    for (std::uint32_t channel = 0; channel < channels_; ++channel) lay_node(channel, node);
    of_node_[node] = {first, static_cast<Id>(nodes_.size())};
  }
}

/// The most that slow hops add to a way there and back of others.
double StripeHops::longest_way(const LaidWires::Changes& changes, double others) const {
  std::vector<SlowHop> slow;
  for (std::size_t i = 0; i < changes.wires.size();) {
    const Id there = changes.wires[i].id / 2 * 2;
    std::array<double, 2> latencies{nodes_.hop(there).latency, nodes_.hop(there + 1).latency};
    bool is_slow = false;
    for (; i < changes.wires.size() && changes.wires[i].id / 2 * 2 == there; ++i) {
      latencies.at(changes.wires[i].id - there) = changes.wires[i].latency;
      is_slow = is_slow || changes.wires[i].is_slow;
    }
    const LaidWires::Hop& hop = nodes_.hop(there);
    if (is_slow)
      slow.push_back({hop.channel, hop.from, hop.to, latencies[0] + latencies[1] - others});
  }
  return collsim::longest_way(slow);
}

NetworkStripeHops StripeHops::network(const MachineView& view) {
  lay_nodes(view);
  std::vector<bool> counts(nodes_.size());
  std::fill(counts.begin() + window_.first, counts.begin() + window_.end, true);
  WireUsage usage = in_window_;
  for (const auto& [node, range] : of_node_) {
    if (!is_touched(view, node)) continue;
    std::fill(counts.begin() + range.first, counts.begin() + range.end, true);
    usage.add(range.first, range.end);
  }
  const auto changes = nodes_.changes(view.states(), [&](Id id) { return counts[id]; });
  usage.change(changes);
  NetworkStripeHops hops;
  hops.latency = usage.longest_latency();
  hops.slow_latency = longest_way(changes, 2 * hops.latency);
  hops.load = usage.busiest(changes);
  hops.load_beside = usage.busiest_beside_slow(changes);
  return hops;
}

}  // namespace collsim
