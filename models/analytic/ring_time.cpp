#include "models/analytic/ring_time.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace collsim {

namespace {

struct Primitives {
  Operations operations;
  bool passes_on = false;
  double count = 0;  // in one loop
  bool waits = true;
};

constexpr Operations send{1, 0, 0, 1};
constexpr Operations copy_send{1, 0, 1, 1};
constexpr Operations recv_reduce_send{1, 1, 0, 1};
constexpr Operations recv_reduce_copy{1, 1, 1, 0};
constexpr Operations recv_reduce_copy_send{1, 1, 1, 1};
constexpr Operations recv_copy_send{0, 1, 1, 1};
constexpr Operations recv{0, 1, 1, 0};

/// What a rank does in one loop: sends, in order, and what ends it.
struct RingProgram {
  std::vector<Primitives> sends;
  Primitives end;
};

RingProgram program_of(const RingCall& call) {
  const double n = call.ranks;
  const Operations first = call.in_place ? send : copy_send;
  switch (call.collective) {
    case Collective::all_gather:
      return {{{first, false, 1, false}, {recv_copy_send, true, n - 2}}, {recv, false, 1}};
    case Collective::reduce_scatter:
      return {{{send, false, 1, false}, {recv_reduce_send, false, n - 2}},
              {recv_reduce_copy, false, 1}};
    default:
      return {{{send, false, 1, false},
               {recv_reduce_send, false, n - 2},
               {recv_reduce_copy_send, false, 1},
               {recv_copy_send, true, n - 2}},
              {recv, false, 1}};
  }
}

/// The slices of one primitive at one place.
struct Slices {
  double occupancy = 0;  // of all
  double head = 0;       // of the longest, until something reaches the peer
  double sent = 0;       // of all, until the last one has left
  double last_head = 0;
  double after = 0;
  double moving = 0;
  double wire = 0;        // bytes
  double proxy = 0;       // what keeps the network's threads, or it, busy
  double round_trip = 0;  // until the longest is over at a peer that is as fast, the hop aside
};

/// One primitive of all ranks at once.
struct Step {
  double busiest = 0;    // of what keeps ranks, their links and their credits
  double occupancy = 0;  // of the busiest rank
  double apart = 0;      // of the busiest proxy
  double mean_head = 0;  // of a hop, round the ring
  double least_head = 0;
  double arrival = 0;  // of the last slice
  double period() const { return std::max(busiest, mean_head); }
};

class RingTime {
 public:
  RingTime(const Ring& ring, const ThreadBlockCosts& costs, const RingCall& call)
      : ring_(ring), costs_(costs), call_(call) {
    for (const RingPlace& place : ring) hops_ += place.weight;
  }

  FormTime everywhere() const;
  FormTime pipeline() const;

 private:
  /// `period`: between two primitives of a rank, which is how often others send beside it; 0: they
  /// send all the time.
  Slices slices(const RingPlace& place, const Primitives& primitives, double chunk, double steps,
                double period) const;
  Slices slices_shared(const RingPlace& place, const Primitives& primitives, double chunk,
                       double steps, double share) const;
  double load(const LaneSetting& lane, const SliceWork& work, double steps) const;
  double alpha(const RingPlace& place) const {
    const auto kind = static_cast<std::size_t>(place.hop.kind);
    return place.hop.latency + costs_[kind].alpha[kind].value;
  }
  /// A chunk's slices.
  double slice_bytes(double chunk, std::uint32_t slice) const;
  /// No primitive takes less: a sender waits for the slot of the slice that lies its credits back.
  double credit_cycle(const Slices& slices, const RingPlace& place) const {
    return (slices.round_trip + alpha(place)) * call_.chunking.slices / call_.chunking.credits;
  }
  /// Nor what all who share its link put on it.
  static double link_cycle(const Slices& slices, const RingPlace& place) {
    return slices.moving > 0
               ? slices.wire * (place.hop.together + place.hop.beside) / place.hop.capacity
               : 0;
  }
  Step step(const Primitives& primitives, double chunk, double filled, double steps,
            double period) const;
  Step settled_step(const Primitives& primitives, double chunk, double filled, double steps) const;
  double loop(const RingProgram& program, double chunk, double filled, double steps,
              bool last) const;

  const Ring& ring_;
  const ThreadBlockCosts& costs_;
  const RingCall& call_;
  double hops_ = 0;
};

double RingTime::slice_bytes(double chunk, std::uint32_t slice) const {
  const Chunking& cut = call_.chunking;
  if (cut.slices == 1) return chunk;
  const auto unit = static_cast<double>(cut.slice_unit.count);
  const double even = std::ceil(chunk / (cut.slices * unit)) * unit;
  const double whole = std::max(even, static_cast<double>(cut.smallest_slice.count));
  return std::clamp(chunk - whole * slice, 0.0, whole);
}

Slices RingTime::slices(const RingPlace& place, const Primitives& primitives, double chunk,
                        double steps, double period) const {
  const Slices crowded = slices_shared(place, primitives, chunk, steps, place.hop.share(1));
  if (period == 0 || place.hop.beside == 0) return crowded;
  const double busy = std::min(1.0, crowded.moving / period);
  const Slices once = slices_shared(place, primitives, chunk, steps, place.hop.share(busy));
  return slices_shared(place, primitives, chunk, steps,
                       place.hop.share(std::min(1.0, once.moving / period)));
}

Slices RingTime::slices_shared(const RingPlace& place, const Primitives& primitives, double chunk,
                               double steps, double share) const {
  const ProtocolCost& cost = costs_[static_cast<std::size_t>(place.slowest)];
  LaneSetting lane{&cost,
                   call_.warps,
                   call_.full_warps,
                   call_.half_block ? cost.corrections.half_block : Seconds{},
                   false,
                   place.speed};
  Slices all;
  for (std::uint32_t slice = 0; slice < call_.chunking.slices; ++slice) {
    SliceWork work{
        primitives.operations, primitives.passes_on, slice_bytes(chunk, slice), share, 1, false,
        primitives.waits};
    work.load = load(lane, work, steps);
    const SliceTime time = slice_time(lane, work);
    // Busy all the time, it asks for its own data only when they are needed.
    work.waits = false;
    const double occupancy = slice_time(lane, work).occupancy();
    double head = time.head();
    if (place.hop.has_proxy()) {
      const double wire = cost.wire_factor * work.bytes;
      head = time.sent() + proxy_delay(place.hop, *call_.proxy, wire);
      all.proxy += proxy_cycle(place.hop, *call_.proxy, wire);
      // A receive waits for the sends of other slices.
      if (slice > 0 && place.hop.receives > 0) all.proxy += time.before;
    }
    all.occupancy += occupancy;
    all.moving += time.moving;
    all.wire += work.load * cost.wire_factor * work.bytes;
    all.sent = all.occupancy - time.after;
    all.head = std::max(all.head, head);
    all.round_trip = std::max(all.round_trip, head + occupancy);
    all.last_head = time.head();
    all.after = time.after;
  }
  return all;
}

/// What its links carry for a byte, since thread blocks that share them wait for each other.
double RingTime::load(const LaneSetting& lane, const SliceWork& work, double steps) const {
  const bool contends = lane.cost->corrections.link_contention > 0 && work.operations.send > 0;
  if (!contends || work.bytes == 0 || !std::isfinite(work.share)) return 1;
  SliceWork alone = work;
  alone.share = INFINITY;
  const double rate = lane.cost->wire_factor * work.bytes / slice_time(lane, alone).moving;
  return 1 / lane.cost->contended_share(rate / work.share, steps);
}

/// A primitive's slices at every place: the longest of each, and the mean of hops.
Step RingTime::step(const Primitives& primitives, double chunk, double filled, double steps,
                    double period) const {
  const double share = filled / call_.ranks;
  Step step;
  double heads = 0;
  step.least_head = INFINITY;
  for (const RingPlace& place : ring_) {
    const Slices full = slices(place, primitives, chunk, steps, period);
    const Slices empty = share < 1 ? slices(place, primitives, 0, steps, period) : full;
    const auto mean = [share](double one, double other) {
      return share * one + (1 - share) * other;
    };
    step.busiest = std::max({step.busiest, mean(full.occupancy, empty.occupancy),
                             mean(credit_cycle(full, place), credit_cycle(empty, place)),
                             share * link_cycle(full, place), mean(full.proxy, empty.proxy)});
    const double head = full.head + alpha(place);
    heads += place.weight * head;
    step.least_head = std::min(step.least_head, head);
    const double behind = place.hop.has_proxy() ? full.head : full.sent;
    step.arrival = std::max(step.arrival, behind + alpha(place));
    step.apart = std::max(step.apart, full.proxy);
    step.occupancy = std::max(step.occupancy, full.occupancy);
  }
  step.mean_head = heads / hops_;
  return step;
}

/// The same with links that others use beside it as busy as they are at the period that comes out.
Step RingTime::settled_step(const Primitives& primitives, double chunk, double filled,
                            double steps) const {
  const Step crowded = step(primitives, chunk, filled, steps, 0);
  const bool beside = std::any_of(ring_.begin(), ring_.end(),
                                  [](const RingPlace& place) { return place.hop.beside > 0; });
  if (!beside) return crowded;
  const Step once = step(primitives, chunk, filled, steps, crowded.period());
  return step(primitives, chunk, filled, steps, once.period());
}

/// One loop after which every rank has sent and received all: sends in step with each other, each
/// as long as the busiest rank is busy, or as the hops take round the ring.
double RingTime::loop(const RingProgram& program, double chunk, double filled, double steps,
                      bool last) const {
  double time = 0;
  Step final;
  for (const Primitives& each : program.sends) {
    if (each.count <= 0) continue;
    final = settled_step(each, chunk, filled, steps);
    time += each.count * final.period();
  }
  const double sent_after = final.arrival - final.period();
  double end = 0;
  for (const RingPlace& place : ring_) {
    const Slices stored = slices(place, program.end, chunk, steps, 0);
    end = std::max({end, stored.occupancy, sent_after + stored.last_head + stored.after});
  }
  if (last && final.mean_head > final.busiest) {
    // The longest way leaves out the shortest hops.
    const double left_out = program.sends.size() > 2 ? 2 : 1;
    time -= std::min(left_out, hops_ - 1) * (final.mean_head - final.least_head);
  }
  return time + end;
}

FormTime RingTime::everywhere() const {
  const RingProgram program = program_of(call_);
  double steps_of_loop = 1;
  for (const Primitives& each : program.sends) steps_of_loop += each.count;
  double time = 0;
  if (call_.loops > 1) {
    const double middle = steps_of_loop * call_.loops / 3;
    time += (call_.loops - 1) * loop(program, call_.full, call_.ranks, middle, false);
  }
  time += loop(program, call_.last, call_.filled, steps_of_loop * (call_.loops - 0.5), true);
  return {time, time};
}

FormTime RingTime::pipeline() const {
  const bool reduces = call_.collective == Collective::reduce;
  const double n = call_.ranks;
  const Primitives first{reduces || call_.in_place ? send : copy_send, false, 1, false};
  const Primitives middle{reduces ? recv_reduce_send : recv_copy_send, !reduces, 1};
  const Primitives end{reduces ? recv_reduce_copy : recv, false, 1};
  const Primitives& inner = n > 2 ? middle : first;
  const double chunk = call_.loops > 1 ? call_.full : call_.last;
  const double steps = call_.loops / 3.0;
  const Step body = settled_step(inner, chunk, n, steps);
  const Step tail = settled_step(inner, call_.last, n, steps);
  const Step head = settled_step(first, chunk, n, steps);
  double period = std::max(body.busiest, head.busiest);
  double stored = 0;
  for (const RingPlace& place : ring_) {
    period = std::max(period, slices(place, end, chunk, steps, 0).occupancy);
    stored = std::max(stored, slices(place, end, call_.last, steps, 0).occupancy);
  }
  // Others are beside a chunk as often as they send in a call, which takes as long as all this.
  double fill = body.mean_head * (n - 1);
  double own = period;
  for (int i = 0; i < 3; ++i) {
    const double way = call_.turn > 0 ? call_.turn * fill : fill / call_.calls;
    const double call = std::max(call_.loops * period, call_.startup + way);
    const Step filling = step(inner, chunk, n, steps, call / call_.loops);
    fill = filling.mean_head * (n - 1);
    own = std::min(period, filling.occupancy);
  }
  // While ranks wait for each other, FIFOs before them fill up: no link waits for that.
  const double turn = (call_.loops - 1) * own + call_.turn * fill + stored;
  const double busy = (call_.loops - 1) * period + tail.occupancy;
  const double apart = (call_.loops - 1) * period + tail.apart;
  return {fill + (call_.loops - 1) * period + stored, std::max(busy, turn), apart};
}

}  // namespace

FormTime ring_time(const Ring& ring, const ThreadBlockCosts& costs, const RingCall& call) {
  const RingTime time(ring, costs, call);
  const bool rooted =
      call.collective == Collective::broadcast || call.collective == Collective::reduce;
  return rooted ? time.pipeline() : time.everywhere();
}

}  // namespace collsim
