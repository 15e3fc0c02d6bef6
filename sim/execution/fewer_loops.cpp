#include "sim/execution/fewer_loops.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "sim/execution/effort.h"
#include "sim/execution/machine_events.h"

namespace collsim {

namespace {

constexpr std::array<std::uint32_t, 3> simulated_loops{1, 2, 4};
/// Of fewer, the whole takes little longer than these.
constexpr std::uint32_t min_loops = 16;
/// How far the time may be from what the first two of them say.
constexpr double tolerance = 5e-3;

/// Where nothing folds, whatever begins or ends changes the rates of all that are sent at once
/// (all_to_all on 8 H200: 448 messages of 1 GiB take 0.13 ms each, 1,792 of 8 GiB 0.53 ms).
constexpr double seconds_per_rate = 3e-7;
/// What takes less is executed as it is.
constexpr double short_time = 5;

std::uint32_t max_loops(const DataPartition& partition) {
  std::uint32_t loops = 0;
  for (std::uint32_t channel = 0; channel < partition.channels(); ++channel) {
    loops = std::max(loops, partition.loops(channel));
  }
  return loops;
}

bool may_continue_loops(const Execution& execution) {
  const bool is_plain = execution.events == nullptr || execution.events->empty();
  const std::uint32_t loops = max_loops(execution.partition);
  if (!execution.steady || !is_plain || !execution.wiring.bursts.empty() || loops < min_loops ||
      !execution.plan.channels_divide_chunks) {
    return false;
  }
  const double messages = effort_of(execution).whole;
  return seconds_per_rate * messages * messages / loops > short_time;
}

ExecutionResult execute_loops(const Execution& execution, std::uint32_t left_out, Engine engine) {
  const DataPartition partition = execution.partition.without_loops(left_out);
  const Execution fewer{execution.plan,     partition,       execution.wiring, execution.cost,
                        execution.protocol, execution.warps, execution.calls,  execution.events,
                        execution.steady,   execution.watch, execution.fold};
  return execute(fewer, *make_fabric(engine));
}

}  // namespace

std::optional<ExecutionResult> execute_fewer_loops(const Execution& execution, Engine engine) {
  if (!may_continue_loops(execution)) return std::nullopt;
  const std::uint32_t loops = max_loops(execution.partition);
  std::array<ExecutionResult, simulated_loops.size()> results;
  ExecutionResult whole;
  for (std::size_t i = 0; i < results.size(); ++i) {
    results[i] = execute_loops(execution, loops - simulated_loops[i], engine);
    if (results[i].rank_classes < execution.plan.ranks()) return std::nullopt;
    whole.transfers += results[i].transfers;
  }
  const auto [few, more, most] = results;
  // By the times of executions of so many loops and of twice as many.
  const auto continued = [&](Seconds of_half, Seconds time, std::uint32_t simulated) {
    return time + (loops - simulated) / (simulated / 2.0) * (time - of_half);
  };
  whole.time = continued(more.time, most.time, simulated_loops[2]);
  whole.mean_over_ranks = continued(more.mean_over_ranks, most.mean_over_ranks, simulated_loops[2]);
  whole.steady = true;
  whole.rank_classes = most.rank_classes;
  const Seconds before = continued(few.time, more.time, simulated_loops[1]);
  const double off = std::abs((whole.time - before).value);
  return off <= tolerance * whole.time.value ? std::optional(whole) : std::nullopt;
}

}  // namespace collsim
