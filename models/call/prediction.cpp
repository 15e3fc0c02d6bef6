#include "models/call/prediction.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <deque>
#include <map>

#include "models/calibration/trust.h"
#include "models/call/far_above.h"
#include "models/machine/host_memory.h"
#include "sim/algorithms/written_schedule.h"
#include "sim/base/input_error.h"
#include "sim/base/words.h"
#include "sim/execution/calls_at_once.h"
#include "sim/execution/effort.h"
#include "sim/execution/fewer_loops.h"

namespace collsim {

namespace {

ModelFloor floor_on(const CompiledCall& call, const Wiring& wiring) {
  const CallCompiler& compiler = *call.compiler;
  const double share = 1.0 / compiler.calls();
  ModelFloor floor = model_floor(call.plan(), call.partition, wiring, call.cost(), call.protocol);
  const Seconds launch = compiler.cost().startup(call.protocol, compiler.spec().collective, 1, 0);
  floor.latency = launch + share * (floor.latency - launch);
  // While a rank launches a further call, others may keep a link busy with what is left of theirs.
  for (Seconds* busiest : {&floor.busiest_link, &floor.busiest_block}) {
    *busiest += (share - 1) * launch;
  }
  if (call.layout->reroutes) {  // what each link will carry is not known
    floor.busiest_link = launch;
    floor.latency = launch;
  }
  return floor;
}

bool is_written(const CompiledCall& call) {
  return names_schedule_file(call.plan().algorithm);
}

/// What no call takes less than. What a person wrote need not be the collective that it says: of
/// it, links and thread blocks hold what it sends.
Seconds limit_of(const CompiledCall& call, const Prediction& prediction) {
  const double jitter = call.compiler->cost().jitter;
  if (!is_written(call)) {
    return std::max(prediction.bounds.largest(), surely_needed(prediction.floor, jitter));
  }
  ModelFloor floor = prediction.floor;
  floor.latency = {};
  return surely_needed(floor, jitter);
}

/// The mean of laps that differ, and what a second call adds to the first, are as near as this: on
/// a port that is busy all the time a call may come out so much below what the port needs. Laps
/// are even where they differ by 5e-3, before those that are skipped and after (SteadyState).
void raise_continued(const CompiledCall& call, Prediction& prediction) {
  constexpr double max_short = 1e-2;
  const Seconds limit = limit_of(call, prediction);
  if (prediction.time >= (1 - max_short) * limit) clamp_to(prediction, limit);
}

/// Nor need it be fast.
void check(const CompiledCall& call, const Prediction& prediction) {
  check_not_below(prediction.time, limit_of(call, prediction),
                  fmt::format("{} of {} on {} ranks", call.algorithm, to_string(call.size),
                              call.compiler->ranks()));
  if (is_written(call)) return;
  const Chunking& chunking = call.partition.chunking();
  check_not_far_above(*call.compiler, prediction, {chunking.largest_chunk.count / chunking.slices});
}

Prediction outline_on(const CompiledCall& call, const Wiring& wiring) {
  const CallCompiler& compiler = *call.compiler;
  const CallSpec& spec = compiler.spec();
  Prediction prediction;
  prediction.size = call.size;
  prediction.algorithm = call.algorithm;
  prediction.protocol = call.protocol;
  prediction.channels = busy_channels(call.plan(), call.partition);
  if (call.nccl_choice) {
    prediction.nccl_estimate = microseconds(call.nccl_choice->time);
    prediction.wire_factor =
        wire_factor(spec.collective, call.nccl_choice->algorithm, compiler.ranks(),
                    compiler.ranks() / compiler.nccl()->nodes());
  }
  prediction.bounds = compiler.bounds(call.partition.size());
  prediction.floor = floor_on(call, wiring);
  const std::vector<LinkKind> kinds = kinds_of(call.wiring());
  prediction.trust = trust_of(spec.cost.trust, compiler.topology(), spec.gpus, kinds,
                              call.algorithm, !compiler.is_nccl());
  prediction.medium = medium_of(call.cost(), kinds, compiler.hosts());
  return prediction;
}

/// One call and two in a row say what all take: each further one takes what the second adds.
/// Broadcasts of 16 MiB to 1 GiB on 64 GPUs of DGX H100 and on 72 of one NVL72 then come out within
/// 0.1 % of what eight calls say, one of them within 0.6 %. On B200 calls are shorter after the
/// eighth, so that 20 broadcasts of 16 MiB on 64 GPUs come out 8 % too slow.
constexpr std::uint32_t simulated_calls = 1 + 2;
/// Fewer messages are simulated call by call: two seconds' worth.
constexpr double many_messages = 3e6;

bool may_continue_calls(const Execution& execution) {
  const auto& changes = execution.events->changes;
  const Seconds begin = execution.startup();
  return execution.steady && execution.calls > 2 * simulated_calls &&
         effort_of(execution).whole > many_messages &&
         std::none_of(changes.begin(), changes.end(),
                      [&](const MachineChange& change) { return change.at > begin; });
}

/// By the first call, and what the second adds.
ExecutionResult execute_first_calls(Execution execution, Engine engine) {
  const double calls = execution.calls;
  execution.calls = 1;
  const ExecutionResult first = execute(execution, *make_fabric(engine));
  execution.calls = 2;
  ExecutionResult result = execute(execution, *make_fabric(engine));
  const auto continued = [&](Seconds of_first, Seconds mean_of_two) {
    const Seconds further = 2 * mean_of_two - of_first;
    return (1 / calls) * (of_first + (calls - 1) * further);
  };
  result.time = std::max(continued(first.time, result.time), execution.issue());
  result.mean_over_ranks =
      std::max(continued(first.mean_over_ranks, result.mean_over_ranks), execution.issue());
  result.transfers += first.transfers;
  result.steady = true;
  return result;
}

/// The whole, unless calls or loops of it say what the others take.
ExecutionResult execute_least(const Execution& execution, Engine engine) {
  if (may_continue_calls(execution)) return execute_first_calls(execution, engine);
  if (const auto continued = execute_fewer_loops(execution, engine)) return *continued;
  return execute(execution, *make_fabric(engine));
}

Wiring wiring_at_first(const CompiledCall& call) {
  return wiring_as_it_begins(call.wiring(), call.layout->events);
}

}  // namespace

std::string_view to_string(Extent extent) {
  return word_for(extent, {{Extent::whole, "whole"},
                           {Extent::steady, "steady"},
                           {Extent::scaled, "scaled"},
                           {Extent::part, "part"}});
}

Execution execution_of(const CompiledCall& call) {
  return {call.plan(),   call.partition, call.wiring(),          call.cost(),
          call.protocol, call.warps,     call.compiler->calls(), &call.layout->events};
}

Effort simulated_effort(const CompiledCall& call) {
  Execution execution = execution_of(call);
  execution.steady = true;
  Effort effort = effort_of(execution);
  if (may_continue_calls(execution)) {
    effort.steady *= static_cast<double>(simulated_calls) / execution.calls;
  }
  return effort;
}

Prediction outline(const CompiledCall& call) {
  return outline_on(call, call.wiring());
}

void clamp_to(Prediction& prediction, Seconds limit) {
  constexpr double rounding = 1e-9;
  prediction.clamped = prediction.clamped || prediction.time.value < limit.value * (1 - rounding);
  prediction.time = std::max(prediction.time, limit);
}

Prediction simulate(const CompiledCall& call, const SimulationOptions& options) {
  if (options.engine == Engine::simgrid && !call.wiring().bursts.empty()) {
    throw InputError("the simgrid engine knows no links with a burst", "engine native");
  }
  try {
    Execution execution = execution_of(call);
    execution.steady = !options.exact;
    execution.fold = !options.exact;
    execution.found = call.found.get();
    execution.watch = options.watch;
    if (options.begin) {
      options.begin(call.size,
                    options.exact ? effort_of(execution).whole : simulated_effort(call).steady);
    }
    const ExecutionResult result = execute_least(execution, options.engine);
    Prediction prediction = outline(call);
    prediction.time = result.time;
    prediction.mean_over_ranks = result.mean_over_ranks;
    prediction.transfers = result.transfers;
    prediction.classes = result.rank_classes;
    prediction.extent = result.steady ? Extent::steady : Extent::whole;
    if (result.steady) raise_continued(call, prediction);
    check(call, prediction);
    return prediction;
  } catch (const HangError& error) {
    const auto dead =
        links_that_stay_dead(call.wiring(), call.layout->events, call.compiler->topology());
    throw HangError(error.channel(), error.rank(), error.step(),
                    fmt::format("{} of {} {}; dead: {}", call.algorithm, to_string(call.size),
                                error.what(), fmt::join(dead, ", ")));
  }
}

std::vector<Seconds> simulate_at_once(std::span<const CompiledCall> calls) {
  const auto footprints_of = [](const CompiledCall& call) {
    return host_footprints(call.wiring(), call.plan(), call.partition, call.protocol);
  };
  std::map<std::uint32_t, Bytes> footprints;  // by node
  for (const CompiledCall& call : calls) {
    for (const auto& [memory, bytes] : footprints_of(call)) {
      footprints[call.wiring().origins[memory].id] += bytes;
    }
  }
  std::deque<Wiring> wirings;
  std::vector<Execution> executions;
  for (const CompiledCall& call : calls) {
    Wiring& wiring = wirings.emplace_back(call.wiring());
    for (const auto& [memory, bytes] : footprints_of(call)) {
      wiring.capacities[memory] =
          memory_rate(call.cost().memory, footprints[wiring.origins[memory].id]);
    }
    executions.push_back(
        {call.plan(), call.partition, wiring, call.cost(), call.protocol, call.warps});
  }
  return execute_at_once(executions, *make_fabric(Engine::native));
}

Prediction estimate_by_plan(const CompiledCall& call) {
  const CallCompiler& compiler = *call.compiler;
  const Wiring wiring = wiring_at_first(call);
  Prediction prediction = outline_on(call, wiring);
  const Estimate estimate =
      collsim::estimate(call.plan(), compiler.placement(), call.partition, wiring, call.cost(),
                        call.protocol, prediction.floor, call.warps);
  prediction.time = estimate.time;
  prediction.method = estimate.method;
  prediction.form = estimate.form;
  prediction.trust = trust_by(estimate.method, prediction.trust);
  check(call, prediction);
  return prediction;
}

Seconds mean_time(const CompiledCall& call, const Calibration& cost) {
  const CallCompiler& compiler = *call.compiler;
  const CallSpec& spec = compiler.spec();
  Calibration own = compiler.cost_of(cost);
  if (adds_in_nvswitches(call.plan())) own = own.of_nvls();
  assert(own.proxy.used == spec.cost.proxy.used && spec.faults.empty());
  Wiring wiring = call.layout->wiring;
  set_efficiency(wiring, own);
  if (loads_host_memory(wiring)) {
    set_host_memory(wiring, call.plan(), call.partition, spec.gpus, call.protocol, own);
  }
  const auto fabric = make_fabric(Engine::native);
  return execute({call.plan(), call.partition, wiring, own, call.protocol, call.warps,
                  compiler.calls()},
                 *fabric)
      .mean_over_ranks;
}

}  // namespace collsim
