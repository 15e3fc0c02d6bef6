#include "models/estimate/message_shapes.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>

#include "sim/base/division.h"
#include "sim/nccl/nccl_point_to_point.h"

namespace collsim {

namespace {

constexpr double peers_at_once = 8;  // of one thread block

struct Tasks {
  double sends = 0;
  double receives = 0;
};

/// Counts what messages ask of links, thread blocks and the threads of proxies.
class MessageCount {
 public:
  MessageCount(const CallCompiler& compiler, LaidHops& laid, std::uint32_t parts)
      : topology_(compiler.topology()),
        laid_(laid),
        rounds_(compiler.placement(), compiler.nccl()->point_to_point().channels),
        parts_(parts) {}

  /// `weight` such messages.
  void add(Rank from, Rank to, double weight = 1) {
    add_hops(from, to, weight);
    if (from == to) return;
    for (std::uint32_t part = 0; part < parts_; ++part) {
      const std::uint32_t channel = rounds_.channel(from, to, part);
      blocks_[{from, channel}].sends += weight;
      blocks_[{to, channel}].receives += weight;
    }
  }

  /// What they ask of links and of the threads of proxies.
  void add_hops(Rank from, Rank to, double weight) {
    if (from == to) return;
    for (std::uint32_t part = 0; part < parts_; ++part) {
      const std::uint32_t channel = rounds_.channel(from, to, part);
      const LaidHops::Id hop = laid_.lay(channel, from, to);
      users_.resize(laid_.resource_count());
      for (const ResourceId resource : laid_.resources(hop)) users_[resource] += weight;
      counted_.push_back(hop);
      channels_.insert(channel);
      if (laid_.network(hop).empty()) continue;
      threads_[from].sends += weight;
      threads_[to].receives += weight;
    }
  }

  /// Each message counted stands for so many. A hash spreads flows over the cables of a switch, and
  /// of so many more it does so more evenly, as a square root.
  void even_out(double weight);

  /// What messages to and from all others ask of the rank's thread blocks.
  void add_blocks(Rank rank, Rank ranks, std::uint32_t channels) {
    std::vector<Tasks> tasks(channels);
    for (Rank other = 0; other < ranks; ++other) {
      if (other == rank) continue;
      for (std::uint32_t part = 0; part < parts_; ++part) {
        ++tasks[rounds_.channel(rank, other, part)].sends;
        ++tasks[rounds_.channel(other, rank, part)].receives;
      }
    }
    for (std::uint32_t channel = 0; channel < channels; ++channel) {
      blocks_[{rank, channel}] = tasks[channel];
    }
  }

  MessageShape shape(const ProxyConstants& proxy, CallHops& hops) const;
  std::uint32_t channels() const { return static_cast<std::uint32_t>(channels_.size()); }

 private:
  /// Where a switch stands in a fabric of levels.
  struct Level {
    std::uint32_t above = 2;      ///< those that have nodes: 0 of such a one itself
    std::optional<DeviceId> pod;  ///< the first such one below, or itself
  };
  /// Cables among which a hash chooses: between a pod and what is above, up or down.
  using Bundle = std::tuple<std::optional<DeviceId>, std::uint32_t, bool>;

  bool has_nodes(DeviceId at) const;
  const Level& level_of(DeviceId at);
  std::optional<Bundle> bundle_of(ResourceId resource);

  const Topology& topology_;
  LaidHops& laid_;
  MessageRounds rounds_;
  std::vector<double> users_;  // by ResourceId
  std::uint32_t parts_;
  std::map<std::pair<Rank, std::uint32_t>, Tasks> blocks_;
  std::map<Rank, Tasks> threads_;
  std::map<DeviceId, Level> levels_;
  std::set<std::uint32_t> channels_;
  std::vector<LaidHops::Id> counted_;
};

bool MessageCount::has_nodes(DeviceId at) const {
  const auto links = topology_.fabric_links_from(at);
  return std::any_of(links.begin(), links.end(),
                     [this](LinkId id) { return topology_.node_of(topology_.link(id).to) >= 0; });
}

const MessageCount::Level& MessageCount::level_of(DeviceId at) {
  const auto [found, added] = levels_.try_emplace(at);
  Level& level = found->second;
  if (!added) return level;
  if (has_nodes(at)) return level = {0, at};
  for (const LinkId id : topology_.fabric_links_from(at)) {
    const DeviceId below = topology_.link(id).to;
    if (has_nodes(below)) return level = {1, below};
  }
  return level;
}

/// Nothing for links of nodes, and for cables that go neither up nor down.
std::optional<MessageCount::Bundle> MessageCount::bundle_of(ResourceId resource) {
  const ResourceOrigin& origin = laid_.origin(resource);
  if (origin.shared) return std::nullopt;
  const Link link = topology_.link(origin.id);
  if (topology_.node_of(link.from) >= 0 || topology_.node_of(link.to) >= 0) return std::nullopt;
  const Level& from = level_of(link.from);
  const Level& to = level_of(link.to);
  if (from.above == to.above) return std::nullopt;
  const bool up = from.above < to.above;
  const Level& lower = up ? from : to;
  return Bundle{lower.pod, lower.above, up};
}

void MessageCount::even_out(double weight) {
  std::vector<std::pair<ResourceId, Bundle>> cables;
  std::map<Bundle, std::pair<double, double>> sums;  // users, and what carries them
  for (ResourceId resource = 0; resource < users_.size(); ++resource) {
    const auto bundle = users_[resource] == 0 ? std::nullopt : bundle_of(resource);
    if (!bundle) continue;
    cables.emplace_back(resource, *bundle);
    auto& [users, rate] = sums[*bundle];
    users += users_[resource];
    rate += laid_.nominal(resource);
  }
  for (const auto& [resource, bundle] : cables) {
    const auto& [users, rate] = sums.at(bundle);
    const double mean = users / rate * laid_.nominal(resource);
    const double above = users_[resource] - mean;
    if (above > 0) users_[resource] = mean + above / std::sqrt(weight);
  }
}

MessageShape MessageCount::shape(const ProxyConstants& proxy, CallHops& hops) const {
  MessageShape shape;
  const LinkConditions now = hops.now(laid_);
  shape.link_load = laid_.busiest(users_, now);
  for (const LaidHops::Id hop : counted_) {
    shape.latency = std::max(shape.latency, laid_.latency(hop, now));
    shape.kind = std::max(shape.kind, laid_.hop(hop).kind);
    hops.add_kind(laid_.hop(hop).kind);
  }
  shape.slowest = shape.kind;
  for (const auto& [block, tasks] : blocks_) {
    if (tasks.sends + tasks.receives > shape.block_sends + shape.block_receives) {
      shape.block_sends = tasks.sends;
      shape.block_receives = tasks.receives;
    }
    const double most = std::max(tasks.sends, tasks.receives);
    shape.lanes = std::max(shape.lanes, std::min(peers_at_once, most));
    shape.lane_sends = std::max(shape.lane_sends, std::ceil(tasks.sends / peers_at_once));
    shape.lane_receives = std::max(shape.lane_receives, std::ceil(tasks.receives / peers_at_once));
  }
  shape.has_proxy = !threads_.empty();
  double busiest = 0;
  for (const auto& [rank, tasks] : threads_) {
    constexpr double copy = 1e-9;  // of tasks that take no time, the more
    const double busy =
        tasks.sends * (proxy.send.value + copy) + tasks.receives * (proxy.receive.value + copy);
    if (busy <= busiest) continue;
    busiest = busy;
    shape.served_sends = tasks.sends;
    shape.served_receives = tasks.receives;
  }
  return shape;
}

}  // namespace

const MessageShapes::Laid& MessageShapes::of(std::uint32_t parts) {
  const auto [found, added] = laid_.try_emplace(parts);
  if (added) found->second = made(parts);
  return found->second;
}

namespace {

// Of very many ranks some stand for all, each for equally many.
constexpr Rank max_rows = 256;
constexpr Rank max_peers = 4096;
constexpr Rank max_pairs = 128 * 128;
/// All have equally many messages on each channel: the first few say how many.
constexpr Rank rows_of_blocks = 8;

void count_ring(const MachineView& view, Rank ranks, MessageCount& count) {
  for (Rank rank = 0; rank < ranks; ++rank) {
    const Rank next = (rank + 1) % ranks;
    if (rank < max_peers || view.touches_hop(rank, next)) count.add(rank, next);
  }
}

void count_with_root(const CallSpec& spec, const MachineView& view, Rank ranks,
                     MessageCount& count) {
  const Rank stride = divide_up(ranks, max_peers);
  for (Rank rank = 0; rank < ranks; ++rank) {
    const bool touched = view.touches(view.node_of(rank));
    if (rank % stride != 0 && !touched) continue;
    const bool to_root = spec.collective == Collective::gather;
    count.add(to_root ? rank : spec.root, to_root ? spec.root : rank, touched ? 1 : stride);
  }
  if (stride > 1) count.even_out(stride);
}

/// At least so many, and prime to the ranks of a node and to the channels, a power of two: so that
/// every so manieth rank meets all places of a node and all channels equally often.
Rank even_stride(std::uint64_t least, Rank per_node) {
  if (least <= 1) return 1;
  auto stride = static_cast<Rank>(least);
  while (std::gcd(stride, 2 * per_node) > 1) ++stride;
  return stride;
}

void count_all_pairs(const CallCompiler& compiler, const MachineView& view, MessageCount& count) {
  const Rank ranks = compiler.ranks();
  if (std::uint64_t{ranks} * ranks <= max_pairs) {
    for (Rank one = 0; one < ranks; ++one) {
      for (Rank other = 0; other < ranks; ++other) count.add(one, other);
    }
    return;
  }
  const std::uint32_t channels = compiler.nccl()->point_to_point().channels;
  for (Rank one = 0; one < rows_of_blocks; ++one) count.add_blocks(one, ranks, channels);
  const Rank rows = std::min(ranks, max_rows);
  const Rank per_node = divide_up(ranks, view.node_of(ranks - 1) + 1);
  const Rank stride = even_stride(divide_up(std::uint64_t{ranks} * rows, max_pairs), per_node);
  for (Rank one = 0; one < rows; ++one) {
    for (Rank other = one % stride; other < ranks; other += stride) {
      count.add_hops(one, other, stride);
      if (other >= rows) count.add_hops(other, one, stride);
    }
  }
  for (const Rank one : view.touched_ranks()) {
    if (one < rows) continue;
    for (Rank other = one % stride; other < ranks; other += stride) {
      // Pairs of two such ranks, or of one and a row's, are counted by the other.
      if (other < rows || (other < one && view.touches(view.node_of(other)))) continue;
      count.add_hops(one, other, stride);
      count.add_hops(other, one, stride);
    }
  }
  if (stride > 1) count.even_out(stride);
}

}  // namespace

MessageShapes::Laid MessageShapes::made(std::uint32_t parts) {
  const CallSpec& spec = compiler_.spec();
  const Rank ranks = compiler_.ranks();
  MessageCount count(compiler_, hops_.laid(std::nullopt), parts);
  if (spec.collective == Collective::send_recv) {
    count_ring(view_, ranks, count);
  } else if (spec.collective == Collective::gather || spec.collective == Collective::scatter) {
    count_with_root(spec, view_, ranks, count);
  } else {
    count_all_pairs(compiler_, view_, count);
  }
  MessageShape shape = count.shape(compiler_.cost().proxy, hops_);
  shape.speed = view_.min_speed();
  return {shape, count.channels()};
}

}  // namespace collsim
