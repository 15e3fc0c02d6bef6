#include "models/estimate/tree_time.h"

#include <algorithm>
#include <cmath>

#include "sim/cost/warps.h"

namespace collsim {

namespace {

constexpr std::uint32_t up_lane = 0;
constexpr std::uint32_t down_lane = 1;

/// A lane's chunk.
struct LaneTime {
  SliceTime slice;
  double block = 0;   // of the thread block's time
  double wire = 0;    // bytes on each link
  double demand = 0;  // bytes per second that it could put there
  double head = 0;    // until something is with the peer, its alpha aside
  double slot = 0;    // of this, how long it takes one of the peer's slots
  double proxy = 0;   // what keeps the network's threads, or it, busy
};

class TreeTime {
 public:
  TreeTime(const TreeShape& tree, const ThreadBlockCosts& costs, const PipelineCall& call,
           bool contends)
      : tree_(tree), costs_(costs), call_(call), contends_(contends) {
    mean_demand_ = demand();
  }

  FormulaTime time() const;

 private:
  struct BothLanes {
    double send_up = 0;  // peers
    double send_down = 0;
    double seconds_up = 0;  // for a byte on the wire
    double seconds_down = 0;
  };

  const ProtocolConstants& cost(LinkKind kind) const {
    return costs_[static_cast<std::size_t>(kind)];
  }
  double alpha(const HopClass& hop) const {
    return hop.latency + message_alpha(cost(hop.kind), hop.kind, tree_.several_peers).value;
  }
  static std::uint32_t lanes_of(const TreePlace& place) { return place.root ? 1 : 2; }
  LaneSetting setting(const TreePlace& place, std::uint32_t lane) const;
  BothLanes both_lanes(const TreePlace& place) const;
  double demand(const TreePlace& place, const LaneSetting& setting, const SliceWork& work) const;
  double alone_share(const TreePlace& place, const MemoryOps& operations) const;
  double block_time(const TreePlace& place, const MemoryOps& operations,
                    const LaneTime& time) const;
  LaneTime lane(const TreePlace& place, std::uint32_t lane, double chunk, const HopClass& hop,
                double others_busy) const;
  double busy_seconds(const TreePlace& place, const MemoryOps& operations) const;
  double demand() const;
  double period(double chunk) const;
  double behind(const TreeShape::Way& way) const;
  double fill(double chunk, double period) const;
  double fill(const TreeShape::Way& way, double chunk, double period) const;
  double end(double chunk) const;

  const TreeShape& tree_;
  const ThreadBlockCosts& costs_;
  const PipelineCall& call_;
  bool contends_;
  double mean_demand_ = 0;  // of lanes that send, on each link
};

MemoryOps operations_of(const TreePlace& place, std::uint32_t lane) {
  const double children = place.children;
  const bool leaf = place.children == 0;
  using enum PrimitiveKind;
  if (place.root) return operations_of(recv_reduce_copy_send, children, children);
  if (lane == up_lane) return operations_of(leaf ? send : recv_reduce_send, children, 1);
  return operations_of(leaf ? recv : recv_copy_send, 1, children);
}

/// What a byte on the wire keeps the thread block busy.
double TreeTime::busy_seconds(const TreePlace& place, const MemoryOps& operations) const {
  const ProtocolConstants& own = cost(place.slowest);
  const BlockSetting setting = block_setting(own, call_.protocol, tree_.several_peers);
  return 1 / (place.speed * busy_rate_of(own, operations, setting).value);
}

LaneSetting TreeTime::setting(const TreePlace& place, std::uint32_t lane) const {
  const std::uint32_t warps = warps_of_lane(call_.protocol, call_.warps, lanes_of(place), lane);
  LaneSetting setting = lane_setting(cost(place.slowest), call_.protocol, call_.warps, warps);
  setting.several_peers = tree_.several_peers;
  setting.speed = place.speed;
  return setting;
}

/// What the two lanes of a place send for a byte of each, and how long that keeps the thread block.
TreeTime::BothLanes TreeTime::both_lanes(const TreePlace& place) const {
  const MemoryOps up = operations_of(place, up_lane);
  const MemoryOps down = operations_of(place, down_lane);
  return {up.send, down.send, busy_seconds(place, up), busy_seconds(place, down)};
}

/// Bytes per second that a lane could put on each of its links.
double TreeTime::demand(const TreePlace& place, const LaneSetting& setting,
                        const SliceWork& work) const {
  SliceWork alone = work;
  alone.share = INFINITY;
  const double on_wire = setting.cost->wire_factor * work.bytes;
  const double own = on_wire / slice_time(setting, alone).moving;
  if (lanes_of(place) == 1) return own;
  const BothLanes both = both_lanes(place);
  const double sending = both.send_down > 0 ? 2 : 1;
  return std::min(
      own, (both.send_up + both.send_down) / (both.seconds_up + both.seconds_down) / sending);
}

/// The most that a lane sends to each peer while it is alone: as fast as the thread block is with
/// both lanes.
double TreeTime::alone_share(const TreePlace& place, const MemoryOps& operations) const {
  const BothLanes both = both_lanes(place);
  const bool both_send = both.send_down > 0;
  const double seconds = both_send ? both.seconds_up + both.seconds_down : both.seconds_up;
  const double flows = both_send ? both.send_up + both.send_down : both.send_up;
  if (seconds <= 0) return INFINITY;
  return gain_of_lanes(cost(place.slowest)) * flows / seconds / operations.send;
}

LaneTime TreeTime::lane(const TreePlace& place, std::uint32_t lane, double chunk,
                        const HopClass& hop, double others_busy) const {
  const LaneSetting own = setting(place, lane);
  const MemoryOps operations = operations_of(place, lane);
  const bool sends_data = chunk > 0 && operations.send > 0;
  SliceWork work;
  work.operations = operations;
  work.passes_on = !place.root && lane == down_lane && operations.send > 0;
  work.bytes = chunk;
  work.share = operations.send > 0 ? hop.share(others_busy) : INFINITY;
  LaneTime time;
  if (sends_data) {
    time.demand = demand(place, own, work);
    if (contends_for_links(*own.cost) && std::isfinite(hop.capacity)) {
      const double fullness = mean_demand_ / hop.share(others_busy);
      work.load = 1 / contended_share(*own.cost, fullness, middle_of(call_.loops));
    }
    if (lanes_of(place) == 2) work.share = std::min(work.share, alone_share(place, operations));
  }
  time.slice = slice_time(own, work);
  const double on_wire = own.cost->wire_factor * chunk;
  time.wire = work.load * on_wire;
  time.block = block_time(place, operations, time);
  time.head = time.slice.head();
  time.slot = time.head;
  if (hop.has_proxy() && operations.send > 0) {
    time.slot = proxy_delay(hop, call_.cost->proxy, on_wire, others_busy);
    time.head = time.slice.sent() + time.slot;
    time.proxy = proxy_cycle(hop, call_.cost->proxy, on_wire);
  }
  return time;
}

/// What a lane's chunk takes of its thread block's time.
double TreeTime::block_time(const TreePlace& place, const MemoryOps& operations,
                            const LaneTime& time) const {
  const ProtocolConstants& own = cost(place.slowest);
  if (lanes_of(place) == 1 && !own.flags_lines()) return time.slice.occupancy();
  const double before =
      own.flags_lines() ? first_round_rest(own, operations).value : time.slice.before;
  const double gain = lanes_of(place) == 2 ? gain_of_lanes(own) : 1;
  return (before + time.wire * busy_seconds(place, operations)) / gain;
}

double TreeTime::demand() const {
  const double chunk = call_.loops > 1 ? call_.full : call_.last;
  double all = 0;
  double lanes = 0;
  const auto add = [&](double weight, double demand) {
    all += weight * demand;
    lanes += weight;
  };
  for (const TreePlace& place : tree_.places) {
    const HopClass& first = place.root ? place.down : place.up;
    add(place.weight, lane(place, up_lane, chunk, first, 1).demand);
    if (place.root || place.children == 0) continue;
    add(place.weight, lane(place, down_lane, chunk, place.down, 1).demand);
  }
  return lanes > 0 ? all / lanes : 0;
}

/// Between two chunks: what keeps a lane, a thread block of two, a link or a credit longest.
double TreeTime::period(double chunk) const {
  double longest = 0;
  for (const TreePlace& place : tree_.places) {
    const HopClass& first_hop = place.root ? place.down : place.up;
    const LaneTime up = lane(place, up_lane, chunk, first_hop, 1);
    // What a leaf stores waits behind what it writes to a link that is too full.
    double overfill = 1;
    if (place.children == 0 && place.slowest == LinkKind::nvlink && contends_ &&
        std::isfinite(first_hop.capacity)) {
      overfill =
          std::max(1.0, mean_demand_ * (first_hop.synchronous_users + first_hop.other_users) /
                            first_hop.capacity);
    }
    longest = std::max({longest, up.slice.occupancy(), up.block, up.proxy});
    if (std::isfinite(first_hop.capacity)) {
      longest = std::max(longest, up.wire * (first_hop.synchronous_users + first_hop.other_users) /
                                      first_hop.capacity);
    }
    longest = std::max(longest, (up.slot + alpha(first_hop) + up.slice.occupancy() +
                                 first_hop.notice_of_room(*call_.cost)) /
                                    first_hop.slices_ahead(call_.credits));
    if (place.root) continue;
    const LaneTime down = lane(place, down_lane, chunk, place.down, 1);
    longest = std::max(longest, down.proxy);
    // It is too full only while it is busy: the longer stores take, the less often.
    const double link =
        up.wire * (first_hop.synchronous_users + first_hop.other_users) / first_hop.capacity;
    if (overfill > 1 && down.slice.moving > 0) {
      const double busy = std::sqrt(link / (overfill * down.slice.moving));
      overfill = std::max(1.0, overfill * std::min(1.0, busy));
    }
    const double stored = overfill * down.slice.moving + down.slice.before + down.slice.after;
    longest = std::max({longest, stored, up.block + overfill * down.block});
    if (place.children > 0 && std::isfinite(place.down.capacity)) {
      longest =
          std::max(longest, down.wire * (place.down.synchronous_users + place.down.other_users) /
                                place.down.capacity);
    }
  }
  return longest;
}

/// How much of the way is busy with what follows the first chunk.
double TreeTime::behind(const TreeShape::Way& way) const {
  double stops = 0;
  for (const auto* half : {&way.up, &way.down}) {
    for (const TreeShape::Stop& stop : *half) stops += stop.weight;
  }
  const double chunks = call_.loops - 2 + call_.last / call_.full;
  return std::clamp(chunks / stops, 0.0, 1.0);
}

/// From the leaf that is farthest to the root and back; others use the links beside it as often as
/// they do when a chunk follows every `period`.
double TreeTime::fill(const TreeShape::Way& way, double chunk, double period) const {
  const double follow = behind(way);
  double time = 0;
  double drain = 0;
  const auto add = [&](const TreeShape::Stop& stop, std::uint32_t of_lane) {
    const TreePlace& place = tree_.places[stop.place];
    LaneTime one = lane(place, of_lane, chunk, stop.hop, 0);
    const bool is_shared = stop.hop.other_users > 0 || stop.hop.network_others > 0;
    for (int i = 0; period > 0 && is_shared && i < 2; ++i) {
      const double busy = follow * std::min(1.0, one.slice.moving / period);
      one = lane(place, of_lane, chunk, stop.hop, busy);
    }
    time += stop.weight * (one.head + alpha(stop.hop));
    drain = std::max(drain, one.slice.moving - one.slice.first);
  };
  for (const auto& stop : way.up) add(stop, up_lane);
  for (const auto& stop : way.down) {
    add(stop, tree_.places[stop.place].root ? up_lane : down_lane);
  }
  if (tree_.network) {
    // The switch sends on what the last root has sent; the way up has counted alpha and latency.
    time += cost(tree_.network->kind).wire_factor * chunk / tree_.network->capacity;
  }
  return time + drain;
}

double TreeTime::fill(double chunk, double period) const {
  double longest = 0;
  for (const TreeShape::Way& way : tree_.ways)
    longest = std::max(longest, fill(way, chunk, period));
  return longest;
}

/// A leaf stores it.
double TreeTime::end(double chunk) const {
  double longest = 0;
  for (const TreePlace& place : tree_.places) {
    if (place.children > 0) continue;
    const SliceTime slice = lane(place, down_lane, chunk, place.down, 1).slice;
    const double stored =
        cost(place.slowest).flags_lines() ? slice.first + slice.after : slice.occupancy();
    longest = std::max(longest, stored);
  }
  return longest;
}

FormulaTime TreeTime::time() const {
  if (call_.loops < 2) {
    const double alone = fill(call_.last, 0) + end(call_.last);
    return {alone, alone};
  }
  const double between = period(call_.full);
  const double total = fill(call_.full, between) + (call_.loops - 2) * between +
                       period(call_.last) + end(call_.last);
  return {total, total};
}

}  // namespace

FormulaTime tree_time(const TreeShape& tree, const ThreadBlockCosts& costs,
                      const PipelineCall& call, bool contends) {
  return TreeTime(tree, costs, call, contends).time();
}

}  // namespace collsim
