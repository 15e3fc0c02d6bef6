#include "tools/collsim/replay/replayed_step.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <filesystem>
#include <ostream>
#include <system_error>
#include <utility>

#include "models/imports/machine.h"
#include "models/imports/machine_parts.h"
#include "models/program/call_program_text.h"
#include "models/workload/gpu_kernels.h"
#include "sim/base/input_error.h"
#include "sim/topologies/loader.h"
#include "tools/collsim/core/numbers.h"
#include "tools/collsim/core/output_file.h"
#include "tools/collsim/core/replace_file.h"
#include "tools/collsim/core/variables_option.h"

namespace collsim::command {

namespace po = boost::program_options;

namespace {

constexpr double us_in_ms = 1000;
constexpr double percent = 100;
/// More rows are for programs.
constexpr std::size_t max_replayed_rows = 24;
/// Kernels of a GPU are not so many times as slow as another's.
constexpr double max_kernel_factor = 1000;

double error_of(double replayed, double traced) {
  return traced > 0 ? percent * (replayed - traced) / traced : 0;
}

std::string error_text(double replayed, double traced) {
  return traced > 0 ? fmt::format("{:+.1f}", error_of(replayed, traced)) : std::string("-");
}

Topology replay_machine(const po::variables_map& values) {
  const auto& name = values["topology"].as<std::string>();
  if (!values.contains("nodes")) return load_machine(name).topology;
  const MachineParts parts = load_parts(name);
  return compose(parts, bounded_option(values, "nodes", 1, gpu_limit));
}

double kernel_factor(const po::variables_map& values) {
  if (!values.contains("kernel-time")) return 1;
  const double factor = values["kernel-time"].as<double>();
  if (factor > 0 && factor <= max_kernel_factor) return factor;
  throw InputError(fmt::format("--kernel-time: {:g}", factor),
                   fmt::format("a factor above 0, at most {:g}", max_kernel_factor));
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

void print_steps(const std::vector<StepReplay>& steps, std::ostream& out) {
  fmt::print(out, "{:>6} {:>10} {:>11} {:>8}\n", "# step", "traced ms", "replayed ms", "error %");
  for (const StepReplay& each : steps) {
    fmt::print(out, "{:>6} {:>10.2f} {:>11.2f} {:>8}\n", each.traced.number,
               each.traced.time_us / us_in_ms, each.replayed.time_us / us_in_ms,
               error_text(each.replayed.time_us, each.traced.time_us));
  }
}

void print_replayed_ranks(const StepReplay& step, std::ostream& out) {
  fmt::print(out, "\nstep {}, traced and replayed, in ms:\n", step.traced.number);
  fmt::print(out, "{:>6} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}\n", "# rank", "end", "replayed",
             "kernels", "exposed", "replayed", "waits", "replayed");
  for (const ReplayedRank& rank : step.replayed.ranks) {
    fmt::print(out, "{:>6} {:>9.2f} {:>9.2f} {:>9.2f} {:>9.2f} {:>9.2f} {:>9.2f} {:>9.2f}\n",
               rank.traced.rank, rank.traced.end_us / us_in_ms, rank.end_us / us_in_ms,
               rank.traced.compute_us / us_in_ms, rank.traced.exposed_us / us_in_ms,
               rank.exposed_us / us_in_ms, rank.traced.waited_us / us_in_ms,
               rank.waited_us / us_in_ms);
  }
}

void print_replayed_calls(const StepReplay& step, std::ostream& out) {
  if (step.replayed.classes.empty()) return;
  fmt::print(out, "\n{:<14} {:<20} {:>12} {:>6} {:>6} {:>11} {:>11} {:>8}\n", "# communicator",
             "operation", "bytes", "ranks", "count", "traced us", "replayed us", "error %");
  std::size_t printed = 0;
  for (const ReplayedClass& row : step.replayed.classes) {
    if (++printed > max_replayed_rows) break;
    const TracedCall& call = row.example;
    fmt::print(out, "{:<14} {:<20} {:>12.0f} {:>6} {:>6} {:>11.1f} {:>11.1f} {:>8}\n",
               call.communicator.empty() ? "-" : call.communicator, call.operation, call.bytes,
               call.ranks, row.count, row.traced_us, row.replayed_us,
               error_text(row.replayed_us, row.traced_us));
  }
  if (step.replayed.classes.size() > max_replayed_rows) {
    fmt::print(out, "{} more rows: --format json has them\n",
               step.replayed.classes.size() - max_replayed_rows);
  }
}

void print_assumptions(const StepReplay& step, std::ostream& out) {
  const TracedStep& traced = step.traced;
  if (traced.absent > 0) {
    const std::string who = traced.absent == 1
                                ? std::string("1 rank has no trace, and is")
                                : fmt::format("{} ranks have no trace, and are", traced.absent);
    fmt::print(out, "\n{} taken to be like rank {}\n", who, traced.ranks.front().rank);
  }
  if (traced.kept_calls > 0) {
    fmt::print(out, "\n{} as long as traced: nothing says what is sent to whom\n",
               traced.kept_calls == 1 ? std::string("1 call takes")
                                      : fmt::format("{} calls take", traced.kept_calls));
  }
}

Record replayed_rank_record(const ReplayedRank& rank) {
  return {{"rank", rank.traced.rank},
          {"traced_begin_us", rank.traced.begin_us},
          {"traced_end_us", rank.traced.end_us},
          {"replayed_end_us", rank.end_us},
          {"traced_compute_us", rank.traced.compute_us},
          {"replayed_compute_us", rank.compute_us},
          {"traced_exposed_us", rank.traced.exposed_us},
          {"replayed_exposed_us", rank.exposed_us},
          {"traced_waited_us", rank.traced.waited_us},
          {"replayed_waited_us", rank.waited_us}};
}

Record replayed_class_record(const ReplayedClass& row) {
  return {{"communicator", row.example.communicator},
          {"operation", row.example.operation},
          {"type", row.example.type},
          {"bytes", row.example.bytes},
          {"ranks", row.example.ranks},
          {"count", row.count},
          {"traced_us", row.traced_us},
          {"replayed_us", row.replayed_us}};
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
    scale_kernels(step.traced, kernel_factor(values));
    step.replayed = replay_step(step.traced, costs, sharing);
  } while (!has_step && ++number < of);
  write_program(values, steps.back().traced.program);
  return steps;
}

void print_replay(const std::string& machine, const std::vector<StepReplay>& steps,
                  std::ostream& out) {
  fmt::print(out, "{} ranks on {}\n", ranks_of(steps.front().traced.program), machine);
  print_steps(steps, out);
  print_replayed_ranks(steps.back(), out);
  print_replayed_calls(steps.back(), out);
  print_assumptions(steps.back(), out);
}

Record replay_steps_record(const std::string& machine, const std::vector<StepReplay>& steps) {
  Record record{{"machine", machine}, {"steps", Record::array()}};
  for (const StepReplay& each : steps) {
    Record step{{"step", each.traced.number},
                {"traced_us", each.traced.time_us},
                {"replayed_us", each.replayed.time_us},
                {"error", error_of(each.replayed.time_us, each.traced.time_us) / percent},
                {"absent_ranks", each.traced.absent},
                {"kept_calls", each.traced.kept_calls},
                {"ranks", Record::array()},
                {"calls", Record::array()}};
    for (const ReplayedRank& rank : each.replayed.ranks) {
      step["ranks"].push_back(replayed_rank_record(rank));
    }
    for (const ReplayedClass& row : each.replayed.classes) {
      step["calls"].push_back(replayed_class_record(row));
    }
    record["steps"].push_back(std::move(step));
  }
  return record;
}

}  // namespace collsim::command
