#include "tools/collsim/train/step_report.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <ostream>

#include "tools/collsim/core/warnings.h"
#include "tools/collsim/train/step_range.h"

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

void add_step_row(const std::string& machine, const TrainingSetup& setup,
                  const StepPrediction& step, const std::optional<StepPrice>& price, Table& table) {
  NewRow add(table);
  const auto unshown = [&](const char* key, Record value) {
    add({key, key, "", 3, 1, wide_only}, std::move(value));
  };
  const double time = in_milliseconds(step.time);
  unshown("machine", machine);
  unshown("model", setup.model.name);
  unshown("gpus", setup.ranks());
  add({"tp", "tp"}, setup.tensor);
  add({"pp", "pp"}, setup.pipeline);
  add({"dp", "dp"}, setup.data);
  add({"cp", "cp"}, setup.context);
  add({"ep", "ep"}, setup.expert);
  add({"interleave", "v"}, setup.interleave);
  add({"zero", "zero"}, setup.zero);
  add({"micro_batch", "micro"}, setup.micro_batch);
  unshown("microbatches", setup.microbatches());
  unshown("global_batch", setup.global_batch);
  unshown("sequence", setup.tokens_sequence());
  unshown("precision", to_string(setup.precision));
  add({"recompute", "recompute"}, to_string(setup.recompute));
  add({"time_ms", "time", "(ms)", 1}, time);
  unshown("time_low_ms", setup.software.range.low * time);
  unshown("time_high_ms", setup.software.range.high * time);
  unshown("compute_ms", in_milliseconds(step.computes));
  add({"wait_ms", "wait", "(ms)", 1}, in_milliseconds(step.waits));
  for (const char* const name : {"tp", "ep", "pp", "dp", "copies"}) {
    unshown(fmt::format("exposed_{}_ms", name).c_str(), exposed_of(step, name));
  }
  unshown("tokens_per_s", step.tokens_per_second);
  add({"mfu", "mfu", "(%)", 1, percent}, step.utilisation);
  add({"memory_GB", "memory", "(GB)", 1}, step.memory.all() / giga);
  unshown("fits", step.fits);
  unshown("cost_per_million_tokens", price ? Record(token_cost(setup, step, *price)) : Record());
}

Record step_record(const std::string& machine, const TrainingSetup& setup,
                   const StepPrediction& step, const std::optional<StepPrice>& price) {
  Table table;
  add_step_row(machine, setup, step, price, table);
  return std::move(table.rows.front());
}

namespace {

std::string memory_words(const StepMemory& memory) {
  return fmt::format("parameters {:.1f}, gradients {:.1f}, optimizer {:.1f}, activations {:.1f}",
                     memory.parameters / giga, memory.gradients / giga, memory.optimizer / giga,
                     memory.activations / giga);
}

/// Where the time of a step goes.
std::vector<Fact> time_facts(const TrainingSetup& setup, const StepPrediction& step) {
  const StepSoftware& software = setup.software;
  const auto part = [&](std::string name, Seconds time) {
    return Fact{std::move(name), fmt::format("{:>6.1f} %", percent * time.value / step.time.value),
                in_milliseconds(time), "ms"};
  };
  const double time = in_milliseconds(step.time);
  std::vector<Fact> facts{part("step", step.time),
                          {"8 of 10 such steps took", "", software.range.low * time,
                           fmt::format("to {:.1f} ms{}{}", software.range.high * time,
                                       software.name.empty() ? "" : ", by ", software.name)},
                          part("kernels", step.computes)};
  for (const auto& [name, exposed] : step.exposed) {
    facts.push_back(part(fmt::format("exposed {}", name), exposed));
  }
  facts.push_back(part("waits (bubbles)", step.waits));
  return facts;
}

}  // namespace

Fact token_fact(double cost, const StepPrice& price) {
  return {"a million tokens", fmt::format("({} a GPU and hour: {})", price.per_hour, price.source),
          cost, price.currency, 4};
}

std::vector<Note> layout_notes(const std::string& machine, const TrainingSetup& setup) {
  return {fmt::format("{} on {} GPUs of {}: {}", setup.model.name, setup.ranks(), machine,
                      layout_words(setup)),
          fmt::format("{} sequences of {} tokens, {} microbatches of {}; {}, recompute {}",
                      setup.global_batch, setup.tokens_sequence(), setup.microbatches(),
                      setup.micro_batch, to_string(setup.precision), to_string(setup.recompute))};
}

void warn_of_kernels(const StepMachine& machine, std::ostream& err) {
  const GpuKernels& gpu = machine.kernels().gpu();
  if (gpu.measured) return;
  print_warning(
      fmt::format("kernels of {} are by its data sheet: no step on it was measured", gpu.gpu), err);
}

void add_step(const std::string& machine, const TrainingSetup& setup, const StepPrediction& step,
              const std::optional<StepPrice>& price, Answer& answer) {
  answer.head(layout_notes(machine, setup));
  std::vector<Fact> rates{{"tokens a second", "", step.tokens_per_second, "", 0},
                          {"model FLOPs utilisation", "", percent * step.utilisation, "%"},
                          {step.fits ? "memory of a GPU" : "memory of a GPU (too much)",
                           memory_words(step.memory), step.memory.all() / giga, "GB:"}};
  if (price) rates.push_back(token_fact(token_cost(setup, step, *price), *price));
  answer.figures(time_facts(setup, step));
  answer.figures(std::move(rates));
}

std::string division_words(const TrainingSetup& setup, const StepPrediction& step) {
  if (step.shares.empty()) {
    return fmt::format(
        "By speed no replica gets more than {} microbatches: equal parts are as quick.",
        setup.microbatches());
  }
  return fmt::format(
      "Replicas x microbatches by speed: {}; with equal parts ({}) the step takes {:.1f} ms, "
      "{:+.1f} %.",
      to_string(step.shares), setup.microbatches(), in_milliseconds(step.equal),
      percent * (step.equal.value / step.time.value - 1));
}

void add_division(Record& row, const StepPrediction& step) {
  row["equal_time_ms"] = in_milliseconds(step.shares.empty() ? step.time : step.equal);
  row["shares"] = to_string(step.shares);
}

std::vector<Column> columns_of(const Record& row) {
  std::vector<Column> columns;
  for (const auto& [key, value] : row.items()) columns.push_back({key, key, "", 3});
  return columns;
}

Table schedule_table(const CallProgram& program, const ProgramSchedule& schedule) {
  Table table;
  for (std::size_t i = 0; i < program.groups.size(); ++i) {
    const GroupSchedule& times = schedule.groups[i];
    NewRow add(table);
    add({"group", "group"}, program.groups[i].name);
    add({"ranks", "ranks"}, program.groups[i].ranks.size());
    add({"end_us", "end", "(us)", 1}, in_microseconds(times.end));
    add({"compute_us", "kernels", "(us)", 1}, in_microseconds(times.computes));
    add({"wait_us", "wait", "(us)", 1}, in_microseconds(times.waits));
    for (const ProgramCommunicator& each : program.communicators) {
      const auto found = times.exposed.find(each.name);
      add({fmt::format("exposed_{}_us", each.name), fmt::format("exposed {}", each.name), "(us)",
           1},
          found == times.exposed.end() ? 0.0 : in_microseconds(found->second));
    }
  }
  return table;
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
  all["memory_error"] = step.peak > 0
                            ? Record(comparison.predicted.memory.allocated() / step.peak - 1)
                            : Record(nullptr);
  return all;
}

AnswerSection score_section(const PublishedSteps& steps, std::span<const StepScore> scores) {
  Table table;
  for (const StepScore& each : scores) {
    NewRow add(table);
    add({"group", "group"}, each.group);
    add({"rows", "rows"}, each.rows);
    add({"mean", "mean", "(%)", 1, percent}, each.mean_error);
    add({"median", "median", "(%)", 1, percent}, each.median_error);
    add({"bias", "bias", "(%)", 1, percent, 0, 0, true}, each.bias);
    add({"tau", "tau"}, each.tau);
    add({"formula", "formula", "(%)", 1, percent}, each.formula_error);
    add({"formula_tau", "tau"}, each.formula_tau);
  }
  AnswerSection section;
  section.tables.push_back(std::move(table));
  for (const auto& [reason, rows] : steps.left_out) {
    section.after.push_back(labelled("left out", fmt::format("{} ({})", rows, reason)));
  }
  return section;
}

}  // namespace collsim::command
