#include "models/estimate/ring_time.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "sim/execution/thread_block_cost.h"
#include "sim/nccl/nccl_schedules.h"

namespace collsim {

RingPrograms ring_programs(Collective collective, Rank ranks, bool in_place) {
  // A longer ring repeats more often what one of four repeats.
  const Rank small = std::min<Rank>(ranks, 4);
  std::vector<Rank> ring(small);
  std::iota(ring.begin(), ring.end(), Rank{0});
  const Schedule plan = nccl_ring_schedule(collective, ring, 0, in_place);
  const auto primitives = [&plan](const Primitive& primitive, std::uint32_t count) {
    return Primitives{operations_of(plan, primitive), passes_on(plan, primitive),
                      static_cast<double>(count), receives(primitive.kind)};
  };
  RingPrograms programs;
  for_each_uniform_run(plan.program(0, 0), [&](const Primitive& primitive, std::uint32_t length) {
    const Primitives all = primitives(primitive, length > 1 ? length + ranks - small : length);
    if (sends(primitive.kind)) {
      programs.own.sends.push_back(all);
    } else {
      programs.own.end = all;
    }
  });
  for (Rank rank = 0; rank < small; ++rank) {
    const Program program = plan.program(rank, 0);
    if (program.empty()) continue;
    const Primitive front = program.front();
    programs.in_step = programs.in_step && !receives(front.kind);
    if (!receives(front.kind)) {
      programs.first = primitives(front, 1);
    } else if (sends(front.kind)) {
      programs.inner = primitives(front, 1);
    } else {
      programs.end = primitives(front, 1);
    }
  }
  return programs;
}

namespace {

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
  const StepProgram& program = call_.programs->own;
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
  const double n = call_.ranks;
  const Primitives& first = *call_.programs->first;
  const Primitives& inner = call_.programs->inner ? *call_.programs->inner : first;
  const Primitives& end = call_.programs->end;
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
  return call.programs->in_step ? time.everywhere() : time.pipeline();
}

}  // namespace collsim
