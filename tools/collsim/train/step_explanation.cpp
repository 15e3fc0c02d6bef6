#include "tools/collsim/train/step_explanation.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <sstream>
#include <utility>

#include "sim/base/data_directory.h"
#include "sim/base/input_error.h"
#include "sim/base/text.h"
#include "sim/yaml/yaml_reader.h"
#include "tools/collsim/core/options.h"
#include "tools/collsim/core/subcommand.h"
#include "tools/collsim/train/step_options.h"

namespace collsim::command {

namespace po = boost::program_options;

namespace {

/// Of a normal distribution: how many deviations the 90th percentile lies above the middle.
constexpr double deviations_of_p90 = 1.2816;
/// The least share of a step's variance that a part has: parts of which a step has none err, too.
constexpr double least_share = 0.01;
/// A cause that changes a step by less changes nothing.
constexpr double least_change = 0.01;
/// Points between two values of a cause at which its likelihood is taken.
constexpr std::size_t points_between = 16;

double log_normal_density(double deviation, double spread) {
  const double z = deviation / spread;
  constexpr double log_root_of_two_pi = 0.9189385332046727;
  return -0.5 * z * z - std::log(spread) - log_root_of_two_pi;
}

/// Kernels, exposed calls, and waits with those for the host.
std::array<double, 3> three_parts(const StepParts& parts) {
  return {parts.kernels.value, parts.all_exposed().value, parts.waits.value + parts.host.value};
}

}  // namespace

Seconds StepParts::all_exposed() const {
  Seconds sum;
  for (const auto& [name, time] : exposed) sum += time;
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
  const Seconds host =
      layers * (late(layer.all.forward, false) + late(layer.all.backward + again, true));
  StepParts parts;
  parts.time = step.time;
  parts.host = std::min(step.computes, host);
  parts.kernels = step.computes - parts.host;
  parts.waits = step.waits;
  parts.exposed = step.exposed;
  return parts;
}

double log_likelihood(const MeasuredStep& measured, const StepParts& predicted,
                      const StepRange& range) {
  const double middle = std::sqrt(range.low * range.high);
  const double spread = std::log(range.high / range.low) / (2 * deviations_of_p90);
  const double time = measured.parts.time.value;
  if (!measured.has_parts) {
    return log_normal_density(std::log(time / (middle * predicted.time.value)), spread);
  }
  const auto had = three_parts(measured.parts);
  const auto said = three_parts(predicted);
  double sum = 0;
  for (std::size_t i = 0; i < had.size(); ++i) {
    const double share = std::max(least_share, had[i] / time);
    sum += log_normal_density((had[i] - middle * said[i]) / time, spread * std::sqrt(share));
  }
  return sum;
}

double log_likelihood_of_unknown(const MeasuredStep& measured) {
  constexpr double fastest = 0.2;
  constexpr double slowest = 30;
  return measured.has_parts ? 0 : -std::log(std::log(slowest / fastest));
}

po::variables_map parse_step(std::span<const std::string> args) {
  std::ostringstream unused;
  return parse_options(train_subcommand, args, unused).value();
}

namespace {

/// A row of models/data/step-causes.yaml.
struct CauseRow {
  std::string text;
  std::string options;
  std::string check;
  std::vector<double> values{};
  bool whole = false;  ///< values between the listed ones are none
};

std::vector<CauseRow> load_causes() {
  constexpr double most = 1000;
  std::vector<CauseRow> rows;
  for (const YamlValue& each : load_yaml(shipped_file("step-causes", "models/data"), "step-causes")
                                   .mapping({"causes"})
                                   .at("causes")
                                   .sequence()) {
    const YamlMapping keys = each.mapping({"text", "options", "values", "whole", "check"});
    CauseRow row{keys.at("text").string(), keys.at("options").string(), keys.at("check").string()};
    if (const auto values = keys.find("values")) {
      for (const YamlValue& value : values->sequence()) row.values.push_back(value.fraction(most));
    }
    const auto whole = keys.find("whole");
    row.whole = whole && whole->boolean();
    rows.push_back(std::move(row));
  }
  return rows;
}

/// A text with a value in the place of {}, with two digits.
std::string with_value(const std::string& text, double value) {
  const std::size_t at = text.find("{}");
  if (at == std::string::npos) return text;
  return fmt::format("{}{:.2g}{}", text.substr(0, at), value, text.substr(at + 2));
}

/// The step that a command asks about, and whether it fits into memory; nothing where it cannot be.
struct AskedStep {
  StepParts parts{};
  bool fits = true;
};
std::optional<AskedStep> ask(std::span<const std::string> args, const std::string& added) {
  std::vector<std::string> all(args.begin(), args.end());
  for (std::string& word : split(added, ' ')) all.push_back(std::move(word));
  try {
    const po::variables_map values = parse_step(all);
    const std::string name = values["subject"].as<std::string>();
    const PlacedMachine placed = machine_of_step(values, name);
    const MachineCalls calls = calls_of_step(values, placed);
    StepMachine machine(calls, kernels_of_step(values));
    const TrainingSetup setup = read_setup(values, machine.gpus());
    const StepPrediction step = machine.predict(setup, read_straggler(values, machine.gpus()));
    return AskedStep{parts_of(step, setup, machine.kernels()), step.fits};
  } catch (const InputError&) {  // options that the machine or the layout cannot have
    return std::nullopt;
  }
}

Seconds between(Seconds one, Seconds other, double share) {
  return (1 - share) * one + share * other;
}

StepParts between(const StepParts& one, const StepParts& other, double share) {
  StepParts parts{between(one.time, other.time, share), between(one.kernels, other.kernels, share),
                  between(one.host, other.host, share), between(one.waits, other.waits, share)};
  for (const auto& [name, time] : one.exposed) {
    const auto found = other.exposed.find(name);
    parts.exposed[name] =
        between(time, found == other.exposed.end() ? Seconds{} : found->second, share);
  }
  return parts;
}

/// How likely a cause makes what was measured, over all of its values, and with the best one.
struct CauseLikelihood {
  double log_mean = 0;
  double log_best = 0;
  double value = 0;  ///< the best one
  StepParts parts{};
};

/// Adds up likelihoods of points that are equally likely beforehand.
class PointSum {
 public:
  void add(double log_likelihood, double value, StepParts parts) {
    logs_.push_back(log_likelihood);
    if (logs_.size() > 1 && log_likelihood <= best_.log_best) return;
    best_ = {0, log_likelihood, value, std::move(parts)};
  }
  CauseLikelihood take() {
    double sum = 0;
    for (const double each : logs_) sum += std::exp(each - best_.log_best);
    best_.log_mean = best_.log_best + std::log(sum / static_cast<double>(logs_.size()));
    return std::move(best_);
  }

 private:
  std::vector<double> logs_;
  CauseLikelihood best_;
};

bool is_another(const StepParts& parts, const StepParts& predicted) {
  return std::abs(parts.time.value / predicted.time.value - 1) > least_change;
}

/// Nothing where the cause cannot be on that machine, or changes nothing.
std::optional<CauseLikelihood> likelihood_of(const CauseRow& row, const MeasuredStep& measured,
                                             std::span<const std::string> args,
                                             const AskedStep& predicted, const StepRange& range) {
  std::vector<std::pair<double, StepParts>> steps;
  bool any = false;
  for (const double value : row.values.empty() ? std::vector<double>{0} : row.values) {
    auto step = ask(args, with_value(row.options, value));
    if (!step || (predicted.fits && !step->fits)) return std::nullopt;
    any = any || is_another(step->parts, predicted.parts);
    steps.emplace_back(value, std::move(step->parts));
  }
  if (!any) return std::nullopt;
  PointSum sum;
  const auto add = [&](double value, StepParts parts) {
    const double log = log_likelihood(measured, parts, range);
    sum.add(log, value, std::move(parts));
  };
  for (std::size_t i = 0; i + 1 < steps.size() && !row.whole; ++i) {
    const auto& [from, one] = steps[i];
    const auto& [to, other] = steps[i + 1];
    for (std::size_t point = 0; point < points_between; ++point) {
      const double share = static_cast<double>(point) / static_cast<double>(points_between);
      add(from * std::pow(to / from, share), between(one, other, share));
    }
  }
  if (steps.size() == 1 || row.whole) {
    for (auto& [value, parts] : steps) add(value, std::move(parts));
  }
  return sum.take();
}

/// Whether the command already says that; settings of NCCL are many.
bool is_said(std::span<const std::string> args, const std::string& options) {
  const std::string first = options.substr(0, options.find(' '));
  if (first == "--env") return false;
  return std::any_of(args.begin(), args.end(), [&](const std::string& each) {
    return each == first || each.starts_with(first + "=");
  });
}

}  // namespace

std::vector<StepCause> weigh_causes(const MeasuredStep& measured, std::span<const std::string> args,
                                    const StepParts& predicted, const StepRange& range) {
  std::vector<StepCause> causes;
  std::vector<double> logs{log_likelihood(measured, predicted, range),
                           log_likelihood_of_unknown(measured)};
  causes.push_back({"as predicted", "", "", 0, predicted});
  causes.push_back({"something else", "", "input, checkpoints, another layout or batch", 0, {}});
  const AskedStep asked = ask(args, "").value_or(AskedStep{predicted});
  for (const CauseRow& row : load_causes()) {
    if (is_said(args, row.options)) continue;
    auto found = likelihood_of(row, measured, args, asked, range);
    if (!found) continue;
    logs.push_back(found->log_mean);
    causes.push_back({with_value(row.text, found->value), with_value(row.options, found->value),
                      row.check, 0, std::move(found->parts)});
  }
  logs.front() += std::log(static_cast<double>(causes.size() - 1));
  const double most = *std::max_element(logs.begin(), logs.end());
  double sum = 0;
  for (const double log : logs) sum += std::exp(log - most);
  for (std::size_t i = 0; i < causes.size(); ++i) {
    causes[i].probability = std::exp(logs[i] - most) / sum;
  }
  std::stable_sort(causes.begin(), causes.end(), [](const StepCause& a, const StepCause& b) {
    return a.probability > b.probability;
  });
  return causes;
}

}  // namespace collsim::command
