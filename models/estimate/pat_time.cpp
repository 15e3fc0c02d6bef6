#include "models/estimate/pat_time.h"

#include <algorithm>
#include <cmath>

#include "sim/cost/slice_cost.h"

namespace collsim {

namespace {

class PatTime {
  using enum PrimitiveKind;

 public:
  PatTime(const PatShape& shape, const ThreadBlockCosts& costs, const PipelineCall& call)
      : shape_(shape), call_(call), cost_(costs[static_cast<std::size_t>(shape.slowest)]) {
    const auto kind = static_cast<std::size_t>(shape.hop.kind);
    alpha_ = shape.hop.latency + message_alpha(costs[kind], shape.hop.kind, false).value;
  }

  FormulaTime time() const {
    double total = 0;
    if (call_.loops > 1) total += (call_.loops - 1) * loop(call_.full);
    const double store = primitive(operations_of(recv, 1, 0), false, call_.last).occupancy();
    total += std::max(own(call_.last) + ends(call_.last), hops(call_.last) + store);
    return {total, total, 0};
  }

 private:
  SliceTime primitive(const MemoryOps& operations, bool passes_on, double chunk) const {
    LaneSetting lane = lane_setting(cost_, call_.protocol, call_.warps, call_.warps);
    lane.speed = shape_.speed;
    const SliceWork work{.operations = operations,
                         .passes_on = passes_on,
                         .bytes = chunk,
                         .share = shape_.hop.share(1)};
    return slice_time(lane, work);
  }
  /// One block of every rank: half of the places in a tree are leaves, a quarter have one child,
  /// and so on; one is the root.
  double busy(double chunk) const {
    const bool gathers = shape_.collective == Collective::all_gather;
    const double levels = std::ceil(std::log2(shape_.ranks));
    double time = 0;
    double left = shape_.ranks - 1;
    for (double children = 0; children < levels; ++children) {
      const double places = children + 1 < levels ? std::ceil(left / 2) : left;
      left -= places;
      const bool leaf = children == 0;
      const MemoryOps operations = gathers
                                       ? operations_of(leaf ? recv : recv_copy_send, 1, children)
                                       : operations_of(leaf ? send : recv_reduce_send, children, 1);
      const SliceTime one = primitive(operations, gathers && children > 0, chunk);
      time += places * one.occupancy();
    }
    const MemoryOps root = gathers ? operations_of(shape_.in_place ? send : copy_send, 0, levels)
                                   : operations_of(recv_reduce_copy, levels, 0);
    return time + primitive(root, false, chunk).occupancy();
  }
  double loop(double chunk) const { return std::max(own(chunk), hops(chunk)); }
  /// From a root to the farthest leaf.
  double hops(double chunk) const {
    double hop = primitive(operations_of(recv_copy_send, 1, 1), true, chunk).head() + alpha_;
    if (shape_.hop.has_proxy()) {
      hop += proxy_delay(shape_.hop, call_.cost->proxy, cost_.wire_factor * chunk);
    }
    return std::ceil(std::log2(shape_.ranks)) * hop;
  }
  /// What a rank, its link and its proxy have to do.
  double own(double chunk) const {
    const double wire = cost_.wire_factor * chunk;
    const double messages = shape_.ranks - 1;
    double longest = busy(chunk);
    if (std::isfinite(shape_.hop.capacity)) {
      const double users = shape_.hop.synchronous_users + shape_.hop.other_users;
      longest = std::max(longest, messages * wire * users / shape_.hop.capacity);
    }
    if (shape_.hop.has_proxy()) {
      longest = std::max(longest, messages * proxy_cycle(shape_.hop, call_.cost->proxy, wire));
    }
    return longest;
  }
  /// The last message is on its way, and is stored.
  double ends(double chunk) const {
    double time = primitive(operations_of(send, 0, 1), false, chunk).head() + alpha_;
    if (shape_.hop.has_proxy()) {
      time += proxy_time(call_.cost->proxy, cost_.wire_factor * chunk, INFINITY, {});
    }
    return time;
  }

  const PatShape& shape_;
  const PipelineCall& call_;
  const ProtocolConstants& cost_;
  double alpha_ = 0;
};

}  // namespace

FormulaTime pat_time(const PatShape& shape, const ThreadBlockCosts& costs,
                     const PipelineCall& call) {
  return PatTime(shape, costs, call).time();
}

}  // namespace collsim
