#include "tests/support/planted_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "models/imports/machine.h"
#include "sim/plan/collective.h"
#include "tools/collsim/diagnose/log_predictor.h"

namespace collsim::test {

namespace {

/// From 0 to 1; the same everywhere, which the distributions of the standard library are not.
double uniform(std::mt19937_64& random) {
  return static_cast<double>(random() >> 11U) * 0x1p-53;
}

std::size_t below(std::size_t count, std::mt19937_64& random) {
  return static_cast<std::size_t>(random() % count);
}

/// Box and Muller.
double normal(std::mt19937_64& random) {
  const double radius = std::sqrt(-2 * std::log(1 - uniform(random)));
  return radius * std::cos(2 * std::acos(-1) * uniform(random));
}

double noise(Bytes size, const Spread& spread, std::mt19937_64& random) {
  const double outlier = uniform(random) < 0.1 ? 5 : 1;
  return std::exp(outlier * spread.noise(size) * normal(random));
}

RecordedCall draw_call(const PlantedMachine& machine, std::mt19937_64& random) {
  constexpr std::array collectives{Collective::all_reduce, Collective::all_reduce,
                                   Collective::all_gather, Collective::reduce_scatter,
                                   Collective::all_to_all};
  RecordedCall call;
  call.collective = collectives[below(collectives.size(), random)];
  call.nodes = machine.nodes;
  call.ranks = machine.ranks;
  return call;
}

/// Every cause is as likely, however many ways it has.
const Hypothesis& draw(const std::vector<Hypothesis>& hypotheses, std::mt19937_64& random) {
  std::map<std::string, std::vector<const Hypothesis*>> by_cause;
  for (const Hypothesis& each : hypotheses) by_cause[each.cause].push_back(&each);
  const auto& ways =
      std::next(by_cause.begin(), static_cast<std::ptrdiff_t>(below(by_cause.size(), random)))
          ->second;
  return *ways[below(ways.size(), random)];
}

/// Of a continuous parameter any value between its least and its most, by its logarithm.
double draw_value(const Hypothesis& hypothesis, std::mt19937_64& random) {
  if (!hypothesis.parameter) return 0;
  const std::vector<double>& values = hypothesis.parameter->values;
  if (!hypothesis.parameter->continuous) return values[below(values.size(), random)];
  return values.front() * std::pow(values.back() / values.front(), uniform(random));
}

/// Sizes of at least one element for each rank.
EvidenceSeries series_of(const RecordedCall& call, const SizeRange& sizes = {}) {
  EvidenceSeries series;
  series.call = call;
  for (std::int64_t size = sizes.least; size <= sizes.most; size *= sizes.factor) {
    if (size < std::int64_t{4} * call.ranks) continue;
    EvidencePoint point;
    point.size.count = size;
    series.points.push_back(point);
  }
  return series;
}

std::string_view program_of(Collective collective) {
  return collective == Collective::all_to_all ? "alltoall" : to_string(collective);
}

/// As nccl-tests prints it.
std::string log_of(const RecordedCall& call, const std::vector<std::pair<Bytes, Seconds>>& times,
                   const std::string& gpu) {
  std::string text = fmt::format("# Collective test starting: {}_perf\n# Using devices\n",
                                 program_of(call.collective));
  const Rank per_node = call.ranks / call.nodes;
  for (Rank rank = 0; rank < call.ranks; ++rank) {
    text += fmt::format("#  Rank {:2} Group  0 Pid {} on host-{} device {:2} [0x00] NVIDIA {}\n",
                        rank, 1000 + rank, rank / per_node, rank % per_node, gpu);
  }
  text += "#       size         count      type   redop    root     time   algbw   busbw #wrong\n";
  for (const auto& [size, time] : times) {
    const double algbw = in_gigabytes_per_second(size / time);
    text += fmt::format("{} {} float sum -1 {:.2f} {:.2f} {:.2f} 0\n", size.count, size.count / 4,
                        in_microseconds(time), algbw,
                        algbw * busbw_factor(call.collective, call.ranks));
  }
  return text;
}

}  // namespace

const std::vector<PlantedMachine>& planted_machines() {
  static const std::vector<PlantedMachine> machines{
      {"hgx-h200", 1, 8},         {"dgx-h100", 1, 8},
      {"dgx-a100", 1, 8},         {"pcie-8", 1, 8},
      {"dgx-h100-x4", 2, 16},     {"dgx-a100-x4", 4, 32},
      {"azure-ndv4-x8", 2, 16},   {"dgx-h100-x8-4-1", 8, 64},
      {"gcp-a3-ultra-x4", 2, 16}, {"one-gpu-ethernet-100g", 8, 8}};
  return machines;
}

LoadedMachine load(const PlantedMachine& machine) {
  LoadedMachine loaded{machine, load_machine(machine.name).topology, {}};
  loaded.cost = calibration_for(loaded.topology);
  return loaded;
}

namespace {

/// A cause in any of its places.
Hypothesis somewhere(Hypothesis hypothesis, std::mt19937_64& random) {
  if (hypothesis.places.empty()) return hypothesis;
  const CausePlace place = hypothesis.places[below(hypothesis.places.size(), random)];
  hypothesis.change = place.change;
  hypothesis.place = place.name;
  return hypothesis;
}

}  // namespace

namespace {

/// The log of a call on a machine with a cause in it; nothing where the machine cannot have it.
std::optional<PlantedCase> plant_cause(const LoadedMachine& machine, const LogPredictor& predictor,
                                       const Hypothesis& hypothesis, double value,
                                       const Spread& spread, std::mt19937_64& random) {
  const EvidenceSeries& series = predictor.evidence().series.front();
  std::vector<PointIndex> points;
  for (std::size_t p = 0; p < series.points.size(); ++p) points.push_back({0, p});
  const auto predicted = predictor.simulate(hypothesis.change(value), points);
  const auto healthy = predictor.simulate({}, points);
  if (!predicted || !healthy) return std::nullopt;
  PlantedCase planted{
      hypothesis.cause, describe(hypothesis, value), hypothesis.text, hypothesis.place, {}};
  std::vector<std::pair<Bytes, Seconds>> times;
  for (std::size_t p = 0; p < points.size(); ++p) {
    const Bytes size = series.points[p].size;
    planted.effect = std::max(planted.effect, predicted->log_times[p] - healthy->log_times[p]);
    times.emplace_back(size,
                       noise(size, spread, random) * Seconds{std::exp(predicted->log_times[p])});
  }
  const std::string gpu(machine.topology.device(machine.topology.gpus().front()).model);
  planted.log = {"planted.log", log_of(series.call, times, gpu)};
  return planted;
}

Hypothesis nothing_wrong() {
  Hypothesis none;
  none.cause = "healthy";
  none.change = [](double) { return Deviation{}; };
  return none;
}

}  // namespace

PlantedCase plant(const LoadedMachine& machine, const Spread& spread, std::mt19937_64& random,
                  bool healthy) {
  for (;;) {
    Evidence evidence;
    evidence.series.push_back(series_of(draw_call(machine.shape, random)));
    const RecordedCall& call = evidence.series.front().call;
    const LogPredictor predictor(evidence, machine.topology, machine.cost, default_nccl_version);
    const CallCompiler& compiler = predictor.compiler_of(call);
    const auto hypotheses = hypotheses_for(compiler, call);
    const Hypothesis hypothesis = somewhere(draw(hypotheses, random), random);
    const double value = draw_value(hypothesis, random);
    auto planted = plant_cause(machine, predictor, healthy ? nothing_wrong() : hypothesis, value,
                               spread, random);
    if (planted) return std::move(*planted);
  }
}

PlantedCase plant_slow_part(const LoadedMachine& machine, const Spread& spread,
                            std::mt19937_64& random, double share, const SizeRange& sizes) {
  constexpr std::array<std::string_view, 3> parts{"slow-port", "slow-nvlink", "slow-gpu"};
  for (;;) {
    Evidence evidence;
    evidence.series.push_back(series_of(draw_call(machine.shape, random), sizes));
    const RecordedCall& call = evidence.series.front().call;
    const LogPredictor predictor(evidence, machine.topology, machine.cost, default_nccl_version);
    const CallCompiler& compiler = predictor.compiler_of(call);
    std::vector<Hypothesis> slow;
    for (Hypothesis& each : hypotheses_for(compiler, call)) {
      const bool is_part = std::find(parts.begin(), parts.end(), each.cause) != parts.end();
      if (is_part) slow.push_back(std::move(each));
    }
    const Hypothesis hypothesis = somewhere(slow[below(slow.size(), random)], random);
    auto planted = plant_cause(machine, predictor, hypothesis, share, spread, random);
    if (planted) return std::move(*planted);
  }
}

Diagnosis diagnose(const PlantedCase& planted, const LoadedMachine& machine, const Spread& spread,
                   bool find_causes) {
  const Recording recording = read_recording(planted.log);
  const LogFacts facts = read_log_facts(planted.log);
  DiagnosisInput input{&recording, &facts, &machine.topology, &machine.cost};
  input.find_causes = find_causes;
  return collsim::diagnose(input, spread);
}

namespace {

bool is_there(const PlantedCase& planted, const Hypothesis& found) {
  return found.alike.empty() ||
         std::find(found.alike.begin(), found.alike.end(), planted.where) != found.alike.end();
}

}  // namespace

std::size_t place_of(const PlantedCase& planted, const Diagnosis& diagnosis, bool there) {
  const auto holds = [&](const CauseGroup& group) {
    return std::any_of(group.causes.begin(), group.causes.end(), [&](const FittedCause& cause) {
      const Hypothesis& found = cause.hypothesis;
      return found.cause == planted.cause && found.text == planted.plain &&
             (!there || is_there(planted, found));
    });
  };
  const auto found = std::find_if(diagnosis.causes.begin(), diagnosis.causes.end(), holds);
  return static_cast<std::size_t>(found - diagnosis.causes.begin());
}

}  // namespace collsim::test
