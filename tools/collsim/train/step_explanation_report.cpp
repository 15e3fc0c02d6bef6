#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ostream>
#include <set>
#include <utility>

#include "sim/base/input_error.h"
#include "tools/collsim/core/options.h"
#include "tools/collsim/report/answer.h"
#include "tools/collsim/train/step_explanation.h"
#include "tools/collsim/train/step_measurement.h"
#include "tools/collsim/train/step_options.h"
#include "tools/collsim/train/step_report.h"

namespace collsim::command {

namespace po = boost::program_options;

namespace {

constexpr double milliseconds = 1e3;
constexpr double in_percent = 100;
/// Causes that are less likely are left to programs.
constexpr double least_shown = 0.01;

/// Where a measured step lies beside its prediction and the range of that.
std::string verdict_of(double ratio, const StepRange& range) {
  if (ratio > range.high) return "slow";
  return ratio < range.low ? "fast" : "as expected";
}

std::string verdict_words(double ratio, const StepRange& range) {
  return fmt::format(
      "{}: the step takes {:.2f} times as long as predicted; 8 of 10 such steps took {:g} to {:g} "
      "times as long",
      verdict_of(ratio, range), ratio, range.low, range.high);
}

void add_part(const std::string& name, Seconds predicted, const Record& measured, Table& table) {
  NewRow add(table);
  add({"part", "part"}, name);
  add({"predicted_ms", "predicted", "(ms)", 1}, milliseconds * predicted.value);
  add({"measured_ms", "measured", "(ms)", 1}, measured);
}

/// The measured step beside the predicted one, part by part.
Table part_table(const MeasuredStep& measured, const StepParts& predicted) {
  Table table;
  const auto had = [&](Seconds time) {
    return measured.has_parts ? Record(milliseconds * time.value) : Record();
  };
  add_part("step", predicted.time, milliseconds * measured.parts.time.value, table);
  add_part("kernels", predicted.kernels, had(measured.parts.kernels), table);
  std::set<std::string> names;
  for (const auto* const parts : {&predicted, &measured.parts}) {
    for (const auto& [name, time] : parts->exposed) names.insert(name);
  }
  const auto of = [](const StepParts& parts, const std::string& name) {
    const auto found = parts.exposed.find(name);
    return found == parts.exposed.end() ? Seconds{} : found->second;
  };
  for (const std::string& name : names) {
    add_part(fmt::format("exposed {}", name), of(predicted, name), had(of(measured.parts, name)),
             table);
  }
  add_part("waits (bubbles, the host)", predicted.waits + predicted.host,
           had(measured.parts.waits + measured.parts.host), table);
  return table;
}

Table cause_table(const std::vector<StepCause>& causes) {
  Table table;
  for (const StepCause& cause : causes) {
    const auto time = [&](Seconds of) {
      return cause.parts.time.value > 0 ? Record(milliseconds * of.value) : Record();
    };
    NewRow add(table);
    add({"probability", "odds", "(%)", 0, in_percent}, cause.probability);
    add({"cause", "what explains it"}, cause.text);
    add({"options", "asked by"}, cause.options.empty() ? Record() : Record(cause.options));
    add({"step_ms", "step", "(ms)", 0}, time(cause.parts.time));
    add({"kernels_ms", "kernels", "(ms)", 0}, time(cause.parts.kernels));
    add({"exposed_ms", "exposed", "(ms)", 0}, time(cause.parts.all_exposed()));
    add({"waits_ms", "waits", "(ms)", 0}, time(cause.parts.waits + cause.parts.host));
    add.data("check", cause.check.empty() ? Record() : Record(cause.check));
  }
  return table;
}

/// What to look at for the likeliest causes.
std::vector<Note> checks_of(const std::vector<StepCause>& causes) {
  constexpr std::size_t checked = 3;
  std::vector<Note> notes;
  for (const StepCause& cause : causes) {
    if (cause.check.empty() || cause.probability < least_shown) continue;
    if (notes.size() < checked) notes.push_back(item(cause.text + ": " + cause.check));
  }
  return notes;
}

/// The part by which a trace would tell the two likeliest causes apart.
std::string what_tells(const std::vector<StepCause>& causes) {
  std::vector<const StepCause*> known;
  for (const StepCause& cause : causes) {
    if (!cause.options.empty() && cause.probability >= least_shown) known.push_back(&cause);
  }
  if (known.size() < 2) return {};
  const StepParts& one = known[0]->parts;
  const StepParts& other = known[1]->parts;
  const std::vector<std::tuple<const char*, Seconds, Seconds>> parts{
      {"kernels", one.kernels, other.kernels},
      {"exposed calls", one.all_exposed(), other.all_exposed()},
      {"waits", one.waits + one.host, other.waits + other.host}};
  const auto& [name, first, second] =
      *std::max_element(parts.begin(), parts.end(), [](const auto& a, const auto& b) {
        return std::abs((std::get<1>(a) - std::get<2>(a)).value) <
               std::abs((std::get<1>(b) - std::get<2>(b)).value);
      });
  if (std::abs((first - second).value) < 0.05 * one.time.value) {
    return "The first two are alike in all parts of a step: a trace does not tell them apart.";
  }
  return fmt::format(
      "A trace tells the first two apart: {} take {:.0f} ms of a step by the first, {:.0f} ms by "
      "the second.",
      name, milliseconds * first.value, milliseconds * second.value);
}

std::string source_words(const MeasuredStep& measured) {
  if (measured.steps < 2) return measured.source;
  std::string words = fmt::format("{}, {} steps", measured.source, measured.steps);
  if (measured.high > Seconds{}) {
    words += fmt::format(", 8 of 10 {:.1f} to {:.1f} ms", milliseconds * measured.low.value,
                         milliseconds * measured.high.value);
  }
  return words;
}

/// Options of the layout that the log says.
std::string added_words(std::span<const std::string> before, std::span<const std::string> after) {
  return fmt::format("{}", fmt::join(after.subspan(before.size()), " "));
}

}  // namespace

int explain_step(const po::variables_map& values, std::span<const std::string> args,
                 std::ostream& out, std::ostream& err) {
  const StepMeasurement measurement =
      read_measurement(values["measured"].as<std::vector<std::string>>());
  const std::vector<std::string> all =
      with_layout(measurement, std::vector<std::string>(args.begin(), args.end()));
  const po::variables_map told = parse_step(all);
  const auto& name = told["subject"].as<std::string>();
  const PlacedMachine placed = machine_of_step(told, name);
  StepMachine machine(calls_of_step(told, placed), kernels_of_step(told));
  warn_of_kernels(machine, err);
  const TrainingSetup setup = read_setup(told, machine.gpus());
  require_layout_options(told, setup);
  const MeasuredStep measured = measured_step(measurement, setup);
  const StepParts predicted = parts_of(machine.predict(setup, read_straggler(told, machine.gpus())),
                                       setup, machine.kernels());
  const StepRange range = setup.software.range;
  const double ratio = measured.parts.time.value / predicted.time.value;
  std::vector<StepCause> causes = weigh_causes(measured, all, predicted, range);

  Answer answer{fmt::format("A measured step of {} on {}", setup.model.name, name),
                command_text("train", args)};
  add_ranges_and_version(answer);
  answer.head({labelled("verdict", verdict_words(ratio, range))});
  answer.head(layout_notes(name, setup));
  std::vector<Note> notes{labelled("measured", source_words(measured))};
  if (all.size() > args.size()) notes.push_back(labelled("by the log", added_words(args, all)));
  answer.head(std::move(notes));
  Table parts = part_table(measured, predicted);
  Table rows = cause_table(causes);
  answer.document = {{"verdict", verdict_of(ratio, range)},
                     {"ratio", ratio},
                     {"range_low", range.low},
                     {"range_high", range.high},
                     {"parts", parts.rows},
                     {"causes", rows.rows}};
  answer.rows = rows.rows;
  answer.sections.push_back({"", {}, {}, {std::move(parts)}});
  answer.sections.back().apart = true;
  rows.rows.erase(
      std::remove_if(rows.rows.begin(), rows.rows.end(),
                     [](const Record& row) { return row["probability"] < least_shown; }),
      rows.rows.end());
  answer.sections.push_back({"", {}, {}, {std::move(rows)}});
  answer.sections.back().apart = true;
  if (std::string words = what_tells(causes); !measured.has_parts && !words.empty()) {
    answer.say(std::move(words));
  }
  answer.sections.push_back({"", {}, checks_of(causes)});
  answer.sections.back().apart = true;
  write_answer(format_option(told), answer, out);
  return ratio > range.high ? exit_answer_is_no : exit_ok;
}

}  // namespace collsim::command
