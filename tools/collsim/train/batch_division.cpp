// Batches that are divided by the speed of replicas.

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tools/collsim/train/training_step.h"

namespace collsim {

namespace {

/// Microbatches of the replica that has most, after which a step is continued.
constexpr std::int64_t max_scheduled = 64;
/// Turns of the pipeline between which a replica's microbatches are timed.
constexpr std::int64_t first_turns = 3;
/// Seconds that a microbatch takes at least, where a model has next to nothing to compute.
constexpr double min_of_microbatch = 1e-9;

using StageKinds = std::vector<std::uint32_t>;  // of a replica: the kind of GPU of each stage

/// Replicas that have the same kinds.
struct ReplicaClass {
  StageKinds kinds;
  std::vector<std::int64_t> replicas;
  double of_microbatch = 0;  ///< seconds that one more takes
  std::int64_t microbatches = 0;
};

bool can_divide(const TrainingSetup& setup) {
  const bool meets_always = setup.zero >= 2 || (setup.model.experts > 1 && setup.expert > 1);
  return setup.data > 1 && !meets_always;
}

std::vector<ReplicaClass> classes_of(const std::vector<StageKinds>& replicas) {
  std::vector<ReplicaClass> classes;
  std::map<StageKinds, std::size_t> known;
  for (std::size_t i = 0; i < replicas.size(); ++i) {
    const auto [found, added] = known.try_emplace(replicas[i], classes.size());
    if (added) classes.push_back({replicas[i], {}});
    classes[found->second].replicas.push_back(static_cast<std::int64_t>(i));
  }
  return classes;
}

/// Interleaved pipelines run as many microbatches as stages at a time.
std::int64_t unit_of(const TrainingSetup& setup) {
  return setup.interleave > 1 ? setup.pipeline : 1;
}

std::int64_t microbatches_of(const std::vector<ReplicaClass>& classes) {
  return std::accumulate(classes.begin(), classes.end(), std::int64_t{0},
                         [](std::int64_t sum, const ReplicaClass& each) {
                           return sum + each.microbatches * std::ssize(each.replicas);
                         });
}

/// Gives out all microbatches, each to those who would have done it first. Some replicas of a class
/// may have one less than it says. False where there are not enough for all.
bool divide(std::vector<ReplicaClass>& classes, std::int64_t all, std::int64_t unit) {
  for (ReplicaClass& each : classes) each.microbatches = unit;
  if (microbatches_of(classes) > all) return false;
  while (microbatches_of(classes) < all) {
    const auto end_of = [unit](const ReplicaClass& each) {
      return each.of_microbatch * static_cast<double>(each.microbatches + unit);
    };
    std::min_element(classes.begin(), classes.end(), [&](const auto& a, const auto& b) {
      return end_of(a) < end_of(b);
    })->microbatches += unit;
  }
  for (ReplicaClass& each : classes) {
    const std::int64_t fewer = unit * std::ssize(each.replicas);
    if (each.microbatches > unit && microbatches_of(classes) - fewer >= all) {
      each.microbatches -= unit;
    }
  }
  return true;
}

/// The program of one class of replicas, with its first one's ranks, becomes part of another, in
/// which all classes meet on the data-parallel communicators.
class ProgramMerger {
 public:
  explicit ProgramMerger(const TrainingSetup& setup) : setup_(setup) {}

  void add(CallProgram program, const ReplicaClass& replicas);
  CallProgram take() { return std::move(merged_); }

 private:
  static bool is_shared(const ProgramCommunicator& each) { return each.name == "dp"; }
  std::vector<std::uint32_t> add_communicators(const CallProgram& program, Rank shift);
  std::vector<Rank> ranks_of_class(const RankGroup& group, const ReplicaClass& replicas) const;
  std::uint32_t first_group() const { return static_cast<std::uint32_t>(merged_.groups.size()); }

  const TrainingSetup& setup_;
  CallProgram merged_;
  std::map<std::vector<Rank>, std::uint32_t> shared_;  // by their ranks
};

std::vector<std::uint32_t> ProgramMerger::add_communicators(const CallProgram& program,
                                                            Rank shift) {
  std::vector<std::uint32_t> renamed;
  for (ProgramCommunicator each : program.communicators) {
    for (std::uint32_t& group : each.groups) group += first_group();
    auto number = static_cast<std::uint32_t>(merged_.communicators.size());
    if (is_shared(each)) {
      const auto [found, added] = shared_.try_emplace(each.ranks, number);
      number = found->second;
      if (!added) {
        auto& groups = merged_.communicators[number].groups;
        groups.insert(groups.end(), each.groups.begin(), each.groups.end());
      }
    } else {
      for (Rank& rank : each.ranks) rank += shift;
    }
    renamed.push_back(number);
    if (number == merged_.communicators.size()) merged_.communicators.push_back(std::move(each));
  }
  return renamed;
}

std::vector<Rank> ProgramMerger::ranks_of_class(const RankGroup& group,
                                                const ReplicaClass& replicas) const {
  const auto width = static_cast<std::size_t>(setup_.tensor * setup_.context);
  std::vector<Rank> ranks;
  for (const std::int64_t replica : replicas.replicas) {
    for (std::size_t i = 0; i < width; ++i) {
      ranks.push_back(group.ranks[static_cast<std::size_t>(replica) * width + i]);
    }
  }
  return ranks;
}

void ProgramMerger::add(CallProgram program, const ReplicaClass& replicas) {
  const std::uint32_t first = first_group();
  const auto shift = static_cast<Rank>(replicas.replicas.front() * setup_.tensor * setup_.context);
  const std::vector<std::uint32_t> renamed = add_communicators(program, shift);
  merged_.name = program.name;
  for (RankGroup& group : program.groups) {
    group.ranks = ranks_of_class(group, replicas);
    for (ProgramOp& op : group.ops) {
      for (std::vector<ProgramCall>* const calls : {&op.calls, &op.inner}) {
        for (ProgramCall& call : *calls) {
          call.communicator = renamed[call.communicator];
          call.peer += first;
        }
      }
    }
    merged_.groups.push_back(std::move(group));
  }
}

/// The program of a step of replicas of one class alone.
CallProgram program_of_class(const ReplicaClass& replicas, const TrainingSetup& setup,
                             const std::vector<KernelTimes>& kinds, std::int64_t microbatches,
                             Rank per_node) {
  CallProgram program = training_program(setup, kinds.front(), microbatches, per_node);
  for (std::size_t stage = 0; stage < program.groups.size(); ++stage) {
    const std::uint32_t kind = replicas.kinds[stage];
    if (kind == 0) continue;
    CallProgram own = training_program(setup, kinds[kind], microbatches, per_node);
    program.groups[stage].ops = std::move(own.groups[stage].ops);
  }
  return program;
}

/// Seconds in which all replicas do microbatches before those that are scheduled.
double time_before(const std::vector<ReplicaClass>& classes) {
  double before = 0;
  for (const ReplicaClass& each : classes) {
    before = std::max(before,
                      each.of_microbatch * static_cast<double>(each.microbatches - max_scheduled));
  }
  return before;
}

/// The step of a schedule, with what came before it in about the same parts.
StepPrediction step_of(const ProgramSchedule& times, double before) {
  const GroupSchedule& last = times.groups[times.last_group()];
  StepPrediction step;
  step.time = times.time + Seconds{before};
  const double longer = step.time.value / times.time.value;
  step.computes = longer * last.computes;
  step.waits = longer * last.waits;
  step.exposed = last.exposed;
  for (auto& [name, time] : step.exposed) time = longer * time;
  step.continued = before > 0;
  return step;
}

}  // namespace

std::string to_string(const std::vector<ReplicaShare>& shares) {
  std::string text;
  for (const ReplicaShare& each : shares) {
    text += fmt::format("{}{} x {} on {}", text.empty() ? "" : ", ", each.replicas,
                        each.microbatches, each.gpus);
  }
  return text;
}

std::vector<std::vector<std::uint32_t>> StepMachine::kinds_of_replicas(
    const TrainingSetup& setup) const {
  const std::int64_t width = setup.tensor * setup.context;
  const std::int64_t of_stage = width * setup.data;
  std::vector<StageKinds> replicas(static_cast<std::size_t>(setup.data));
  for (std::int64_t replica = 0; replica < setup.data; ++replica) {
    for (std::int64_t stage = 0; stage < setup.pipeline; ++stage) {
      const auto first =
          kind_of_rank_.begin() + static_cast<std::ptrdiff_t>(stage * of_stage + replica * width);
      replicas[static_cast<std::size_t>(replica)].push_back(
          *std::min_element(first, first + static_cast<std::ptrdiff_t>(width)));
    }
  }
  return replicas;
}

StepPrediction StepMachine::predict_by_speed(const TrainingSetup& setup) {
  StepPrediction equal = predict(setup);
  if (kinds_.size() < 2 || faulted_.any || !can_divide(setup)) return equal;
  std::vector<ReplicaClass> classes = classes_of(kinds_of_replicas(setup));
  if (classes.size() < 2) return equal;
  const auto program_of = [&](const ReplicaClass& each, std::int64_t microbatches) {
    return program_of_class(each, setup, kinds_, microbatches, per_node_);
  };
  const std::int64_t turn = setup.pipeline;
  for (ReplicaClass& each : classes) {
    const Seconds more = schedule(program_of(each, (first_turns + 1) * turn)).time -
                         schedule(program_of(each, first_turns * turn)).time;
    each.of_microbatch = std::max(min_of_microbatch, more.value / static_cast<double>(turn));
  }
  const std::int64_t unit = unit_of(setup);
  if (!divide(classes, setup.microbatches() * setup.data, unit)) return equal;
  const double before = time_before(classes);
  ProgramMerger merger(setup);
  for (const ReplicaClass& each : classes) {
    const auto done = static_cast<std::int64_t>(before / each.of_microbatch) / unit * unit;
    merger.add(program_of(each, std::max(unit, each.microbatches - done)), each);
  }
  StepPrediction step = step_of(schedule(merger.take()), before);
  if (step.time >= equal.time) return equal;
  step.equal = equal.time;
  for (const ReplicaClass& each : classes) {
    std::set<std::string> gpus;
    for (const std::uint32_t kind : each.kinds) gpus.insert(kinds_[kind].gpu().gpu);
    step.shares.push_back({fmt::format("{}", fmt::join(gpus, " and ")), std::ssize(each.replicas),
                           each.microbatches});
  }
  complete(step, setup);
  return step;
}

}  // namespace collsim
