#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <utility>

#include "sim/base/input_error.h"
#include "sim/base/text_encoding.h"
#include "sim/base/text_file.h"
#include "tools/collsim/core/numbers.h"
#include "tools/collsim/core/options.h"
#include "tools/collsim/report/answer.h"
#include "tools/collsim/traces/trace_summary.h"
#include "tools/collsim/train/step_explanation.h"
#include "tools/collsim/train/step_log.h"
#include "tools/collsim/train/step_options.h"
#include "tools/collsim/train/step_report.h"

namespace collsim::command {

namespace po = boost::program_options;

namespace {

constexpr double milliseconds = 1e3;
/// Causes that are less likely are left to programs.
constexpr double min_shown = 0.01;

/// What a person has of a measured step: its time, a job's log, or traces of its ranks.
struct Measurement {
  std::string name{};
  std::optional<Seconds> time{};
  std::optional<StepLog> log{};
  std::vector<RankTrace> traces{};
};

/// Reads a job's log. Half a million lines of Megatron's are 256 MiB, which takes three times as
/// much memory.
TextFile read_log(const std::string& path) {
  constexpr std::uintmax_t size_of_texts = 8U << 20U;
  constexpr std::uintmax_t max_size = 256U << 20U;
  std::error_code none;  // a pipe has no size
  const std::uintmax_t size = std::filesystem::file_size(path, none);
  if (none || size <= size_of_texts || size > max_size) {
    return read_text_file(path, "a time, such as 4.2s, or a log");
  }
  std::ifstream file(path, std::ios::binary);
  std::string content{std::istreambuf_iterator<char>(file), {}};
  return {path, utf8_text(std::move(content), SourcePosition{path})};
}

Measurement read_measurement(const std::vector<std::string>& what) {
  Measurement measurement{std::filesystem::path(what.front()).filename()};
  for (const std::string& text : what) {
    if (!std::filesystem::exists(text) && what.size() == 1) {
      measurement.time = quantity_above_0("measured", text, parse_time);
    } else if (is_job_trace(text)) {
      measurement.traces.push_back(read_job_trace(text));
    } else if (what.size() == 1) {
      measurement.log = read_step_log(read_log(text));
    } else {
      throw InputError(fmt::format("--measured: '{}'", text),
                       "a time, such as 4.2s, one log, or traces of several ranks");
    }
  }
  sort_by_rank(measurement.traces);
  return measurement;
}

/// The arguments, with options of the layout that only the log says.
std::vector<std::string> with_layout(const Measurement& measurement,
                                     std::span<const std::string> args) {
  std::vector<std::string> all(args.begin(), args.end());
  if (!measurement.log) return all;
  for (const auto& [option, value] : measurement.log->layout) {
    if (!says(args, option)) all.insert(all.end(), {option, value});
  }
  return all;
}

/// The layout's communicator that has as many ranks, as far apart; else the trace's own name.
std::string name_in_layout(const RankTrace& trace, const TracedCall& call,
                           const TrainingSetup& setup) {
  const auto found = trace.communicators.find(call.communicator);
  const bool named = found != trace.communicators.end() && found->second.size() > 1;
  const std::int64_t stride = named ? found->second[1] - found->second[0] : 0;
  const std::int64_t replicas = setup.data * setup.context;
  const auto is = [&](std::int64_t ranks, std::int64_t apart) {
    return ranks > 1 && call.ranks == ranks && (!named || stride == apart);
  };
  if (!call.messages.empty() && setup.pipeline > 1) return "exposed pp";
  if (is(setup.tensor, 1)) return "exposed tp";
  return "exposed " + (is(replicas, setup.tensor) ? "dp" : call.communicator);
}

/// The measured step, and in words what was measured.
std::pair<StepParts, std::string> measured_step(const Measurement& measurement,
                                                const TrainingSetup& setup) {
  if (measurement.time) return {{{"step", *measurement.time}}, "as given"};
  if (!measurement.log) {
    const auto name_of = [&](const RankTrace& trace, const TracedCall& call) {
      return name_in_layout(trace, call, setup);
    };
    const bool marked = !measurement.traces.front().steps.empty();
    return {parts_of_traces(measurement.traces, name_of),
            fmt::format("{}{}{}", measurement.name,
                        measurement.traces.size() > 1 ? " and the other ranks" : "",
                        marked ? "" : ", all of which counts as a step: it marks none")};
  }
  const std::vector<Seconds> times = step_times(*measurement.log, setup);
  const auto at = [&](std::size_t tenths) {
    return milliseconds * times[tenths * (times.size() - 1) / 10].value;
  };
  std::string words = fmt::format("{} ({})", measurement.name, measurement.log->software);
  if (times.size() > 1) {
    words +=
        fmt::format(", {} lines, 8 of 10 from {:.1f} to {:.1f} ms", times.size(), at(1), at(9));
  }
  return {{{"step", Seconds{at(5) / milliseconds}}}, words};
}

Table cause_table(const std::vector<StepCause>& causes) {
  Table table;
  for (const StepCause& cause : causes) {
    const auto known = [](const std::string& text) {
      return text.empty() ? Record() : Record(text);
    };
    NewRow add(table);
    add({"probability", "likely", "(%)", 0, 100}, cause.probability);
    add({"cause", "what explains the step"}, cause.text);
    add({"options", "asked by"}, known(cause.options));
    const auto time = [&](auto&& is_counted) {
      Seconds sum;
      for (const auto& [name, part] : cause.parts) {
        if (is_counted(name)) sum += part;
      }
      return cause.parts.empty() ? Record() : Record(milliseconds * sum.value);
    };
    add({"step_ms", "step", "(ms)", 0}, time([](const auto&) { return true; }));
    add({"kernels_ms", "kernels", "(ms)", 0, 1, wide_only},
        time([](const auto& name) { return name == "kernels"; }));
    add({"exposed_ms", "exposed", "(ms)", 0, 1, wide_only},
        time([](const auto& name) { return name.starts_with("exposed"); }));
    add.data("check", known(cause.check));
  }
  return table;
}

/// What to look at for the likeliest causes.
std::vector<Note> checks_of(const std::vector<StepCause>& causes) {
  constexpr std::size_t checked = 3;
  std::vector<Note> notes;
  for (const StepCause& cause : causes) {
    if (cause.check.empty() || cause.probability < min_shown) continue;
    if (notes.size() < checked) notes.push_back(item(cause.text + ": " + cause.check));
  }
  return notes;
}

}  // namespace

int explain_step(const po::variables_map& values, std::span<const std::string> args,
                 std::ostream& out, std::ostream& err) {
  const Measurement measurement =
      read_measurement(values["measured"].as<std::vector<std::string>>());
  const std::vector<std::string> all = with_layout(measurement, args);
  const po::variables_map told = parse_step(all);
  const auto& name = told["subject"].as<std::string>();
  const PlacedMachine placed = machine_of_step(told, name);
  StepMachine machine(calls_of_step(told, placed), kernels_of_step(told));
  warn_of_kernels(machine, err);
  const TrainingSetup setup = read_setup(told, machine.gpus());
  require_layout_options(told, setup);
  require_heeded(told, {{"bucket", told["bucket"].as<std::string>() != "auto", "a size"}});
  const auto [measured, words] = measured_step(measurement, setup);
  const StepParts predicted = parts_of(machine.predict(setup, read_straggler(told, machine.gpus())),
                                       setup, machine.kernels());
  const StepRange range = setup.software.range;
  const double ratio = time_of(measured).value / time_of(predicted).value;
  const bool is_slow = ratio > range.high;
  const char* const verdict = is_slow ? "slow" : ratio < range.low ? "fast" : "as expected";
  const std::vector<StepCause> causes = weigh_causes(measured, all, predicted, range);

  Answer answer{fmt::format("A measured step of {} on {}", setup.model.name, name),
                command_text("train", args)};
  add_ranges_and_version(answer);
  answer.head(
      {labelled("verdict", fmt::format("{}: {:.2f} times as long as predicted; 8 of 10 such steps "
                                       "took {:g} to {:g} times as long",
                                       verdict, ratio, range.low, range.high))});
  answer.head(layout_notes(name, setup));
  answer.head({labelled("measured", words)});
  if (all.size() > args.size()) {
    answer.head({labelled("by the log", fmt::format("{}", fmt::join(all.begin() + std::ssize(args),
                                                                    all.end(), " ")))});
  }
  std::vector<Table> tables{part_table(predicted, measured, "predicted", "measured"),
                            cause_table(causes)};
  answer.document = {{"verdict", verdict},      {"ratio", ratio},
                     {"range_low", range.low},  {"range_high", range.high},
                     {"parts", tables[0].rows}, {"causes", tables[1].rows}};
  answer.rows = tables[1].rows;
  std::erase_if(tables[1].rows, [](const Record& row) { return row["probability"] < min_shown; });
  for (Table& table : tables) {
    answer.sections.push_back({.tables = {std::move(table)}, .apart = true});
  }
  answer.sections.push_back({.notes = checks_of(causes), .apart = true});
  write_answer(format_option(told), answer, out);
  return is_slow ? exit_answer_is_no : exit_ok;
}

}  // namespace collsim::command
