#include "sim/execution/effort.h"

#include <algorithm>
#include <vector>

#include "sim/execution/steady_state.h"
#include "sim/execution/worker.h"

namespace collsim {

namespace {

/// Messages of one loop, slices counted once.
double messages_of(const Schedule& schedule) {
  double messages = 0;
  for_each_program(schedule, [&](Rank, std::uint32_t, const Program& program) {
    for (const Run& run : program.runs()) {
      if (!sends(run.first.kind)) continue;
      messages += static_cast<double>(run.repeats) *
                  static_cast<double>(schedule.peers(run.first.send_group).size());
    }
  });
  return messages;
}

/// Pieces in which a slice amid a call goes.
double pieces_of(const Execution& execution, std::uint32_t channel) {
  const ProtocolCost cost = execution.cost.of(execution.protocol);
  const std::int64_t round = execution.warps * cost.warp_granule.count;
  const Bytes chunk = execution.binding.chunk_bytes(channel, 0, {0, 1});
  const std::int64_t slice = execution.binding.slice_bytes(chunk, 0).count;
  if (round == 0 || slice == 0) return 1;
  const bool amid = execution.binding.loops(channel) > 4 * loops_to_fill;
  const std::int64_t piece = bytes_of_pieces(slice, round, cost.granule_of(execution.warps), amid);
  const std::int64_t pieces = (slice + piece - 1) / piece;
  return static_cast<double>(pieces);
}

}  // namespace

Effort effort_of(const Execution& execution) {
  const Plan& plan = execution.plan;
  std::vector<double> messages;  // by schedule
  for (const Schedule& schedule : plan.schedules) messages.push_back(messages_of(schedule));
  const std::uint32_t shortened = laps_of_steady_call(execution);
  Effort effort;
  for (std::uint32_t channel = 0; channel < execution.binding.channels(); ++channel) {
    const std::uint32_t loops = execution.binding.loops(channel);
    if (loops == 0) continue;
    const double loop = messages[plan.schedule_of_channel[channel]] *
                        execution.binding.chunking().slices * pieces_of(execution, channel) *
                        execution.calls;
    effort.whole += loop * loops;
    effort.steady += loop * std::min(loops, shortened);
  }
  return effort;
}

}  // namespace collsim
