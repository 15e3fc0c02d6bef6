#include "models/planning/planned_machine.h"

#include <utility>

#include "models/calibration/transport.h"
#include "models/prediction/small_cluster.h"

namespace collsim {

namespace {

CallSpec spec_for(const Topology& topology, NodePlacement placement, const PlannedCall& call) {
  CallSpec spec;
  spec.topology = &topology;
  spec.cost = calibration_for(topology);
  spec.collective = call.collective;
  spec.run = settled(call.run, call.collective, topology);
  spec.gpus = placed_gpus(topology, placement);
  return spec;
}

/// Says that a simulation would take too long.
struct TooManyMessages {};

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
    : topology_(std::make_unique<const Topology>(compose(parts, nodes))) {
  CallSpec spec = spec_for(*topology_, parts.placement, call);
  if (like != nullptr) spec.like = like->planner().nccl();
  planner_ = std::make_unique<const Planner>(std::move(spec));
}

WorkloadTime PlannedMachine::estimate(std::span<const CallGroup> calls) {
  if (!estimator_) estimator_.emplace(*planner_);
  return sum(calls, [&](Bytes size) { return estimator_->estimate(size); });
}

std::optional<WorkloadTime> PlannedMachine::simulate(std::span<const CallGroup> calls,
                                                     double messages) {
  if (messages <= 0) return std::nullopt;
  SimulationOptions options;
  double begun = 0;
  options.begin = [&](Bytes /*size*/, double of_call) {
    begun += of_call;
    if (begun > messages) throw TooManyMessages();
  };
  try {
    Simulator simulator(*planner_, options);
    return sum(calls, [&](Bytes size) { return simulator.simulate(size); });
  } catch (const TooManyMessages&) {
    return std::nullopt;
  }
}

LimitUse PlannedMachine::limit(Bytes size, Seconds time) {
  const Planner* looked_at = planner_.get();
  const std::optional<Candidate> choice =
      planner_->nccl() == nullptr ? std::nullopt : planner_->decide(size).candidate;
  if (planner_->nccl() != nullptr && planner_->ranks() > max_simulated_ranks) {
    if (!small_) {
      auto small = small_cluster(*planner_);
      if (small) small_ = std::make_unique<const Planner>(std::move(*small));
    }
    if (small_) looked_at = small_.get();
  }
  const CallPlan call =
      choice ? looked_at->plan(size, *choice, &memo_) : looked_at->plan(size, &memo_);
  return limit_of(call, time);
}

}  // namespace collsim
