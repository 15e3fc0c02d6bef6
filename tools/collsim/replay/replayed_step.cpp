#include "tools/collsim/replay/replayed_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "models/imports/machine.h"
#include "models/imports/machine_parts.h"
#include "models/program/call_program_text.h"
#include "sim/base/input_error.h"
#include "sim/topologies/loader.h"
#include "tools/collsim/core/numbers.h"
#include "tools/collsim/core/output_file.h"
#include "tools/collsim/core/replace_file.h"
#include "tools/collsim/core/variables_option.h"
#include "tools/collsim/train/gpu_kernels.h"
#include "tools/collsim/train/step_options.h"

namespace collsim::command {

namespace po = boost::program_options;

namespace {

constexpr double us_in_ms = 1000;
constexpr double percent = 100;
/// More rows are for programs.
constexpr std::size_t max_replayed_rows = 24;
/// Kernels of a GPU are not so many times as slow as another's.

/// In percent; null without a traced time.
Record error_of(double replayed, double traced) {
  return traced > 0 ? Record(percent * (replayed - traced) / traced) : Record();
}

Topology replay_machine(const po::variables_map& values) {
  const auto& name = values["topology"].as<std::string>();
  if (!values.contains("nodes")) return load_machine(name).topology;
  const MachineParts parts = load_parts(name);
  return compose(parts, bounded_option(values, "nodes", 1, gpu_limit));
}

/// Kernels take so many times as long; calls that stay as traced do not.
void scale_kernels(TracedStep& step, double factor) {
  for (std::size_t group = 0; group < step.calls.size(); ++group) {
    for (std::size_t op = 0; op < step.calls[group].size(); ++op) {
      if (step.calls[group][op] >= 0) continue;
      ProgramOp& kernel = step.program.groups[group].ops[op];
      kernel.compute = factor * kernel.compute;
    }
  }
}

void write_program(const po::variables_map& values, const CallProgram& program) {
  if (!values.contains("write")) return;
  replace_file(values["write"].as<OutputFile>().name, call_program_text(program));
}

/// A time that people read in milliseconds.
Column milliseconds(const char* key, const char* title) {
  return {key, title, "(ms)", 2, 1 / us_in_ms};
}

const Column error_column{"error_percent", "error", "(%)", 1, 1, 0, 0, true};

Table step_table(const std::vector<StepReplay>& steps) {
  Table table;
  for (const StepReplay& each : steps) {
    NewRow add(table);
    add({"step", "step"}, each.traced.number);
    add(milliseconds("traced_us", "traced"), each.traced.time_us);
    add(milliseconds("replayed_us", "replayed"), each.replayed.time_us);
    add(error_column, error_of(each.replayed.time_us, each.traced.time_us));
  }
  return table;
}

Table rank_table(const StepReplay& step) {
  Table table;
  for (const ReplayedRank& rank : step.replayed.ranks) {
    NewRow add(table);
    add({"rank", "rank"}, rank.traced.rank);
    add.data("traced_begin_us", rank.traced.begin_us);
    add(milliseconds("traced_end_us", "end"), rank.traced.end_us);
    add(milliseconds("replayed_end_us", "replayed"), rank.end_us);
    add(milliseconds("traced_compute_us", "kernels"), rank.traced.compute_us);
    add.data("replayed_compute_us", rank.compute_us);
    add(milliseconds("traced_exposed_us", "exposed"), rank.traced.exposed_us);
    add(milliseconds("replayed_exposed_us", "replayed"), rank.exposed_us);
    add(milliseconds("traced_waited_us", "waits"), rank.traced.waited_us);
    add(milliseconds("replayed_waited_us", "replayed"), rank.waited_us);
  }
  return table;
}

Table call_table(const StepReplay& step) {
  Table table;
  table.max_rows = max_replayed_rows;
  for (const ReplayedClass& row : step.replayed.classes) {
    NewRow add(table);
    add({"communicator", "communicator"}, row.example.communicator);
    add({"operation", "operation"}, row.example.operation);
    add.data("type", row.example.type);
    add({"bytes", "bytes", "", 0}, row.example.bytes);
    add({"ranks", "ranks"}, row.example.ranks);
    add({"count", "count"}, row.count);
    add({"traced_us", "traced", "(us)", 1}, row.traced_us);
    add({"replayed_us", "replayed", "(us)", 1}, row.replayed_us);
    table.rows.back()["error_percent"] = error_of(row.replayed_us, row.traced_us);
  }
  table.columns.push_back(error_column);
  return table;
}

std::vector<Note> assumptions_of(const TracedStep& traced) {
  std::vector<Note> notes;
  if (traced.absent > 0) {
    const std::string who = traced.absent == 1
                                ? std::string("1 rank has no trace, and is")
                                : fmt::format("{} ranks have no trace, and are", traced.absent);
    notes.emplace_back(fmt::format("{} taken to be like rank {}", who, traced.ranks.front().rank));
  }
  if (traced.kept_calls > 0) {
    notes.emplace_back(fmt::format("{} as long as traced: nothing says what is sent to whom",
                                   traced.kept_calls == 1
                                       ? std::string("1 call takes")
                                       : fmt::format("{} calls take", traced.kept_calls)));
  }
  return notes;
}

Record document_of(const std::string& machine, const std::vector<StepReplay>& steps) {
  Record record{{"machine", machine}, {"steps", Record::array()}};
  for (const StepReplay& each : steps) {
    const Record error = error_of(each.replayed.time_us, each.traced.time_us);
    std::vector<Record> calls = call_table(each).rows;
    for (Record& call : calls) call.erase("error_percent");
    record["steps"].push_back({{"step", each.traced.number},
                               {"traced_us", each.traced.time_us},
                               {"replayed_us", each.replayed.time_us},
                               {"error", error.is_null() ? 0.0 : error.get<double>() / percent},
                               {"absent_ranks", each.traced.absent},
                               {"kept_calls", each.traced.kept_calls},
                               {"ranks", rank_table(each).rows},
                               {"calls", std::move(calls)}});
  }
  return record;
}

/// As in steps; on GPUs that the table does not have, calls take no multiprocessors.
GpuSharing sharing_on(const Topology& topology) {
  const KernelTable table = load_kernel_table();
  const std::string_view model = topology.device(topology.gpus().front()).model;
  const bool known = std::any_of(table.gpus.begin(), table.gpus.end(), [&](const GpuKernels& each) {
    return model.find(each.gpu) != std::string_view::npos;
  });
  if (known) return find_kernels(table, model).sharing();
  return {.multiprocessors = 0,
          .calls_beside_kernels = table.constants.calls_beside_kernels,
          .calls_wait_for_kernels = true};
}

}  // namespace

std::vector<StepReplay> replay_steps(const po::variables_map& values,
                                     const std::vector<RankTrace>& traces) {
  const Topology topology = replay_machine(values);
  MachineCalls calls;
  calls.topology = &topology;
  const auto all = topology.gpus();
  calls.gpus.assign(all.begin(), all.end());
  calls.simulate = values["simulate"].as<bool>();
  calls.run.variables = variables_option(values);
  const std::size_t gpus = calls.gpus.size();
  MachineCallCosts costs(std::move(calls));
  const GpuSharing sharing = sharing_on(topology);
  std::vector<StepReplay> steps;
  const bool has_step = values.contains("step");
  std::size_t number =
      has_step ? static_cast<std::size_t>(bounded_option(values, "step", 0, 1U << 30U)) : 0;
  std::size_t of = 1;
  do {
    StepReplay& step = steps.emplace_back();
    step.traced = program_of_step(traces, number);
    of = step.traced.of;
    const Rank ranks = ranks_of(step.traced.program);
    if (ranks > gpus) {
      throw InputError(fmt::format("a job of {} ranks on {} GPUs", ranks, gpus),
                       "a machine with a GPU for each rank: --nodes");
    }
    scale_kernels(step.traced, factor_option(values, "kernel-time"));
    step.replayed = replay_step(step.traced, costs, sharing);
  } while (!has_step && ++number < of);
  write_program(values, steps.back().traced.program);
  return steps;
}

Answer replay_answer(const std::string& machine, const std::vector<StepReplay>& steps) {
  const StepReplay& last = steps.back();
  Answer answer;
  answer.document = document_of(machine, steps);
  answer.sections = {
      {"",
       {},
       {fmt::format("{} ranks on {}", ranks_of(steps.front().traced.program), machine)},
       {step_table(steps)}},
      {fmt::format("step {}, traced and replayed", last.traced.number), {}, {}, {rank_table(last)}},
      {"", {}, {}, {call_table(last)}},
      {"", {}, assumptions_of(last.traced)}};
  answer.sections[2].apart = true;
  answer.sections[3].apart = true;
  return answer;
}

}  // namespace collsim::command
