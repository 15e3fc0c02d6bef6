#include "models/workload/training_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/base/input_error.h"

namespace collsim {

namespace {

/// Turns of the pipeline after which a step is continued: each microbatch more takes as long then.
constexpr std::int64_t steady_turns = 3;
/// Microbatches without a pipeline, likewise.
constexpr std::int64_t steady_microbatches = 3;

Rank gpus_of_node(const MachineCalls& calls) {
  const Topology& topology = *calls.topology;
  Rank ranks = 0;
  for (const DeviceId gpu : calls.gpus) {
    if (topology.node_of(gpu) == topology.node_of(calls.gpus.front())) ++ranks;
  }
  return std::max<Rank>(1, ranks);
}

std::string gpu_name(const Topology& topology, const std::vector<DeviceId>& gpus) {
  return gpus.empty() ? std::string() : std::string(topology.device(gpus.front()).model);
}

/// Adds `times` times what one of two steps takes more than the other.
void continue_step(StepPrediction& step, const StepPrediction& fewer, double times) {
  const auto grow = [&](Seconds& value, Seconds before) {
    value = std::max(Seconds{}, value + times * (value - before));
  };
  for (auto& [name, time] : step.exposed) {
    const auto before = fewer.exposed.find(name);
    grow(time, before == fewer.exposed.end() ? Seconds{} : before->second);
  }
  grow(step.computes, fewer.computes);
  grow(step.waits, fewer.waits);
  grow(step.time, fewer.time);
  step.continued = true;
}

void slow_down(CallProgram& program, const Straggler& straggler) {
  for (RankGroup& group : program.groups) {
    if (std::find(group.ranks.begin(), group.ranks.end(), straggler.rank) == group.ranks.end()) {
      continue;
    }
    for (ProgramOp& op : group.ops) op.compute = straggler.slower * op.compute;
  }
}

}  // namespace

StepMachine::StepMachine(const MachineCalls& calls, const KernelTable& table,
                         const std::string& gpu)
    : kernels_(find_kernels(table, gpu.empty() ? gpu_name(*calls.topology, calls.gpus) : gpu)),
      costs_(calls),
      per_node_(gpus_of_node(calls)),
      gpus_(static_cast<Rank>(calls.gpus.size())) {}

ProgramSchedule StepMachine::schedule(const CallProgram& program) {
  return schedule_program(program, costs_, kernels_.sharing());
}

StepPrediction StepMachine::predict(const TrainingSetup& setup,
                                    const std::optional<Straggler>& straggler) {
  check_setup(setup);
  if (setup.ranks() > std::int64_t{gpus_}) {
    throw InputError(fmt::format("the layout has {} ranks", setup.ranks()),
                     fmt::format("at most the machine's {} GPUs", gpus_));
  }
  const auto step_of = [&](std::int64_t microbatches) {
    CallProgram program = training_program(setup, kernels_, microbatches, per_node_);
    if (straggler) slow_down(program, *straggler);
    const ProgramSchedule times = schedule(program);
    const GroupSchedule& last = times.groups[times.last_group()];
    StepPrediction step;
    step.time = times.time;
    step.computes = last.computes;
    step.waits = last.waits;
    step.exposed = last.exposed;
    return step;
  };
  const std::int64_t turn = setup.pipeline;
  const std::int64_t all = setup.microbatches();
  const std::int64_t some =
      turn > 1 ? steady_turns * turn + all % turn : std::min(all, steady_microbatches);
  StepPrediction step;
  if (all <= some + turn) {
    step = step_of(all);
  } else {
    step = step_of(some + turn);
    continue_step(step, step_of(some),
                  static_cast<double>(all - some - turn) / static_cast<double>(turn));
  }
  step.memory = step_memory(setup);
  step.fits = step.memory.all() <= usable_memory * static_cast<double>(kernels_.gpu().holds.count);
  const auto tokens =
      static_cast<double>(setup.global_batch) * static_cast<double>(setup.tokens_sequence());
  step.tokens_per_second = tokens / step.time.value;
  step.utilisation = step.tokens_per_second *
                     flops_per_token(setup.model, setup.tokens_sequence()) /
                     (static_cast<double>(setup.ranks()) * kernels_.gpu().flops);
  return step;
}

}  // namespace collsim
