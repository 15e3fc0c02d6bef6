#include "tools/collsim/train/step_explanation.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <set>
#include <sstream>
#include <utility>

#include "sim/base/data_directory.h"
#include "sim/base/input_error.h"
#include "sim/base/text.h"
#include "sim/yaml/yaml_reader.h"
#include "tools/collsim/core/options.h"
#include "tools/collsim/core/subcommand.h"
#include "tools/collsim/traces/trace_summary.h"
#include "tools/collsim/train/step_options.h"

namespace collsim::command {

namespace po = boost::program_options;

namespace {

/// Of a normal distribution: how many deviations the 90th percentile lies above the middle.
constexpr double deviations_of_p90 = 1.2816;
/// The least share of a step's variance that a part has: parts of which a step has none err, too.
constexpr double min_share = 0.01;
/// A cause that changes a step by less changes nothing.
constexpr double min_change = 0.01;
/// Points between two values of a cause at which its likelihood is taken.
constexpr std::size_t points_between = 16;
/// Times of steps whose cause is not known, beside the prediction: all in between are as likely.
constexpr double fastest_unknown = 0.2;
constexpr double slowest_unknown = 30;

bool is_exposed(const std::string& part) {
  return part.starts_with("exposed");
}

/// Kernels, exposed calls, and waits with those for the host.
std::array<double, 3> three_parts(const StepParts& parts) {
  std::array<double, 3> sums{};
  for (const auto& [name, time] : parts) {
    sums[name == "kernels" ? 0 : is_exposed(name) ? 1 : 2] += time.value;
  }
  return sums;
}

double log_density(double deviation, double spread) {
  const double z = deviation / spread;
  constexpr double log_root_of_two_pi = 0.9189385332046727;
  return -z * z / 2 - std::log(spread) - log_root_of_two_pi;
}

/// What is this share of the way from one step to another.
StepParts between(const StepParts& one, const StepParts& other, double share) {
  StepParts parts;
  for (const auto& [name, time] : one) parts[name] += (1 - share) * time;
  for (const auto& [name, time] : other) parts[name] += share * time;
  return parts;
}

}  // namespace

Seconds time_of(const StepParts& parts) {
  Seconds sum;
  for (const auto& [name, time] : parts) sum += time;
  return sum;
}

StepParts parts_of(const StepPrediction& step, const TrainingSetup& setup,
                   const KernelTimes& kernels) {
  const LayerTimes layer = layer_times(kernels, setup.model, layer_share(setup));
  const Seconds again = setup.recompute == Recompute::full ? layer.all.forward : Seconds{};
  const auto late = [&](Seconds kernel, bool backward) {
    return std::max(Seconds{}, host_of_layer(setup, kernels.constants(), backward) - kernel);
  };
  const double layers = static_cast<double>(setup.microbatches() * setup.model.layers) /
                        static_cast<double>(setup.pipeline);
  const Seconds host = std::min(step.computes, layers * (late(layer.all.forward, false) +
                                                         late(layer.all.backward + again, true)));
  StepParts parts{{"kernels", step.computes - host}, {"waits", step.waits}};
  if (host.value > 0) parts["host"] = host;
  for (const auto& [name, time] : step.exposed) parts["exposed " + name] = time;
  return parts;
}

StepParts parts_of_traces(const std::vector<RankTrace>& traces, const CallName& name_of) {
  const TraceSummary summary = summarize(traces);
  const TraceAlignment alignment = align(traces);
  StepParts parts;
  for (std::size_t i = 0; i < traces.size(); ++i) {
    const RankSummary& rank = summary.ranks[i];
    const double step = rank.steps > 0 ? rank.step_us : rank.span_us;
    // The mean of the ranks, in seconds, of a step of all the trace.
    const double scale =
        microseconds(step / std::max(1.0, rank.span_us)).value / static_cast<double>(traces.size());
    const std::vector<JobSpan> moving = moving_spans(traces[i], alignment.waits[i]);
    std::map<std::string, std::vector<JobSpan>> by_name;
    for (std::size_t call = 0; call < moving.size(); ++call) {
      by_name[name_of(traces[i], traces[i].calls[call])].push_back(moving[call]);
    }
    std::vector<JobSpan> counted = traces[i].compute;
    double waits = rank.span_us - rank.compute_us;
    parts["kernels"] += Seconds{scale * rank.compute_us};
    for (auto& [name, spans] : by_name) {
      const double exposed = time_outside(spans, counted);
      counted.insert(counted.end(), spans.begin(), spans.end());
      parts[name] += Seconds{scale * exposed};
      waits -= exposed;
    }
    parts["waits"] += Seconds{scale * waits};
  }
  return parts;
}

Table part_table(const StepParts& one, const StepParts& other, const std::string& first_title,
                 const std::string& second_title) {
  constexpr double milliseconds = 1e3;
  std::set<std::string> names;
  for (const StepParts* const parts : {&one, &other}) {
    for (const auto& [name, time] : *parts) names.insert(name);
  }
  names.erase("step");
  Table table;
  const auto add_row = [&](const std::string& name, const auto& of) {
    NewRow add(table);
    add({"part", "part"}, name);
    add({first_title + "_ms", first_title, "(ms)"}, of(one));
    add({second_title + "_ms", second_title, "(ms)"}, of(other));
  };
  add_row("step", [&](const StepParts& parts) { return milliseconds * time_of(parts).value; });
  for (const std::string& name : names) {
    add_row(name, [&](const StepParts& parts) {
      if (parts.contains("step")) return Record();
      const auto found = parts.find(name);
      return Record(found == parts.end() ? 0.0 : milliseconds * found->second.value);
    });
  }
  return table;
}

double log_likelihood(const StepParts& measured, const StepParts& predicted,
                      const StepRange& range) {
  const double middle = std::sqrt(range.low * range.high);
  const double spread = std::log(range.high / range.low) / (2 * deviations_of_p90);
  const double time = time_of(measured).value;
  if (measured.contains("step")) {
    return log_density(std::log(time / (middle * time_of(predicted).value)), spread);
  }
  const auto had = three_parts(measured);
  const auto said = three_parts(predicted);
  double sum = 0;
  // It is the prediction that errs: calls of which it exposes next to none cannot err by many. But
  // waits are also the profiler's, which no prediction knows.
  for (std::size_t i = 0; i < had.size(); ++i) {
    const double waits = i == 2 ? had[i] / time : 0;
    const double share = std::max({min_share, waits, said[i] / time_of(predicted).value});
    sum += log_density((had[i] - middle * said[i]) / time, spread * std::sqrt(share));
  }
  return sum;
}

bool says(std::span<const std::string> args, const std::string& option) {
  return std::any_of(args.begin(), args.end(), [&](const std::string& arg) {
    return arg == option || arg.starts_with(option + "=");
  });
}

po::variables_map parse_step(std::span<const std::string> args) {
  std::ostringstream unused;
  return parse_options(train_subcommand, args, unused).value();
}

namespace {

/// A text with a value in the place of {}, with two digits.
std::string with_value(std::string text, double value) {
  const std::size_t at = text.find("{}");
  return at == std::string::npos ? text : text.replace(at, 2, fmt::format("{:.2g}", value));
}

/// The step that a command asks about with options added; nothing where it cannot be.
std::optional<StepParts> ask(std::span<const std::string> args, const std::string& added) {
  std::vector<std::string> all(args.begin(), args.end());
  for (std::string& word : split(added, ' ')) all.push_back(std::move(word));
  try {
    const po::variables_map values = parse_step(all);
    const PlacedMachine placed = machine_of_step(values, values["subject"].as<std::string>());
    StepMachine machine(calls_of_step(values, placed), kernels_of_step(values));
    const TrainingSetup setup = read_setup(values, machine.gpus());
    return parts_of(machine.predict(setup, read_straggler(values, machine.gpus())), setup,
                    machine.kernels());
  } catch (const InputError&) {  // options that the machine or the layout cannot have
    return std::nullopt;
  }
}

/// A cause with its likeliest value, and the logarithm of its weight and likelihood over all
/// values.
struct WeighedCause {
  StepCause cause{};
  double log = 0;
  double weight = 1;
};

/// The cause of a row of the file. Nothing where it cannot be, changes nothing, or the command has
/// its option already; settings of NCCL are many.
std::optional<WeighedCause> weigh(const YamlValue& row, const StepParts& measured,
                                  std::span<const std::string> args, const StepParts& predicted,
                                  const StepRange& range) {
  const YamlMapping keys =
      row.mapping({"text", "options", "values", "whole", "weight", "unless", "check"});
  const std::string options = keys.at("options").string();
  const std::string first = options.substr(0, options.find(' '));
  const auto unless = keys.find("unless");
  if (first != "--env" && says(args, first)) return {};
  if (unless && says(args, unless->string())) return {};
  std::vector<double> values{1};
  if (const auto listed = keys.find("values")) {
    values.clear();
    constexpr double most = 1000;
    for (const YamlValue& value : listed->sequence()) values.push_back(value.fraction(most));
  }
  std::vector<StepParts> steps;
  bool changes = false;
  for (const double value : values) {
    auto step = ask(args, with_value(options, value));
    if (!step) return {};
    const double ratio = time_of(*step).value / time_of(predicted).value;
    changes = changes || std::abs(ratio - 1) > min_change;
    steps.push_back(std::move(*step));
  }
  if (!changes) return {};
  std::vector<double> logs;
  WeighedCause best;
  const auto add = [&](double value, StepParts parts) {
    logs.push_back(log_likelihood(measured, parts, range));
    if (logs.back() < *std::max_element(logs.begin(), logs.end())) return;
    best.cause = {with_value(keys.at("text").string(), value), with_value(options, value),
                  keys.at("check").string(), 0, std::move(parts)};
  };
  const std::size_t points = keys.find("whole") ? 1 : points_between;
  for (std::size_t i = 0; i + 1 < steps.size(); ++i) {
    for (std::size_t point = 0; point < points; ++point) {
      const double share = static_cast<double>(point) / static_cast<double>(points);
      add(values[i] * std::pow(values[i + 1] / values[i], share),
          between(steps[i], steps[i + 1], share));
    }
  }
  add(values.back(), std::move(steps.back()));
  const double most = *std::max_element(logs.begin(), logs.end());
  double sum = 0;
  for (const double log : logs) sum += std::exp(log - most);
  best.weight = static_cast<double>(keys.integer_or("weight", 1, 100, 1));
  best.log = most + std::log(best.weight * sum / static_cast<double>(logs.size()));
  return best;
}

}  // namespace

std::vector<StepCause> weigh_causes(const StepParts& measured, std::span<const std::string> args,
                                    const StepParts& predicted, const StepRange& range) {
  const double unknown =
      measured.contains("step") ? -std::log(std::log(slowest_unknown / fastest_unknown)) : 0;
  std::vector<WeighedCause> all{
      {{"as predicted", "", "", 0, predicted}, log_likelihood(measured, predicted, range)},
      {{"what is not listed", "", "input, checkpoints, another batch or layout", 0, {}}, unknown}};
  const YamlMapping file =
      load_yaml(shipped_file("step-causes", "models/data"), "step-causes").mapping({"causes"});
  for (const YamlValue& row : file.at("causes").sequence()) {
    if (auto cause = weigh(row, measured, args, predicted, range)) all.push_back(std::move(*cause));
  }
  double others = -all.front().weight;
  for (const WeighedCause& each : all) others += each.weight;
  all.front().log += std::log(others);
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.log > b.log; });
  double sum = 0;
  for (const WeighedCause& each : all) sum += std::exp(each.log - all.front().log);
  std::vector<StepCause> causes;
  for (WeighedCause& each : all) {
    causes.push_back(std::move(each.cause));
    causes.back().probability = std::exp(each.log - all.front().log) / sum;
  }
  return causes;
}

}  // namespace collsim::command
