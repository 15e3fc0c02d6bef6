#include "models/prediction/message_shapes.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "models/machine/hop_wires.h"
#include "models/prediction/hop_classes.h"
#include "sim/algorithms/nccl_point_to_point.h"

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
  MessageCount(const Planner& planner, HopWires& wires, std::uint32_t parts)
      : wires_(wires),
        rounds_(planner.nccl()->nodes(), planner.ranks() / planner.nccl()->nodes(),
                planner.nccl()->point_to_point().channels),
        users_(wires),
        parts_(parts) {}

  void add(Rank from, Rank to) {
    if (from == to) return;
    for (std::uint32_t part = 0; part < parts_; ++part) {
      const std::uint32_t channel = rounds_.channel(from, to, part);
      const Wire wire = wires_.lay(channel, from, to);
      users_.add(wire);
      channels_.insert(channel);
      kinds_.insert(wire.kind);
      latency_ = std::max(latency_, wire.latency.value);
      ++blocks_[{from, channel}].sends;
      ++blocks_[{to, channel}].receives;
      if (wire.network.empty()) continue;
      ++threads_[from].sends;
      ++threads_[to].receives;
    }
  }

  MessageShape shape(const ProxyCost& proxy) const;
  const std::set<LinkKind>& kinds() const { return kinds_; }
  std::uint32_t channels() const { return static_cast<std::uint32_t>(channels_.size()); }

 private:
  HopWires& wires_;
  MessageRounds rounds_;
  LinkUsers users_;
  std::uint32_t parts_;
  std::map<std::pair<Rank, std::uint32_t>, Tasks> blocks_;
  std::map<Rank, Tasks> threads_;
  std::set<std::uint32_t> channels_;
  std::set<LinkKind> kinds_;
  double latency_ = 0;
};

MessageShape MessageCount::shape(const ProxyCost& proxy) const {
  MessageShape shape;
  shape.latency = latency_;
  shape.link_load = users_.busiest();
  if (!kinds_.empty()) shape.kind = *kinds_.rbegin();
  shape.slowest = shape.kind;
  for (const auto& [block, tasks] : blocks_) {
    if (tasks.sends + tasks.receives > shape.block_sends + shape.block_receives) {
      shape.block_sends = tasks.sends;
      shape.block_receives = tasks.receives;
    }
    const double most = std::max(tasks.sends, tasks.receives);
    shape.lanes = std::max(shape.lanes, std::min(peers_at_once, most));
    shape.lane_parts = std::max(shape.lane_parts, std::ceil(most / peers_at_once));
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

MessageShapes::Laid MessageShapes::made(std::uint32_t parts) {
  const CallSpec& spec = planner_.spec();
  const Rank ranks = planner_.ranks();
  HopWires wires(planner_.topology(), spec.gpus, planner_.cost(), planner_.hop_rules(std::nullopt));
  MessageCount count(planner_, wires, parts);
  for (Rank rank = 0; rank < ranks; ++rank) {
    switch (spec.collective) {
      case Collective::send_recv:
        count.add(rank, (rank + 1) % ranks);
        break;
      case Collective::gather:
        count.add(rank, spec.root);
        break;
      case Collective::scatter:
        count.add(spec.root, rank);
        break;
      default:
        for (Rank to = 0; to < ranks; ++to) count.add(rank, to);
        break;
    }
  }
  kinds_.insert(count.kinds().begin(), count.kinds().end());
  return {count.shape(planner_.cost().proxy), count.channels()};
}

}  // namespace collsim
