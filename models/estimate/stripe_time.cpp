#include "models/estimate/stripe_time.h"

#include <algorithm>
#include <cmath>

namespace collsim {

namespace {

constexpr MemoryOps hand_in = operations_of(PrimitiveKind::send, 0, 1);
constexpr MemoryOps hand_out = operations_of(PrimitiveKind::recv, 1, 0);

/// The part of a step in which a thread block that is in step with all others leaves the ways out
/// idle, where heads pass on meanwhile. Chosen: about half.
constexpr double step_beside_sending_heads = 0.5;

class StripeTime {
 public:
  StripeTime(const StripeShape& shape, const ThreadBlockCosts& costs, const PipelineCall& call)
      : shape_(shape),
        call_(call),
        cost_(costs[static_cast<std::size_t>(shape.slowest)]),
        lane_(lane_setting(cost_, call.protocol, call.warps, call.warps)),
        local_alpha_(shape.local_latency + alpha(costs, shape.local_kind)),
        network_alpha_(shape.network_latency + alpha(costs, LinkKind::network)) {}

  FormulaTime time() const;

 private:
  static double alpha(const ThreadBlockCosts& costs, LinkKind kind) {
    const auto index = static_cast<std::size_t>(kind);
    return message_alpha(costs[index], kind, false).value;
  }
  double seconds(const MemoryOps& operations) const {
    return 1 / (shape_.speed * block_rate(cost_, operations).value);
  }
  double step(bool passes_on = false) const { return slice_step(lane_, true, passes_on).value; }
  bool reduces() const { return shape_.collective != Collective::all_gather; }
  bool gathers() const { return shape_.collective != Collective::reduce_scatter; }
  double blocks() const { return reduces() && gathers() ? 1 : shape_.nodes; }
  double load(double flows) const;
  /// Stripes whose chunks a rank hands to other ranks or to its switch.
  double others() const {
    return shape_.in_switch ? shape_.stripes : shape_.stripes - shape_.heads_per_rank;
  }
  double proxy_cycle(double wire) const;
  double proxy_delay(double wire) const;
  double hand_in_time(double chunk) const;
  double block_period(double chunk) const;
  double link_period(double chunk, double of_network) const;
  double fill(double chunk) const;
  double loops_after(double first_fill, double of_network) const;
  double part_of_tree() const;

  const StripeShape& shape_;
  const PipelineCall& call_;
  const ProtocolConstants& cost_;
  LaneSetting lane_;
  double local_alpha_;
  double network_alpha_;
};

/// What a head does with a sum, from its switch or the ranks of its node, and with a result.
struct HeadWork {
  MemoryOps up;
  MemoryOps down;
  bool sends_up = true;
  bool sends_down = true;
};

HeadWork head_work(const StripeShape& shape) {
  using enum PrimitiveKind;
  const double others = shape.ranks_per_node - 1;
  HeadWork work;
  if (shape.in_switch) {
    work.up = operations_of(recv_send, 1 + shape.children, 1);
    work.down = operations_of(recv_send, 1, 1 + shape.children);
  } else {
    work.up = operations_of(recv_reduce_send, others, 1);
    work.down = operations_of(recv_copy_send, 1, others);
  }
  if (shape.collective == Collective::all_reduce) {
    work.sends_down = !shape.in_switch || shape.nodes > 1;
    return work;
  }
  work.sends_up = shape.nodes > 1;
  if (shape.collective == Collective::reduce_scatter) {
    work.down = hand_out;
  } else {
    work.up = hand_in;
    if (shape.in_switch) work.down = hand_in;
  }
  return work;
}

/// Bytes on links per byte sent, since the lanes of all channels wait for each other.
double StripeTime::load(double flows) const {
  if (!contends_for_links(cost_) || shape_.local_load == 0) return 1;
  // Each lane that sends can do its part of what the thread block can.
  const double rate = block_rate(cost_, hand_in).value;
  return 1 / contended_share(cost_, rate * shape_.local_load * (flows > 0 ? 1 : 0),
                             middle_of(call_.loops));
}

/// What a chunk of every connection keeps the busiest network thread busy.
double StripeTime::proxy_cycle(double wire) const {
  if (shape_.proxy_sends == 0) return 0;
  const ProxyConstants& proxy = call_.cost->proxy;
  const double thread = shape_.proxy_sends * proxy_send_time(proxy, wire) +
                        shape_.proxy_receives * proxy_receive_time(proxy, wire);
  return std::max(thread, wire / proxy_rate(proxy, wire).value);
}

/// What both threads and the network between them add to a hop, and the network alone where no
/// thread carries it. The channels are in step: a hop waits until its thread has served all of
/// them, in one of the four ways of its messages (out and in, up and down).
double StripeTime::proxy_delay(double wire) const {
  const double alone = wire * shape_.network_hop;
  if (shape_.proxy_sends == 0) return alone;
  constexpr double ways = 4;
  return std::max(proxy_time(call_.cost->proxy, wire, 1 / shape_.network_hop, {}),
                  proxy_cycle(wire) / ways);
}

/// What a thread block is busy with handing one loop's stripes in.
double StripeTime::hand_in_time(double chunk) const {
  if (!reduces()) return 0;
  const double loaded = load(others() + shape_.heads_per_rank);
  return cost_.wire_factor * chunk * blocks() * others() * loaded * seconds(hand_in);
}

/// What a thread block is busy with in one loop.
double StripeTime::block_period(double chunk) const {
  const HeadWork head = head_work(shape_);
  const double loaded = load(others() + shape_.heads_per_rank);
  double block = 0;
  if (gathers()) block += others() * seconds(hand_out);
  if (head.sends_up) block += shape_.heads_per_rank * loaded * seconds(head.up);
  if (head.sends_down) block += shape_.heads_per_rank * loaded * seconds(head.down);
  return hand_in_time(chunk) + cost_.wire_factor * chunk * blocks() * block;
}

/// What one loop takes a rank's links, the part `of_network` of what goes over the network, and a
/// lane alone.
double StripeTime::link_period(double chunk, double of_network) const {
  const double c = cost_.wire_factor * chunk;
  const double heads = shape_.heads_per_rank;
  const double loaded = load(others() + heads);
  const double of_head = shape_.in_switch ? heads : heads * (shape_.ranks_per_node - 1);
  double out = 0;
  double in = 0;
  if (reduces()) {
    out += blocks() * others();
    in += blocks() * of_head;
  }
  if (gathers()) {
    in += blocks() * others();
    out += blocks() * of_head;
  }
  const double lane = step() + c * seconds(hand_in);
  // Thread blocks in step leave the ways out to nobody while they pay the step of what they hand
  // in, but for what heads pass on meanwhile.
  const bool heads_send = gathers() && shape_.in_switch;
  const double idle =
      call_.synchronized && reduces() ? (heads_send ? step_beside_sending_heads : 1) * step() : 0;
  return std::max({c * loaded * std::max(out, in) * shape_.local_load,
                   idle + c * loaded * out * shape_.local_load,
                   of_network * c * shape_.network_load * blocks(), blocks() * proxy_cycle(c),
                   lane});
}

/// One loop alone: hand in, up, over the network, down, hand out.
double StripeTime::fill(double chunk) const {
  const double c = cost_.wire_factor * chunk;
  const HeadWork head = head_work(shape_);
  const double loaded = load(others());
  double time = 0;
  const double all_in = c * others() * std::max(seconds(hand_in), shape_.local_load) * loaded;
  // Where loops follow, the head shares its way out with the chunks that its rank hands in next;
  // with a network in between it comes too late for that.
  const double next = call_.loops > 2 ? 1 : call_.loops == 2 ? call_.last / call_.full : 0;
  const double beside = reduces() && shape_.nodes == 1 ? next * others() : 0;
  const double one = c * std::max(loaded * seconds(head.up), (1 + beside) * shape_.local_load);
  if (reduces()) {
    time += step() + all_in;
    if (shape_.in_switch) {
      time += c * shape_.heads_per_rank * shape_.local_load + local_alpha_;
    } else {
      time += local_alpha_;
    }
  }
  if (shape_.nodes > 1) {
    const double hop = std::max(c * seconds(head.up), proxy_delay(c));
    time += 2 * c * shape_.slow_hop;
    if (shape_.over_tree) {
      time += 2 * shape_.levels * (step() + hop + network_alpha_) + (blocks() - 1) * (step() + hop);
    } else {
      time += step() + hop + network_alpha_ + c * shape_.network_hop +
              (blocks() - 1) * std::max(step() + hop, c * shape_.network_load);
    }
  }
  if (gathers()) {
    time += step();
    if (shape_.in_switch) {
      time += one + c * others() * shape_.local_load + local_alpha_;
    } else {
      time += c * std::max(seconds(head.down), (shape_.ranks_per_node - 1) * shape_.local_load) +
              local_alpha_;
    }
    time += step() + c * others() * seconds(hand_out);
  } else {
    time += step() + c * seconds(hand_out);
  }
  return time;
}

/// What the loops after the first add to it. While the first is on its way over the network, a
/// thread block hands the next ones in; links have no such work.
double StripeTime::loops_after(double first_fill, double of_network) const {
  const double loops = call_.loops - 1;
  const auto all = [&](double full, double last) { return (loops - 1) * full + last; };
  const double block = block_period(call_.full);
  const double idle = shape_.nodes > 1 ? std::max(0.0, first_fill - block) : 0;
  const double ahead = std::min(idle, all(hand_in_time(call_.full), hand_in_time(call_.last)));
  return std::max(all(link_period(call_.full, of_network), link_period(call_.last, of_network)),
                  all(block, block_period(call_.last)) - ahead);
}

/// How much of a port's bytes belong to one of the two trees: of two nodes one of two messages, of
/// more three of the four that a port sends for a node with two children.
double StripeTime::part_of_tree() const {
  if (!shape_.over_tree) return 1;
  return shape_.nodes > 2 ? 0.75 : 0.5;
}

/// A hop of long latency delays one of the trees, which the other leaves the ports to meanwhile.
FormulaTime StripeTime::time() const {
  const double first = fill(call_.loops > 1 ? call_.full : call_.last);
  const double late = first + shape_.slow_latency;
  if (call_.loops < 2) return {late, late};
  const double total =
      std::max(first + loops_after(first, 1), late + loops_after(first, part_of_tree()));
  return {total, total};
}

}  // namespace

FormulaTime stripe_time(const StripeShape& shape, const ThreadBlockCosts& costs,
                        const PipelineCall& call) {
  return StripeTime(shape, costs, call).time();
}

}  // namespace collsim
