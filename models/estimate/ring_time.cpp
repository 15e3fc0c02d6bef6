#include "models/estimate/ring_time.h"

#include <algorithm>

namespace collsim {

namespace {

constexpr MemoryOps send{1, 0, 0, 1};
constexpr MemoryOps copy_send{1, 0, 1, 1};
constexpr MemoryOps recv_reduce_send{1, 1, 0, 1};
constexpr MemoryOps recv_reduce_copy{1, 1, 1, 0};
constexpr MemoryOps recv_reduce_copy_send{1, 1, 1, 1};
constexpr MemoryOps recv_copy_send{0, 1, 1, 1};
constexpr MemoryOps recv{0, 1, 1, 0};

StepProgram program_of(const RingCall& call) {
  const double n = call.ranks;
  const MemoryOps first = call.in_place ? send : copy_send;
  switch (call.collective) {
    case Collective::all_gather:
      return {{{first, false, 1, false}, {recv_copy_send, true, n - 2}},
              Primitives{recv, false, 1}};
    case Collective::reduce_scatter:
      return {{{send, false, 1, false}, {recv_reduce_send, false, n - 2}},
              Primitives{recv_reduce_copy, false, 1}};
    default:
      return {{{send, false, 1, false},
               {recv_reduce_send, false, n - 2},
               {recv_reduce_copy_send, false, 1},
               {recv_copy_send, true, n - 2}},
              Primitives{recv, false, 1}};
  }
}

class RingTime {
 public:
  RingTime(const Ring& ring, const ThreadBlockCosts& costs, const RingCall& call)
      : ring_(ring), call_(call), steps_(ring, costs, call.setting) {}

  FormulaTime everywhere() const;
  FormulaTime pipeline() const;

 private:
  const Ring& ring_;
  const RingCall& call_;
  StepTime steps_;
};

FormulaTime RingTime::everywhere() const {
  const StepProgram program = program_of(call_);
  double steps_of_loop = 1;
  for (const Primitives& each : program.sends) steps_of_loop += each.count;
  double time = 0;
  if (call_.loops > 1) {
    const double middle = middle_of(steps_of_loop * call_.loops);
    time += (call_.loops - 1) * steps_.loop(program, {call_.full, 1, middle}, false);
  }
  time += steps_.loop(
      program, {call_.last, call_.filled / call_.ranks, steps_of_loop * (call_.loops - 0.5)}, true);
  return {time, time};
}

FormulaTime RingTime::pipeline() const {
  const bool reduces = call_.collective == Collective::reduce;
  const double n = call_.ranks;
  const Primitives first{reduces || call_.in_place ? send : copy_send, false, 1, false};
  const Primitives middle{reduces ? recv_reduce_send : recv_copy_send, !reduces, 1};
  const Primitives end{reduces ? recv_reduce_copy : recv, false, 1};
  const Primitives& inner = n > 2 ? middle : first;
  const double steps = middle_of(call_.loops);
  const StepChunk chunk{call_.loops > 1 ? call_.full : call_.last, 1, steps};
  const StepChunk last{call_.last, 1, steps};
  const StepCost body = steps_.settled_step(inner, chunk);
  const StepCost tail = steps_.settled_step(inner, last);
  const StepCost head = steps_.settled_step(first, chunk);
  double period = std::max(body.busiest, head.busiest);
  double stored = 0;
  for (const RingPlace& place : ring_) {
    period = std::max(period, steps_.slices(place, end, chunk, 0).occupancy);
    stored = std::max(stored, steps_.slices(place, end, last, 0).occupancy);
  }
  // Others are beside a chunk as often as they send in a call, which takes as long as all this.
  double fill = body.mean_head * (n - 1);
  double own = period;
  for (int i = 0; i < 3; ++i) {
    const double way = call_.turn > 0 ? call_.turn * fill : fill / call_.calls;
    const double call = std::max(call_.loops * period, call_.startup + way);
    const StepCost filling = steps_.step(inner, chunk, call / call_.loops);
    fill = filling.mean_head * (n - 1);
    own = std::min(period, filling.occupancy);
  }
  // While ranks wait for each other, FIFOs before them fill up: no link waits for that.
  const double turn = (call_.loops - 1) * own + call_.turn * fill + stored;
  const double busy = (call_.loops - 1) * period + tail.occupancy;
  const double apart = (call_.loops - 1) * period + tail.network_busy;
  return {fill + (call_.loops - 1) * period + stored, std::max(busy, turn), apart};
}

}  // namespace

FormulaTime ring_time(const Ring& ring, const ThreadBlockCosts& costs, const RingCall& call) {
  const RingTime time(ring, costs, call);
  const bool rooted =
      call.collective == Collective::broadcast || call.collective == Collective::reduce;
  return rooted ? time.pipeline() : time.everywhere();
}

}  // namespace collsim
