#include "models/estimate/textbook_time.h"

#include <algorithm>
#include <array>
#include <limits>

#include "sim/cost/warps.h"

namespace collsim {

namespace {

class TextbookTime {
 public:
  TextbookTime(const TextbookShape& shape, const ThreadBlockCosts& costs, const TextbookCall& call)
      : shape_(shape), costs_(costs), call_(call) {
    for (const TextbookPhase& phase : shape.phases) {
      for (const Primitives& each : phase.program.sends) steps_of_loop_ += each.count;
    }
    std::size_t lanes = 1;
    for (const auto& block : shape.blocks) lanes = std::max(lanes, block.size());
    for (std::uint32_t lane = 0; lane < 2; ++lane) {
      settings_[lane] = call.setting;
      settings_[lane].warps =
          warps_of_lane(call.protocol, call.setting.warps, static_cast<std::uint32_t>(lanes), lane);
      settings_[lane].part = part();
    }
  }

  double in_lock_step() const;
  double pipelined() const;

 private:
  StepChunk chunk(const TextbookPhase& phase, double loop) const {
    return {phase.chunks * call_.chunk, call_.filled, steps_of_loop_ * loop};
  }
  double phase_time(const TextbookPhase& phase, double loop, bool last) const;
  double streamed_loop(const TextbookPhase& phase, double loop) const;
  double one_by_one(const Ring& circuit, const TextbookPhase& phase, double loop) const;
  double period() const;
  double part() const;
  double way(const TextbookPhase& phase, const StepTime& steps, double between,
             double& drain) const;
  BlockSetting block() const {
    const ProtocolConstants& cost = costs_[static_cast<std::size_t>(shape_.slowest)];
    return block_setting(cost, call_.protocol, false);
  }
  double block_period(const std::vector<MemoryOps>& lanes) const;

  const TextbookShape& shape_;
  const ThreadBlockCosts& costs_;
  const TextbookCall& call_;
  double steps_of_loop_ = 0;
  std::array<StepSetting, 2> settings_{};  // of lanes upwards and downwards
};

/// Each goes to another peer, so that none waits for a credit of the one before.
double TextbookTime::one_by_one(const Ring& circuit, const TextbookPhase& phase,
                                double loop) const {
  StepSetting setting = settings_[phase.lane];
  setting.chunking.credits = std::numeric_limits<std::uint32_t>::max();
  const Primitives& send = phase.program.sends.front();
  const StepCost step = StepTime(circuit, costs_, setting).step(send, chunk(phase, loop), 0);
  const StepTime steps(circuit, costs_, settings_[phase.lane]);
  StepProgram last = phase.program;
  last.sends.front().count = 1;
  return (send.count - 1) * step.busiest + steps.loop(last, chunk(phase, loop), false);
}

/// What keeps the busiest rank, or its links, of a loop that another follows.
double TextbookTime::streamed_loop(const TextbookPhase& phase, double loop) const {
  double longest = 0;
  for (const Ring& circuit : phase.circuits) {
    const StepTime steps(circuit, costs_, settings_[phase.lane]);
    for (const Primitives& each : phase.program.sends) {
      longest = std::max(longest, each.count * steps.step(each, chunk(phase, loop), 0).busiest);
    }
    if (!phase.program.end) continue;
    const Primitives& end = *phase.program.end;
    for (const RingPlace& place : circuit) {
      longest =
          std::max(longest, end.count * steps.slices(place, end, chunk(phase, loop), 0).occupancy);
    }
  }
  return longest;
}

/// That of the slowest circuit.
double TextbookTime::phase_time(const TextbookPhase& phase, double loop, bool last) const {
  double longest = 0;
  for (const Ring& circuit : phase.circuits) {
    const StepTime steps(circuit, costs_, settings_[phase.lane]);
    longest =
        std::max(longest, phase.one_by_one ? one_by_one(circuit, phase, loop)
                                           : steps.loop(phase.program, chunk(phase, loop), last));
  }
  return longest;
}

double TextbookTime::in_lock_step() const {
  double time = 0;
  for (const TextbookPhase& phase : shape_.phases) {
    const bool only = shape_.phases.size() == 1;
    const double loops = call_.loops;
    if (loops > 1) {
      time += (loops - 1) * (phase.streams ? streamed_loop(phase, middle_of(loops))
                                           : phase_time(phase, middle_of(loops), false));
    }
    time += phase_time(phase, loops - 0.5, only);
  }
  return time;
}

/// What lanes that send have of their thread block (send_rate_beside_local_stores()), on average.
double TextbookTime::part() const {
  const ProtocolConstants& cost = costs_[static_cast<std::size_t>(shape_.slowest)];
  double rates = 0;
  double blocks = 0;
  for (const auto& lanes : shape_.blocks) {
    if (lanes.size() < 2) continue;
    double seconds = 0;
    double flows = 0;
    double sending = 0;
    for (const MemoryOps& operations : lanes) {
      seconds += 1 / busy_rate_of(cost, operations, block()).value;
      flows += operations.send;
      sending += operations.send > 0 ? 1 : 0;
    }
    rates += flows / seconds / sending;
    ++blocks;
  }
  return blocks > 0 ? rates / blocks : std::numeric_limits<double>::infinity();
}

/// What a chunk keeps a thread block busy in all of its lanes. The steps of two add up, those of
/// more do not (Worker::lanes_serialize()).
double TextbookTime::block_period(const std::vector<MemoryOps>& lanes) const {
  if (lanes.size() < 2) return 0;
  const ProtocolConstants& cost = costs_[static_cast<std::size_t>(shape_.slowest)];
  double time = 0;
  for (const MemoryOps& operations : lanes) {
    const double rate = shape_.speed * busy_rate_of(cost, operations, block()).value;
    time += cost.wire_factor * call_.chunk / rate;
    if (lanes.size() > 2) continue;
    time += serial_of_lane(cost, operations).value;
  }
  return time;
}

/// Between two chunks: what keeps a lane, a credit, a link or a thread block longest.
double TextbookTime::period() const {
  double longest = 0;
  const double loop = middle_of(call_.loops);
  for (const TextbookPhase& phase : shape_.phases) {
    for (const Ring& circuit : phase.circuits) {
      const StepTime steps(circuit, costs_, settings_[phase.lane]);
      for (const Primitives& each : phase.program.sends) {
        longest = std::max(longest, steps.step(each, chunk(phase, loop), 0).busiest);
      }
      if (!phase.program.end) continue;
      for (const RingPlace& place : circuit) {
        const Slices stored = steps.slices(place, *phase.program.end, chunk(phase, loop), 0);
        longest = std::max(longest, stored.occupancy);
      }
    }
  }
  for (const auto& lanes : shape_.blocks) longest = std::max(longest, block_period(lanes));
  return longest;
}

/// The first chunk's way through a phase, beside those that follow it as often as they send.
double TextbookTime::way(const TextbookPhase& phase, const StepTime& steps, double between,
                         double& drain) const {
  const double behind = std::min(1.0, (call_.loops - 1) / steps_of_loop_);
  double time = 0;
  for (const Primitives& each : phase.program.sends) {
    const StepChunk own = chunk(phase, call_.loops / 2.0);
    StepCost step = steps.step_beside(each, own, 0);
    for (int i = 0; i < 2 && call_.loops > 1; ++i) {
      step = steps.step_beside(each, own, behind * std::min(1.0, step.moving / between));
    }
    time += each.count * step.mean_head;
    drain = std::max(drain, step.drain);
  }
  return time;
}

/// The first chunk goes all the way, the others come one by one.
double TextbookTime::pipelined() const {
  constexpr double never = std::numeric_limits<double>::infinity();
  const double between = call_.loops > 1 ? period() : never;
  double time = call_.loops > 1 ? (call_.loops - 1) * between : 0;
  double drain = 0;
  double end = 0;
  for (const TextbookPhase& phase : shape_.phases) {
    double longest = 0;
    for (const Ring& circuit : phase.circuits) {
      const StepTime steps(circuit, costs_, settings_[phase.lane]);
      longest = std::max(longest, way(phase, steps, between, drain));
      if (!phase.program.end) continue;
      for (const RingPlace& place : circuit) {
        const Slices stored =
            steps.slices(place, *phase.program.end, chunk(phase, call_.loops - 0.5), never);
        end = std::max(end, stored.last_head + stored.after);
      }
    }
    time += longest;
  }
  return time + drain + end;
}

}  // namespace

FormulaTime textbook_time(const TextbookShape& shape, const ThreadBlockCosts& costs,
                          const TextbookCall& call) {
  const TextbookTime form(shape, costs, call);
  const double time = shape.pipelined ? form.pipelined() : form.in_lock_step();
  return {time, time};
}

}  // namespace collsim
