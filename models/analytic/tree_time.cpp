#include "models/analytic/tree_time.h"

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
  double proxy = 0;   // what keeps the network's threads, or it, busy
};

class TreeTime {
 public:
  TreeTime(const TreeShape& tree, const ThreadBlockCosts& costs, const PipelineCall& call,
           bool contends)
      : tree_(tree), costs_(costs), call_(call), contends_(contends) {
    mean_demand_ = demand();
  }

  FormTime time() const;

 private:
  const ProtocolCost& cost(LinkKind kind) const { return costs_[static_cast<std::size_t>(kind)]; }
  double alpha(const HopClass& hop) const {
    const ProtocolCost& of = cost(hop.kind);
    return hop.latency + (of.alpha[static_cast<std::size_t>(hop.kind)] +
                          (tree_.several_peers ? of.corrections.multi_peer : Seconds{}))
                             .value;
  }
  LaneTime lane(const TreePlace& place, std::uint32_t lane, double chunk, const HopClass& hop,
                double others_busy) const;
  double busy_seconds(const TreePlace& place, const Operations& operations) const;
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

Operations operations_of(const TreePlace& place, std::uint32_t lane) {
  const double children = place.children;
  if (place.root) return {1, children, 1, children};
  if (lane == up_lane) return {1, children, 0, 1};
  return {0, 1, 1, children};
}

/// What a byte on the wire keeps the thread block busy.
double TreeTime::busy_seconds(const TreePlace& place, const Operations& operations) const {
  const ProtocolCost& own = cost(place.slowest);
  const BlockSetting setting{
      full_warps(call_.protocol) * static_cast<double>(own.warp_granule.count),
      tree_.several_peers};
  return 1 / (place.speed * busy_rate_of(own, operations, setting).value);
}

LaneTime TreeTime::lane(const TreePlace& place, std::uint32_t lane, double chunk,
                        const HopClass& hop, double others_busy) const {
  const ProtocolCost& own = cost(place.slowest);
  const Operations operations = operations_of(place, lane);
  const std::uint32_t lanes = place.root ? 1 : 2;
  LaneSetting setting{&own,
                      warps_of_lane(call_.protocol, call_.warps, lanes, lane),
                      static_cast<double>(full_warps(call_.protocol)),
                      {},
                      tree_.several_peers,
                      place.speed};
  if (is_half_block(call_.protocol, call_.warps)) {
    setting.block_step = own.corrections.half_block;
  }
  SliceWork work;
  work.operations = operations;
  work.passes_on = !place.root && lane == down_lane && operations.send > 0;
  work.bytes = chunk;
  work.share = operations.send > 0 ? hop.share(others_busy) : INFINITY;
  LaneTime time;
  const double on_wire = own.wire_factor * chunk;
  const double busy = busy_seconds(place, operations);
  if (chunk > 0 && operations.send > 0) {
    SliceWork alone = work;
    alone.share = INFINITY;
    time.demand = on_wire / slice_time(setting, alone).moving;
    if (lanes == 2) {
      const Operations first = operations_of(place, up_lane);
      const Operations second = operations_of(place, down_lane);
      const double seconds = busy_seconds(place, first) + busy_seconds(place, second);
      const double sending = second.send > 0 ? 2 : 1;
      time.demand = std::min(time.demand, (first.send + second.send) / seconds / sending);
    }
    if (own.corrections.link_contention > 0 && std::isfinite(hop.capacity)) {
      const double fullness = mean_demand_ / hop.share(others_busy);
      work.load = 1 / own.contended_share(fullness, call_.loops / 3.0);
    }
  }
  // Alone, it is as fast as the thread block is with both lanes.
  if (lanes == 2 && operations.send > 0 && chunk > 0) {
    const Operations first = operations_of(place, up_lane);
    const Operations second = operations_of(place, down_lane);
    double seconds = busy_seconds(place, first);
    double flows = first.send;
    if (second.send > 0) {
      seconds += busy_seconds(place, second);
      flows += second.send;
    }
    if (seconds > 0) {
      const double together = (1 + own.corrections.overlap) * flows / seconds;
      work.share = std::min(work.share, together / operations.send);
    }
  }
  time.slice = slice_time(setting, work);
  time.head = time.slice.head();
  if (hop.has_proxy() && operations.send > 0) {
    const ProxyCost& proxy = *call_.proxy;
    time.head = time.slice.sent() + proxy_delay(hop, proxy, on_wire) +
                hop.before * (proxy.send.value + proxy.copying(on_wire));
    time.proxy = proxy_cycle(hop, *call_.proxy, on_wire);
  }
  const double gain = lanes == 2 ? 1 + own.corrections.overlap : 1;
  const double before = own.flags_lines() ? own.first_rest(operations).value : time.slice.before;
  time.block = (before + (operations.send > 0 ? work.load : 1) * on_wire * busy) / gain;
  if (lanes == 1 && !own.flags_lines()) time.block = time.slice.occupancy();
  time.wire = work.load * on_wire;
  return time;
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
      overfill = std::max(
          1.0, mean_demand_ * (first_hop.together + first_hop.beside) / first_hop.capacity);
    }
    longest = std::max({longest, up.slice.occupancy(), up.block, up.proxy});
    if (std::isfinite(first_hop.capacity)) {
      longest =
          std::max(longest, up.wire * (first_hop.together + first_hop.beside) / first_hop.capacity);
    }
    longest =
        std::max(longest, (up.head + alpha(first_hop) + up.slice.occupancy()) / call_.credits);
    if (place.root) continue;
    const LaneTime down = lane(place, down_lane, chunk, place.down, 1);
    longest = std::max(longest, down.proxy);
    // It is too full only while it is busy: the longer stores take, the less often.
    const double link = up.wire * (first_hop.together + first_hop.beside) / first_hop.capacity;
    if (overfill > 1 && down.slice.moving > 0) {
      const double busy = std::sqrt(link / (overfill * down.slice.moving));
      overfill = std::max(1.0, overfill * std::min(1.0, busy));
    }
    const double stored = overfill * down.slice.moving + down.slice.before + down.slice.after;
    longest = std::max({longest, stored, up.block + overfill * down.block});
    if (place.children > 0 && std::isfinite(place.down.capacity)) {
      longest = std::max(
          longest, down.wire * (place.down.together + place.down.beside) / place.down.capacity);
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
    for (int i = 0; period > 0 && stop.hop.beside > 0 && i < 2; ++i) {
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

FormTime TreeTime::time() const {
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

FormTime tree_time(const TreeShape& tree, const ThreadBlockCosts& costs, const PipelineCall& call,
                   bool contends) {
  return TreeTime(tree, costs, call, contends).time();
}

}  // namespace collsim
