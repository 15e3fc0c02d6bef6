#include "tools/collsim/train/step_report.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <ostream>

#include "models/workload/step_range.h"

namespace collsim::command {

namespace {

constexpr double milli = 1e-3;
constexpr double giga = 1e9;
constexpr double mega = 1e6;
constexpr double seconds_per_hour = 3600;
constexpr double percent = 100;

double in_milliseconds(Seconds time) {
  return time.value / milli;
}

double exposed_of(const StepPrediction& step, const char* name) {
  const auto found = step.exposed.find(name);
  return found == step.exposed.end() ? 0 : in_milliseconds(found->second);
}

/// Currency for a million tokens.
double token_cost(const TrainingSetup& setup, const StepPrediction& step, const StepPrice& price) {
  return price.per_hour * static_cast<double>(setup.ranks()) / seconds_per_hour * mega /
         step.tokens_per_second;
}

/// "tp 8, pp 4, dp 2, interleaved 2, ZeRO 1".
std::string layout_words(const TrainingSetup& setup) {
  std::string words = fmt::format("tp {}, pp {}, dp {}", setup.tensor, setup.pipeline, setup.data);
  const auto add = [&](const char* name, std::int64_t value, std::int64_t usual) {
    if (value != usual) words += fmt::format(", {} {}", name, value);
  };
  add("cp", setup.context, 1);
  add("ep", setup.expert, 1);
  add("interleaved", setup.interleave, 1);
  add("ZeRO", setup.zero, 0);
  return words;
}

}  // namespace

Record step_record(const std::string& machine, const TrainingSetup& setup,
                   const StepPrediction& step, const std::optional<StepPrice>& price) {
  Record row;
  row["machine"] = machine;
  row["model"] = setup.model.name;
  row["gpus"] = setup.ranks();
  row["tp"] = setup.tensor;
  row["pp"] = setup.pipeline;
  row["dp"] = setup.data;
  row["cp"] = setup.context;
  row["ep"] = setup.expert;
  row["interleave"] = setup.interleave;
  row["zero"] = setup.zero;
  row["micro_batch"] = setup.micro_batch;
  row["microbatches"] = setup.microbatches();
  row["global_batch"] = setup.global_batch;
  row["sequence"] = setup.tokens_sequence();
  row["precision"] = to_string(setup.precision);
  row["recompute"] = to_string(setup.recompute);
  row["time_ms"] = in_milliseconds(step.time);
  row["time_low_ms"] = training_range.low * in_milliseconds(step.time);
  row["time_high_ms"] = training_range.high * in_milliseconds(step.time);
  row["compute_ms"] = in_milliseconds(step.computes);
  row["wait_ms"] = in_milliseconds(step.waits);
  for (const char* const name : {"tp", "ep", "pp", "dp", "copies"}) {
    row[fmt::format("exposed_{}_ms", name)] = exposed_of(step, name);
  }
  row["tokens_per_s"] = step.tokens_per_second;
  row["mfu"] = step.utilisation;
  row["memory_GB"] = step.memory.all() / giga;
  row["fits"] = step.fits;
  row["cost_per_million_tokens"] =
      price ? Record(token_cost(setup, step, *price)) : Record(nullptr);
  return row;
}

void print_step(const std::string& machine, const TrainingSetup& setup, const StepPrediction& step,
                const std::optional<StepPrice>& price, std::ostream& out) {
  fmt::print(out, "{} on {} GPUs of {}: {}\n", setup.model.name, setup.ranks(), machine,
             layout_words(setup));
  fmt::print(out, "{} sequences of {} tokens, {} microbatches of {}; {}, recompute {}\n\n",
             setup.global_batch, setup.tokens_sequence(), setup.microbatches(), setup.micro_batch,
             to_string(setup.precision), to_string(setup.recompute));
  const double all = step.time.value;
  const auto line = [&](const std::string& name, Seconds time) {
    fmt::print(out, "  {:<28}{:>12.1f} ms {:>6.1f} %\n", name, in_milliseconds(time),
               percent * time.value / all);
  };
  line("step", step.time);
  fmt::print(out, "  {:<28}{:>12.1f} to {:.1f} ms\n", "8 of 10 such steps took",
             training_range.low * in_milliseconds(step.time),
             training_range.high * in_milliseconds(step.time));
  line("kernels", step.computes);
  for (const auto& [name, time] : step.exposed) line(fmt::format("exposed {}", name), time);
  line("waits (bubbles)", step.waits);
  fmt::print(out, "\n  {:<28}{:>12.0f}\n", "tokens a second", step.tokens_per_second);
  fmt::print(out, "  {:<28}{:>12.1f} %\n", "model FLOPs utilisation", percent * step.utilisation);
  const StepMemory& memory = step.memory;
  fmt::print(out,
             "  {:<28}{:>12.1f} GB: parameters {:.1f}, gradients {:.1f}, optimizer {:.1f}, "
             "activations {:.1f}\n",
             step.fits ? "memory of a GPU" : "memory of a GPU (too much)", memory.all() / giga,
             memory.parameters / giga, memory.gradients / giga, memory.optimizer / giga,
             memory.activations / giga);
  if (price) {
    fmt::print(out, "  {:<28}{:>12.4f} {} ({} a GPU and hour: {})\n", "a million tokens",
               token_cost(setup, step, *price), price->currency, price->per_hour, price->source);
  }
}

void print_division(const TrainingSetup& setup, const StepPrediction& step, std::ostream& out) {
  if (step.shares.empty()) {
    fmt::print(out,
               "\nBy speed no replica gets more than {} microbatches: equal "
               "parts are as quick.\n",
               setup.microbatches());
    return;
  }
  fmt::print(out,
             "\nReplicas x microbatches by speed: {}; with equal parts ({}) "
             "the step takes {:.1f} "
             "ms, {:+.1f} %.\n",
             to_string(step.shares), setup.microbatches(), in_milliseconds(step.equal),
             percent * (step.equal.value / step.time.value - 1));
}

void add_division(Record& row, const StepPrediction& step) {
  row["equal_time_ms"] = in_milliseconds(step.shares.empty() ? step.time : step.equal);
  row["shares"] = to_string(step.shares);
}

void print_layouts(std::span<const FoundLayout> layouts, std::ostream& out) {
  const auto any = [&](auto&& has) { return std::any_of(layouts.begin(), layouts.end(), has); };
  const bool by_context = any([](const FoundLayout& each) { return each.setup.context > 1; });
  const bool by_expert = any([](const FoundLayout& each) { return each.setup.expert > 1; });
  fmt::print(out, "#{:>4}{:>5}{:>6}{}{}{:>5}{:>6}{:>6}{:>11}{:>13}{:>8}{:>10}{:>9}\n", "tp", "pp",
             "dp", by_context ? "   cp" : "", by_expert ? "   ep" : "", "v", "zero", "micro",
             "recompute", "time (ms)", "mfu %", "wait (ms)", "mem (GB)");
  for (const FoundLayout& each : layouts) {
    const TrainingSetup& setup = each.setup;
    fmt::print(out, " {:>4}{:>5}{:>6}", setup.tensor, setup.pipeline, setup.data);
    if (by_context) fmt::print(out, "{:>5}", setup.context);
    if (by_expert) fmt::print(out, "{:>5}", setup.expert);
    fmt::print(out, "{:>5}{:>6}{:>6}{:>11}{:>13.1f}{:>8.1f}{:>10.1f}{:>9.1f}\n", setup.interleave,
               setup.zero, setup.micro_batch, to_string(setup.recompute),
               in_milliseconds(each.step.time), percent * each.step.utilisation,
               in_milliseconds(each.step.waits), each.step.memory.all() / giga);
  }
}

Record group_record(const CallProgram& program, const ProgramSchedule& schedule,
                    std::size_t group) {
  const GroupSchedule& times = schedule.groups[group];
  Record row;
  row["group"] = program.groups[group].name;
  row["ranks"] = program.groups[group].ranks.size();
  row["end_us"] = in_microseconds(times.end);
  row["compute_us"] = in_microseconds(times.computes);
  row["wait_us"] = in_microseconds(times.waits);
  for (const ProgramCommunicator& each : program.communicators) {
    const auto found = times.exposed.find(each.name);
    row[fmt::format("exposed_{}_us", each.name)] =
        found == times.exposed.end() ? 0.0 : in_microseconds(found->second);
  }
  return row;
}

void print_schedule(const CallProgram& program, const ProgramSchedule& schedule,
                    std::ostream& out) {
  fmt::print(out, "{:<14}{:>7}{:>13}{:>14}{:>12}  exposed (us)\n", "# group", "ranks", "end (us)",
             "kernels (us)", "wait (us)");
  for (std::size_t i = 0; i < program.groups.size(); ++i) {
    const GroupSchedule& times = schedule.groups[i];
    std::string exposed;
    for (const auto& [name, time] : times.exposed) {
      exposed +=
          fmt::format("{}{} {:.1f}", exposed.empty() ? "" : ", ", name, in_microseconds(time));
    }
    fmt::print(out, "{:<14}{:>7}{:>13.1f}{:>14.1f}{:>12.1f}  {}\n", program.groups[i].name,
               program.groups[i].ranks.size(), in_microseconds(times.end),
               in_microseconds(times.computes), in_microseconds(times.waits),
               exposed.empty() ? "-" : exposed);
  }
  fmt::print(out, "\nall: {:.1f} us\n", in_microseconds(schedule.time));
}

namespace {

/// Columns of a timeline.
constexpr std::size_t timeline_width = 72;

/// The line of one stream, or nothing where it does nothing.
std::string stream_line(const RankGroup& group, const GroupSchedule& times, std::uint32_t stream,
                        Seconds all) {
  std::string line(timeline_width, '.');
  std::vector<double> most(timeline_width, 0);
  const double column = all.value / static_cast<double>(timeline_width);
  bool any = false;
  const auto draw = [&](double begin, double end, char letter) {
    const auto first = static_cast<std::size_t>(std::max(0.0, begin / column));
    for (std::size_t i = first; i < timeline_width; ++i) {
      const double from = static_cast<double>(i) * column;
      const double share = std::min(end, from + column) - std::max(begin, from);
      if (from > end) break;
      if (share > most[i]) {
        most[i] = share;
        line[i] = letter;
      }
    }
  };
  for (std::size_t i = 0; i < group.ops.size(); ++i) {
    const ProgramOp& op = group.ops[i];
    if (op.stream != stream) continue;
    any = true;
    const char letter = op.name.empty() ? (op.computes() ? 'k' : 'c') : op.name.front();
    const auto upper = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
    const auto lower = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
    const OpTime& time = times.ops[i];
    if (!op.computes()) draw(time.begin.value, time.moves.value, lower);
    draw(time.moves.value, time.end.value, op.computes() ? letter : upper);
  }
  return any ? line : std::string();
}

}  // namespace

void print_timeline(const CallProgram& program, const ProgramSchedule& schedule,
                    std::ostream& out) {
  fmt::print(out, "\na column is {}\n",
             to_string(Seconds{schedule.time.value / static_cast<double>(timeline_width)}));
  for (std::size_t i = 0; i < program.groups.size(); ++i) {
    const RankGroup& group = program.groups[i];
    for (std::uint32_t stream = 0; stream < group.streams.size(); ++stream) {
      const std::string line = stream_line(group, schedule.groups[i], stream, schedule.time);
      if (line.empty()) continue;
      fmt::print(out, "{:<24}|{}|\n", fmt::format("{} {}", group.name, group.streams[stream]),
                 line);
    }
  }
}

Record comparison_record(const StepComparison& comparison) {
  const PublishedStep& step = *comparison.step;
  Record row = step_record(step.network.empty() ? step.machine : step.network, step.setup,
                           comparison.predicted, std::nullopt);
  Record all;
  all["id"] = step.id;
  all["group"] = step.group;
  all["gpu"] = step.gpu;
  all["measured_ms"] = in_milliseconds(step.measured);
  all["error"] = comparison.error();
  all["formula_ms"] =
      comparison.formula.value > 0 ? Record(in_milliseconds(comparison.formula)) : Record(nullptr);
  all.update(row);
  return all;
}

void print_scores(const PublishedSteps& steps, std::span<const StepScore> scores,
                  std::ostream& out) {
  fmt::print(out, "{:<18}{:>6}{:>9}{:>9}{:>9}{:>7}   {:>9}{:>7}\n", "# group", "rows", "mean %",
             "median %", "bias %", "tau", "formula %", "tau");
  for (const StepScore& each : scores) {
    fmt::print(out, "{:<18}{:>6}{:>9.1f}{:>9.1f}{:>+9.1f}{:>7.2f}   {:>9.1f}{:>7.2f}\n", each.group,
               each.rows, percent * each.mean_error, percent * each.median_error,
               percent * each.bias, each.tau, percent * each.formula_error, each.formula_tau);
  }
  for (const auto& [reason, rows] : steps.left_out) {
    fmt::print(out, "left out: {} ({})\n", rows, reason);
  }
}

}  // namespace collsim::command
