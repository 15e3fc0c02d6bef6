#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "models/imports/machine_parts.h"
#include "sim/base/data_directory.h"
#include "sim/base/input_error.h"
#include "sim/topologies/loader.h"
#include "tools/collsim/request/change.h"
#include "tools/collsim/train/published_steps.h"

namespace collsim {

namespace {

constexpr std::int64_t gpus_of_server = 8;

/// A machine that steps were measured on.
struct ComposedMachine {
  std::unique_ptr<const Topology> topology;
  std::unique_ptr<StepMachine> steps;
};

/// NICs as the source has them. More of them than the node has are as many that are quicker.
Topology compose_servers(const PublishedStep& step, std::int64_t used) {
  MachineParts parts = load_parts(std::string(node_of(step.gpu)));
  const Interconnect& wires = step.wires;
  const auto nodes = static_cast<std::uint32_t>((step.gpus + used - 1) / used);
  if (nodes < 2 || wires.gigabits <= 0) return compose(parts, nodes);
  const std::int64_t there =
      std::count_if(parts.node.devices.begin(), parts.node.devices.end(),
                    [](const GraphDevice& device) { return device.kind == DeviceKind::nic; });
  // Of a node with fewer GPUs than the shipped one: so many NICs beside each.
  const std::int64_t said = wires.nics * gpus_of_server / used;
  const std::int64_t nics = said > 0 ? std::min(said, there) : there;
  const double gigabits =
      said > 0 ? wires.gigabits * static_cast<double>(said) / static_cast<double>(nics)
               : wires.gigabits;
  parts = changed(std::move(parts), fmt::format("nics={}", nics));
  return compose(changed(std::move(parts), fmt::format("nic={:g}Gb/s", gigabits)), nodes);
}

/// The first GPUs of each node, as many as the source's nodes have.
std::vector<DeviceId> used_gpus(const PublishedStep& step, const Topology& topology,
                                std::int64_t used) {
  std::map<std::int32_t, std::int64_t> of_node;
  std::vector<DeviceId> gpus;
  for (const DeviceId gpu : topology.gpus()) {
    if (std::ssize(gpus) == step.gpus) break;
    if (of_node[topology.node_of(gpu)]++ < used) gpus.push_back(gpu);
  }
  if (std::ssize(gpus) == step.gpus) return gpus;
  throw InputError(fmt::format("{}: {} GPUs", step.id, step.gpus),
                   fmt::format("at most the {} of {}", gpus.size(), topology.name()));
}

std::unique_ptr<ComposedMachine> compose_machine(const PublishedStep& step,
                                                 const KernelTable& table) {
  auto machine = std::make_unique<ComposedMachine>();
  MachineCalls calls;
  calls.run.variables = step.variables;
  const std::int64_t said = step.wires.gpus_of_node;
  const std::int64_t most = step.machine.empty() ? gpus_of_server : step.gpus;
  const std::int64_t used = said > 0 ? std::min(said, most) : most;
  machine->topology = std::make_unique<const Topology>(
      step.machine.empty() ? compose_servers(step, used)
                           : load_topology(find_data_file(step.machine, "topologies")));
  calls.topology = machine->topology.get();
  calls.gpus = used_gpus(step, *machine->topology, used);
  machine->steps = std::make_unique<StepMachine>(std::move(calls), table, step.gpu);
  return machine;
}

/// What the formula counts: FLOPs of a step, with those of full recomputation, and how much longer
/// the pipeline's bubble makes it.
double counted_flops(const TrainingSetup& setup) {
  constexpr double again = 4.0 / 3;
  return (setup.recompute == Recompute::full ? again : 1) *
         flops_per_token(setup.model, setup.tokens_sequence()) *
         (static_cast<double>(setup.global_batch) * static_cast<double>(setup.tokens_sequence()));
}

double bubble_factor(const TrainingSetup& setup) {
  return 1 + static_cast<double>(setup.pipeline - 1) /
                 static_cast<double>(setup.interleave * setup.microbatches());
}

std::string kind_of(const std::string& gpu) {
  return gpu.substr(0, gpu.find('-'));
}

/// FLOPs a second of a GPU without the bubble.
double rate_of(const PublishedStep& step) {
  return counted_flops(step.setup) * bubble_factor(step.setup) /
         (static_cast<double>(step.gpus) * step.measured.value);
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const std::size_t middle = values.size() / 2;
  std::sort(values.begin(), values.end());
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

/// Fills in what the formula says, by the rates of the other groups.
void add_formula(std::vector<StepComparison>& comparisons) {
  std::map<std::tuple<std::string, std::string>, double> rates;  // by group and kind of GPU
  for (StepComparison& each : comparisons) {
    const PublishedStep& step = *each.step;
    const std::string kind = kind_of(step.gpu);
    const auto [rate, added] = rates.try_emplace({step.group, kind}, 0);
    if (added) {
      std::vector<double> others;
      for (const StepComparison& other : comparisons) {
        if (other.step->group != step.group && kind_of(other.step->gpu) == kind) {
          others.push_back(rate_of(*other.step));
        }
      }
      rate->second = median(std::move(others));
    }
    if (rate->second <= 0) continue;
    each.formula = Seconds{counted_flops(step.setup) * bubble_factor(step.setup) /
                           (static_cast<double>(step.gpus) * rate->second)};
  }
}

/// Rows of one model on as many GPUs of a kind: they differ in their layout, or in batches.
std::string sweep_of(const PublishedStep& step) {
  return fmt::format("{} {} {} {}", step.group, step.setup.model.name, step.gpu, step.gpus);
}

/// A time for each token, so that steps of different batches compare.
double per_token(Seconds time, const TrainingSetup& setup) {
  return time.value /
         (static_cast<double>(setup.global_batch) * static_cast<double>(setup.tokens_sequence()));
}

StepScore score_of(const std::string& group, const std::vector<const StepComparison*>& rows) {
  constexpr std::size_t min_sweep = 3;
  StepScore score;
  score.group = group;
  score.rows = rows.size();
  std::vector<double> errors;
  std::map<std::string, std::vector<const StepComparison*>> sweeps;
  std::size_t formulas = 0;
  for (const StepComparison* each : rows) {
    errors.push_back(std::abs(each->error()));
    score.mean_error += errors.back();
    score.bias += each->error();
    if (each->formula.value > 0) {
      score.formula_error += std::abs(each->formula.value / each->step->measured.value - 1);
      ++formulas;
    }
    sweeps[sweep_of(*each->step)].push_back(each);
  }
  const auto count = static_cast<double>(rows.size());
  score.mean_error /= count;
  score.bias /= count;
  score.median_error = median(errors);
  score.formula_error /= static_cast<double>(std::max<std::size_t>(1, formulas));
  std::size_t counted = 0;
  for (const auto& [name, sweep] : sweeps) {
    if (sweep.size() < min_sweep) continue;
    std::vector<std::pair<double, double>> ours;
    std::vector<std::pair<double, double>> formula;
    for (const StepComparison* each : sweep) {
      const TrainingSetup& setup = each->step->setup;
      const double measured = per_token(each->step->measured, setup);
      ours.emplace_back(per_token(each->predicted.time, setup), measured);
      formula.emplace_back(per_token(each->formula, setup), measured);
    }
    score.tau += kendall_tau(ours);
    score.formula_tau += kendall_tau(formula);
    ++counted;
  }
  score.tau = counted > 0 ? score.tau / static_cast<double>(counted) : 1;
  score.formula_tau = counted > 0 ? score.formula_tau / static_cast<double>(counted) : 1;
  return score;
}

}  // namespace

double kendall_tau(const std::vector<std::pair<double, double>>& pairs) {
  double sum = 0;
  double first = 0;
  double second = 0;
  const auto sign = [](double value) { return (value > 0 ? 1 : 0) - (value < 0 ? 1 : 0); };
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const int a = sign(pairs[i].first - pairs[j].first);
      const int b = sign(pairs[i].second - pairs[j].second);
      sum += a * b;
      first += a * a;
      second += b * b;
    }
  }
  return first > 0 && second > 0 ? sum / std::sqrt(first * second) : (first + second > 0 ? 0 : 1);
}

std::vector<StepComparison> compare_steps(const PublishedSteps& steps, const KernelTable& table) {
  using Key = std::tuple<std::string, std::string, std::int64_t, std::int64_t,
                         std::map<std::string, std::string>>;
  std::map<Key, std::unique_ptr<ComposedMachine>> machines;
  std::vector<StepComparison> comparisons;
  for (const PublishedStep& step : steps.steps) {
    auto& machine = machines[{step.gpu, step.machine + step.network, step.gpus,
                              step.wires.gpus_of_node, step.variables}];
    if (!machine) machine = compose_machine(step, table);
    comparisons.push_back({&step, machine->steps->predict(step.setup), {}});
  }
  add_formula(comparisons);
  return comparisons;
}

std::vector<StepScore> score_steps(const std::vector<StepComparison>& comparisons) {
  std::vector<std::string> groups;
  std::map<std::string, std::vector<const StepComparison*>> rows;
  std::vector<const StepComparison*> all;
  for (const StepComparison& each : comparisons) {
    auto& of_group = rows[each.step->group];
    if (of_group.empty()) groups.push_back(each.step->group);
    of_group.push_back(&each);
    all.push_back(&each);
  }
  std::vector<StepScore> scores;
  scores.reserve(groups.size() + 1);
  for (const std::string& group : groups) scores.push_back(score_of(group, rows[group]));
  if (!all.empty()) scores.push_back(score_of("all", all));
  return scores;
}

}  // namespace collsim
