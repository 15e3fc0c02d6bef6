#include "tools/collsim/train/training_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <utility>

#include "sim/base/input_error.h"

namespace collsim {

namespace {

/// The largest call on a communicator, if there is one.
std::optional<ProgramCall> largest_call(const CallProgram& program, std::uint32_t communicator) {
  std::optional<ProgramCall> largest;
  const auto look = [&](const std::vector<ProgramCall>& calls) {
    for (const ProgramCall& call : calls) {
      if (call.communicator != communicator) continue;
      if (!largest || call.bytes > largest->bytes) largest = call;
    }
  };
  for (const RankGroup& group : program.groups) {
    for (const ProgramOp& op : group.ops) {
      look(op.calls);
      look(op.inner);
    }
  }
  return largest;
}

/// By how many ranks the communicators like one lie after the first of them. The one of its group
/// that begins at the group's first rank has ranks a stride apart; between two strides there are
/// others, and after its last rank they begin anew. Links of two groups are one for each rank.
std::vector<Rank> shifts_of(const CallProgram& program, const ProgramCommunicator& communicator) {
  std::vector<Rank> shifts;
  const auto size = static_cast<Rank>(program.groups[communicator.groups.front()].ranks.size());
  const auto members = static_cast<Rank>(communicator.ranks.size());
  const bool is_link = communicator.groups.size() > 1;
  const Rank stride = is_link ? size : communicator.ranks[1] - communicator.ranks[0];
  const Rank span = is_link ? size : stride * members;
  for (Rank first = 0; first + span <= size; first += span) {
    for (Rank i = 0; i < stride; ++i) shifts.push_back(first + i);
  }
  return shifts;
}

bool meets_fault(const ProgramCommunicator& communicator, const FaultedRanks& faulted) {
  return faulted.between_switches ||
         std::any_of(communicator.ranks.begin(), communicator.ranks.end(),
                     [&](Rank rank) { return faulted.near[rank]; });
}

ProgramCommunicator moved(const ProgramCommunicator& communicator, Rank by) {
  ProgramCommunicator other = communicator;
  for (Rank& rank : other.ranks) rank += by;
  return other;
}

}  // namespace

FaultedRanks faulted_ranks(const MachineCalls& calls) {
  FaultedRanks faulted;
  faulted.any = !calls.faults.empty();
  if (!faulted.any) return faulted;
  const Topology& topology = *calls.topology;
  std::vector<bool> nodes(topology.node_count(), false);
  for (const LinkFault& fault : calls.faults.links) {
    for (const LinkId id : fault.links) {
      const Link link = topology.link(id);
      bool of_node = false;
      for (const DeviceId end : {link.from, link.to}) {
        if (topology.node_of(end) < 0) continue;
        nodes[static_cast<std::size_t>(topology.node_of(end))] = true;
        of_node = true;
      }
      if (!of_node) faulted.between_switches = true;
    }
  }
  for (const DeviceId gpu : calls.gpus) {
    faulted.near.push_back(nodes[static_cast<std::size_t>(std::max(0, topology.node_of(gpu)))]);
  }
  return faulted;
}

void move_to_slowest(CallProgram& program, const FaultedRanks& faulted, CallCosts& costs) {
  for (std::uint32_t i = 0; i < program.communicators.size(); ++i) {
    const ProgramCommunicator first = program.communicators[i];
    const auto call = largest_call(program, i);
    if (!call || first.ranks.size() < 2) continue;
    Seconds slowest = costs.cost_of(first, *call).alone;
    for (const Rank shift : shifts_of(program, first)) {
      ProgramCommunicator other = moved(first, shift);
      if (shift == 0 || !meets_fault(other, faulted)) continue;
      const Seconds time = costs.cost_of(other, *call).alone;
      if (time <= slowest) continue;
      slowest = time;
      program.communicators[i] = std::move(other);
    }
  }
}

namespace {

/// Turns of the pipeline after which a step is continued: each microbatch more takes as long then.
constexpr std::int64_t steady_turns = 3;
/// Microbatches without a pipeline, likewise.
constexpr std::int64_t steady_microbatches = 3;

double product_rate(const KernelTimes& kernels) {
  return kernels.gpu().flops * kernels.gpu().product;
}

/// The kernels of every kind of GPU in use, the slowest first.
std::vector<KernelTimes> kinds_of(const MachineCalls& calls, const KernelTable& table,
                                  const std::string& gpu) {
  if (!gpu.empty()) return {find_kernels(table, gpu)};
  std::set<std::string> models;
  for (const DeviceId each : calls.gpus) models.emplace(calls.topology->device(each).model);
  if (models.empty()) models.emplace();
  std::vector<KernelTimes> kinds;
  std::set<std::string> known;
  for (const std::string& model : models) {
    KernelTimes kernels = find_kernels(table, model);
    if (known.insert(kernels.gpu().gpu).second) kinds.push_back(std::move(kernels));
  }
  std::stable_sort(kinds.begin(), kinds.end(), [](const KernelTimes& a, const KernelTimes& b) {
    return product_rate(a) < product_rate(b);
  });
  return kinds;
}

std::vector<std::uint32_t> kinds_by_rank(const MachineCalls& calls, const KernelTable& table,
                                         const std::vector<KernelTimes>& kinds) {
  std::vector<std::uint32_t> numbers(calls.gpus.size(), 0);
  for (std::size_t rank = 0; rank < numbers.size() && kinds.size() > 1; ++rank) {
    const std::string model(calls.topology->device(calls.gpus[rank]).model);
    const std::string name = find_kernels(table, model).gpu().gpu;
    while (kinds[numbers[rank]].gpu().gpu != name) ++numbers[rank];
  }
  return numbers;
}

/// Bytes of the GPU that holds least.
double memory_of_smallest(const std::vector<KernelTimes>& kinds) {
  double least = static_cast<double>(kinds.front().gpu().holds.count);
  for (const KernelTimes& each : kinds) {
    least = std::min(least, static_cast<double>(each.gpu().holds.count));
  }
  return least;
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

/// What each group computes, and the calls between its kernels as far as nothing hides them.
std::vector<Seconds> work_of_groups(const CallProgram& program, CallCosts& costs) {
  ProgramCosts known(program, costs);
  std::vector<Seconds> works;
  works.reserve(program.groups.size());
  for (const RankGroup& group : program.groups) {
    Seconds work{};
    for (const ProgramOp& op : group.ops) {
      work += op.compute;
      for (const ProgramCall& call : op.inner) {
        work += call.count * std::max(Seconds{}, known.of(call).alone - call.beside);
      }
    }
    works.push_back(work);
  }
  return works;
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

Seconds kernels_of_microbatch(const TrainingSetup& setup, const KernelTimes& kernels) {
  const LayerTimes layer = layer_times(kernels, setup.model, layer_share(setup));
  const Seconds again = setup.recompute == Recompute::full ? layer.all.forward : Seconds{};
  const auto layers = static_cast<double>(setup.model.layers);
  return layers / static_cast<double>(setup.pipeline) *
         (layer.all.forward + layer.all.backward + again);
}

Seconds min_chunk_time(const TrainingSetup& setup, const KernelTimes& kernels) {
  const std::int64_t least = setup.model.layers / setup.pipeline * setup.pipeline;
  const double share = static_cast<double>(least) / static_cast<double>(setup.model.layers);
  return share / static_cast<double>(setup.interleave) * kernels_of_microbatch(setup, kernels);
}

Rank gpus_of_node(const MachineCalls& calls) {
  const Topology& topology = *calls.topology;
  Rank ranks = 0;
  for (const DeviceId gpu : calls.gpus) {
    if (topology.node_of(gpu) == topology.node_of(calls.gpus.front())) ++ranks;
  }
  return std::max<Rank>(1, ranks);
}

StepMachine::StepMachine(const MachineCalls& calls, const KernelTable& table,
                         const std::string& gpu)
    : kinds_(kinds_of(calls, table, gpu)),
      kind_of_rank_(kinds_by_rank(calls, table, kinds_)),
      costs_(calls),
      per_node_(gpus_of_node(calls)),
      gpus_(static_cast<Rank>(calls.gpus.size())),
      faulted_(faulted_ranks(calls)) {}

ProgramSchedule StepMachine::schedule(const CallProgram& program) {
  return schedule_program(program, costs_, kernels().sharing());
}

/// A stage has the kernels of the slowest kind among its ranks.
CallProgram StepMachine::program_of(const TrainingSetup& setup, std::int64_t microbatches) const {
  CallProgram program = training_program(setup, kinds_.front(), microbatches, per_node_);
  for (std::uint32_t kind = 1; kind < kinds_.size(); ++kind) {
    CallProgram quicker = training_program(setup, kinds_[kind], microbatches, per_node_);
    for (std::size_t i = 0; i < program.groups.size(); ++i) {
      std::uint32_t slowest = kind;
      for (const Rank rank : program.groups[i].ranks) {
        slowest = std::min(slowest, kind_of_rank_[rank]);
      }
      if (slowest == kind) program.groups[i].ops = std::move(quicker.groups[i].ops);
    }
  }
  return program;
}

CallProgram StepMachine::faulty_program(const TrainingSetup& setup, std::int64_t microbatches) {
  CallProgram program = program_of(setup, microbatches);
  if (faulted_.any) move_to_slowest(program, faulted_, costs_);
  return program;
}

double StepMachine::quickest() const {
  return product_rate(kinds_.back()) / product_rate(kinds_.front());
}

/// Per second, of the data sheets.
double StepMachine::flops_of(std::int64_t ranks) const {
  double flops = 0;
  for (std::size_t rank = 0; rank < static_cast<std::size_t>(ranks); ++rank) {
    flops += kinds_[kind_of_rank_[rank]].gpu().flops;
  }
  return flops;
}

void StepMachine::complete(StepPrediction& step, const TrainingSetup& setup) const {
  step.memory = step_memory(setup);
  step.fits = step.memory.all() <= usable_memory * memory_of_smallest(kinds_);
  const auto tokens =
      static_cast<double>(setup.global_batch) * static_cast<double>(setup.tokens_sequence());
  step.tokens_per_second = tokens / step.time.value;
  step.utilisation = step.tokens_per_second *
                     flops_per_token(setup.model, setup.tokens_sequence()) /
                     flops_of(setup.ranks());
}

/// A stage has nothing to do until its first microbatch has come through those before it, and while
/// its last one goes back through them; what it does once a step, for its optimizer, may fill that.
Seconds StepMachine::min_step_time(const TrainingSetup& setup) {
  const std::int64_t all = setup.microbatches();
  const std::int64_t some = std::min(all, setup.pipeline);
  const std::vector<Seconds> fewer = work_of_groups(faulty_program(setup, some), costs_);
  const std::vector<Seconds> more = work_of_groups(faulty_program(setup, 2 * some), costs_);
  const double turns = static_cast<double>(all) / static_cast<double>(some);
  const Seconds of_chunk = min_chunk_time(setup, kinds_.back());
  Seconds longest{};
  for (std::size_t stage = 0; stage < fewer.size(); ++stage) {
    const Seconds turn = more[stage] - fewer[stage];
    const Seconds once = fewer[stage] - turn;
    const Seconds idle = static_cast<double>(stage) * of_chunk;
    longest = std::max(longest, turns * turn + std::max(once, idle));
  }
  return longest;
}

StepPrediction StepMachine::predict(const TrainingSetup& setup,
                                    const std::optional<Straggler>& straggler) {
  return *predict_within(Seconds{std::numeric_limits<double>::infinity()}, setup, straggler);
}

std::optional<StepPrediction> StepMachine::predict_within(
    Seconds limit, const TrainingSetup& setup, const std::optional<Straggler>& straggler) {
  check_setup(setup);
  if (setup.ranks() > std::int64_t{gpus_}) {
    throw InputError(fmt::format("the layout has {} ranks", setup.ranks()),
                     fmt::format("at most the machine's {} GPUs", gpus_));
  }
  const auto step_of = [&](std::int64_t microbatches) {
    CallProgram program = faulty_program(setup, microbatches);
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
    const StepPrediction fewer = step_of(some);
    const Seconds others =
        static_cast<double>(all - some) * kernels_of_microbatch(setup, kinds_.back());
    if (fewer.time + others > limit) return std::nullopt;
    step = step_of(some + turn);
    continue_step(step, fewer, static_cast<double>(all - some - turn) / static_cast<double>(turn));
  }
  complete(step, setup);
  return step;
}

}  // namespace collsim
