#include "models/planning/planned_machine.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "models/calibration/transport.h"
#include "models/machine/gpu_model.h"
#include "models/estimate/small_cluster.h"

namespace collsim {

namespace {

CallSpec spec_for(const Topology& topology, std::vector<DeviceId> gpus, const PlannedCall& call) {
  CallSpec spec;
  spec.topology = &topology;
  spec.cost = calibration_for(topology);
  spec.collective = call.collective;
  spec.run = with_defaults(call.run, call.collective, topology);
  spec.gpus = std::move(gpus);
  return spec;
}

/// Says that a simulation would take too long.
struct TooManyMessages {};

/// Ends a simulation that sends more messages than were expected, for want of a steady state.
Watch ending_after(double messages) {
  return [messages](std::uint64_t sent) {
    if (static_cast<double>(sent) > messages) throw TooManyMessages();
  };
}

/// Simulates no call of more messages than this, as far as they are known before.
SimulationOptions within(double messages, const Watch& watch) {
  SimulationOptions options;
  options.watch = &watch;
  options.begin = [messages](Bytes /*size*/, double of_call) {
    if (of_call > messages) throw TooManyMessages();
  };
  return options;
}

/// What `simulate` says, or nothing where that would take too long.
template <typename Simulate>
std::optional<Prediction> unless_too_long(const Simulate& simulate) {
  try {
    return simulate();
  } catch (const TooManyMessages&) {
    return std::nullopt;
  }
}

/// Four nodes of eight GPUs. Their trees have inner nodes and leaves, as those of any cluster have,
/// and their ranks fold: 32 ranks of DGX H100 that run NVLSTree are two classes, 128 are 128.
constexpr SimulationBudget few_nodes{.max_ranks = 32};

/// The busiest cable of larger clusters is looked for in a small one.
constexpr Rank max_ranks_seen_whole = 256;

/// From here on bandwidth alone counts, so that a part shows how far formulas are off.
constexpr Bytes min_part{16 << 20};

template <typename Predict>
WorkloadTime sum(std::span<const CallGroup> calls, Predict predict) {
  WorkloadTime all;
  for (const CallGroup& group : calls) {
    Prediction prediction = predict(group.size);
    all.time += static_cast<double>(group.count) * prediction.time;
    if (&group == calls.data()) all.largest = std::move(prediction);
  }
  return all;
}

}  // namespace

PlannedMachine::PlannedMachine(const MachineParts& parts, std::uint32_t nodes,
                               const PlannedCall& call, const PlannedMachine* like)
    : topology_(std::make_unique<const Topology>(compose(parts, nodes_around(parts, nodes)))),
      nodes_(nodes + parts.beside_count) {
  if (parts.placement == NodePlacement::listed) {
    paid_ = std::make_unique<const Topology>(compose(parts, nodes));
  }
  CallSpec spec = spec_for(*topology_, job_gpus(*topology_, parts, nodes), call);
  if (like != nullptr) spec.like = like->compiler().nccl();
  compiler_ = std::make_unique<const CallCompiler>(std::move(spec));
}

Estimator& PlannedMachine::estimator() {
  if (!estimator_) estimator_.emplace(*compiler_);
  return *estimator_;
}

WorkloadTime PlannedMachine::estimate(std::span<const CallGroup> calls) {
  WorkloadTime all = sum(calls, [&](Bytes size) { return estimator().estimate(size); });
  all.basis = TimeBasis::formulas;
  return all;
}

WorkloadTime PlannedMachine::simulate(std::span<const CallGroup> calls, double messages) {
  TimeBasis basis = TimeBasis::run;
  WorkloadTime all = sum(calls, [&](Bytes size) { return predict(size, messages, basis); });
  all.basis = basis;
  return all;
}

Prediction PlannedMachine::predict(Bytes size, double messages, TimeBasis& basis) {
  if (auto whole = simulated(size, messages, {})) return *whole;
  if (auto part = simulated_in_part(size, messages)) {
    basis = std::min(basis, TimeBasis::part);
    return *part;
  }
  basis = TimeBasis::formulas;
  return estimator().estimate(size);
}

std::optional<Prediction> PlannedMachine::simulated(Bytes size, double messages,
                                                    const SimulationBudget& budget) {
  const Watch watch = ending_after(2 * messages);
  return unless_too_long(
      [&] { return Simulator(*compiler_, within(messages, watch), budget).simulate(size); });
}

std::optional<Prediction> PlannedMachine::simulated_in_part(Bytes size, double messages) {
  if (compiler_->nccl() == nullptr) return std::nullopt;
  const std::optional<Candidate> choice = compiler_->decide(size).candidate;
  if (!choice) return simulated(size, messages, few_nodes);
  const Watch watch = ending_after(2 * messages);
  Simulator simulator(*compiler_, within(messages, watch), few_nodes);
  for (Bytes part = size; part == size || part >= min_part; part.count = part.count / 16 * 4) {
    const auto simulated = unless_too_long([&] { return simulator.simulate(part, *choice); });
    if (!simulated) continue;
    Prediction whole = estimator().estimate(size);
    const double scale = whole.time.value / estimator().estimate(part, *choice).time.value;
    whole.time = scale * simulated->time;
    raise_to(whole, whole.bounds.largest());
    whole.transfers = simulated->transfers;
    whole.extent = Extent::scaled;
    whole.method.reset();
    return whole;
  }
  return std::nullopt;
}

LimitUse PlannedMachine::limit(Bytes size, Seconds time) {
  const CallCompiler* looked_at = compiler_.get();
  const std::optional<Candidate> choice =
      compiler_->nccl() == nullptr ? std::nullopt : compiler_->decide(size).candidate;
  if (compiler_->nccl() != nullptr && compiler_->ranks() > max_ranks_seen_whole) {
    if (!small_) {
      auto small = small_cluster(*compiler_);
      if (small) small_ = std::make_unique<const CallCompiler>(std::move(*small));
    }
    if (small_) looked_at = small_.get();
  }
  const CompiledCall call =
      choice ? looked_at->plan(size, *choice, &memo_) : looked_at->plan(size, &memo_);
  return limit_of(call, time);
}

std::string_view PlannedMachine::gpu_model() const {
  const GpuModel* const model =
      find_gpu_model(topology_->device(compiler_->spec().gpus.front()).model);
  return model == nullptr ? std::string_view() : model->name;
}

bool PlannedMachine::spans_leaves() const {
  const Topology& topology = *topology_;
  std::vector<std::size_t> cables(topology.node_count());  // of each node so far
  std::vector<DeviceId> leaves;                            // of the first node, by place
  std::vector<bool> used(topology.node_count(), false);
  for (const DeviceId gpu : compiler_->spec().gpus) {
    used[static_cast<std::size_t>(topology.node_of(gpu))] = true;
  }
  for (LinkId id = topology.first_fabric_link(); id < topology.links().size(); id += 2) {
    const Link link = topology.link(id);
    const std::int32_t node = topology.node_of(link.from);
    if (node < 0 || !used[static_cast<std::size_t>(node)]) continue;
    const std::size_t place = cables[static_cast<std::size_t>(node)]++;
    if (place >= leaves.size()) {
      leaves.push_back(link.to);
    } else if (leaves[place] != link.to) {
      return true;
    }
  }
  return false;
}

std::string_view to_string(TimeBasis basis) {
  switch (basis) {
    case TimeBasis::formulas:
      return "est";
    case TimeBasis::part:
      return "part";
    case TimeBasis::run:
      return "run";
  }
  return "";
}

}  // namespace collsim
