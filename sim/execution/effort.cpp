#include "sim/execution/effort.h"

#include <algorithm>
#include <vector>

#include "sim/base/division.h"
#include "sim/cost/warps.h"
#include "sim/execution/call_layout.h"
#include "sim/execution/fabric_draft.h"
#include "sim/execution/steady_state.h"
#include "sim/execution/symmetry.h"
#include "sim/execution/thread_block_cost.h"
#include "sim/execution/worker.h"

namespace collsim {

namespace {

/// Messages of one loop of a lane, of all ranks that use as many lanes, slices counted once: all,
/// and those with at most so many primitives of every stretch of equal ones.
struct LaneMessages {
  std::uint32_t lanes = 1;
  std::uint32_t lane = 0;
  double all = 0;
  double shortened = 0;
  double programs = 0;
};

LaneMessages& messages_of_lane(std::vector<LaneMessages>& messages, std::uint32_t lanes,
                               std::uint32_t lane) {
  const auto known = std::find_if(messages.begin(), messages.end(), [&](const LaneMessages& each) {
    return each.lanes == lanes && each.lane == lane;
  });
  return known != messages.end() ? *known : messages.emplace_back(LaneMessages{lanes, lane});
}

std::vector<LaneMessages> messages_of(const Schedule& schedule, std::uint32_t max_steps) {
  std::vector<LaneMessages> messages;
  for_each_program(schedule, [&](Rank rank, std::uint32_t lane, const Program& program) {
    LaneMessages& own = messages_of_lane(messages, lanes_in_use(schedule, rank), lane);
    ++own.programs;
    for_each_uniform_run(program, [&](const Primitive& first, std::uint32_t length) {
      if (!sends(first.kind)) return;
      const auto peers = static_cast<double>(schedule.peers(first.send_group).size());
      own.all += length * peers;
      own.shortened += std::min(length, max_steps) * peers;
    });
  });
  return messages;
}

/// Pieces in which a slice of a lane goes, on average over loops: of which the last is shorter.
double pieces_of(const Execution& execution, std::uint32_t channel, const LaneMessages& of) {
  const std::uint32_t warps = warps_of_lane(execution.protocol, execution.warps, of.lanes, of.lane);
  const ProtocolConstants cost = execution.cost.of(execution.protocol);
  const LaneSetting lane = lane_setting(cost, execution.protocol, execution.warps, warps);
  const std::uint32_t loops = execution.partition.loops(channel);
  const auto pieces_in = [&](std::uint32_t loop) {
    const Bytes chunk = execution.partition.chunk_bytes(channel, loop, {0, 1});
    const std::int64_t slice = execution.partition.slice_bytes(chunk, 0).count;
    if (lane.round == 0 || slice == 0) return 1.0;
    return static_cast<double>(divide_up(slice, bytes_of_pieces(slice, lane)));
  };
  return ((loops - 1.0) * pieces_in(0) + pieces_in(loops - 1)) / loops;
}

/// Two lanes of a thread block, a tree's way up and its way down, fall in and out of step: their
/// loops hardly ever repeat themselves. Those of switches and single lanes do, and textbooks'.
bool repeats_loops(const Execution& execution, const Schedule& schedule) {
  return execution.warps == 0 || schedule.lanes() == 1 || !schedule.agents().empty();
}

}  // namespace

Effort effort_of(const Execution& execution) {
  const Plan& plan = execution.plan;
  const SteadyLength length = steady_length(execution);
  std::vector<std::vector<LaneMessages>> messages;  // by schedule
  for (const Schedule& schedule : plan.schedules) {
    messages.push_back(messages_of(schedule, length.steps));
  }
  Effort effort;
  for (std::uint32_t channel = 0; channel < execution.partition.channels(); ++channel) {
    const double loops = execution.partition.loops(channel);
    if (loops == 0) continue;
    const Schedule& schedule = plan.schedule(channel);
    const double repeated =
        repeats_loops(execution, schedule) ? std::min<double>(length.loops, loops) : loops;
    for (const LaneMessages& of : messages[plan.schedule_of_channel[channel]]) {
      effort.workers += of.programs;
      if (of.all == 0) continue;
      const double each = execution.partition.chunking().slices * execution.calls *
                          pieces_of(execution, channel, of);
      effort.whole += each * of.all * loops;
      effort.steady += each * std::min(of.all * repeated, of.shortened * loops);
    }
  }
  return effort;
}

double folded_share(const Execution& execution, double max_share) {
  if (!may_fold(execution)) return 1;
  const ThreadBlockCosts costs = thread_block_costs(execution.cost, execution.protocol);
  FabricDraft draft;
  const CallLayout layout = lay_out(execution, costs, draft);
  const auto symmetry = symmetry_of(execution, layout, draft, max_share);
  if (!symmetry) return 1;
  return static_cast<double>(symmetry->workers.size.size()) /
         static_cast<double>(layout.workers.size());
}

}  // namespace collsim
