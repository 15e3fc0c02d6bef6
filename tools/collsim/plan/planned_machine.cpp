#include "tools/collsim/plan/planned_machine.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "models/calibration/transport.h"
#include "models/estimate/small_cluster.h"
#include "models/machine/gpu_model.h"

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

/// The busiest cable of larger clusters is looked for in a small one.
constexpr Rank max_ranks_seen_whole = 256;

TimeBasis basis_of(const Prediction& prediction) {
  if (prediction.method) return TimeBasis::formulas;
  return prediction.extent == Extent::part ? TimeBasis::part : TimeBasis::run;
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
  predictor_ = std::make_unique<Predictor>(std::move(spec));
}

WorkloadTime PlannedMachine::predict(std::span<const CallGroup> calls, const Method& method) {
  WorkloadTime all;
  Predictor predictor = predictor_->by(method);
  for (const CallGroup& group : calls) {
    Prediction prediction = predictor.predict(group.size);
    all.time += static_cast<double>(group.count) * prediction.time;
    all.basis = std::min(all.basis, basis_of(prediction));
    if (&group == calls.data()) all.largest = std::move(prediction);
  }
  return all;
}

LimitUse PlannedMachine::limit(Bytes size, Seconds time) {
  const CallCompiler* looked_at = &compiler();
  const bool is_nccl = compiler().nccl() != nullptr;
  const std::optional<Candidate> choice =
      is_nccl ? compiler().decide(size).candidate : std::nullopt;
  if (is_nccl && compiler().ranks() > max_ranks_seen_whole) {
    if (!small_) {
      auto small = small_cluster(compiler());
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
      find_gpu_model(topology_->device(compiler().spec().gpus.front()).model);
  return model == nullptr ? std::string_view() : model->name;
}

bool PlannedMachine::spans_leaves() const {
  const Topology& topology = *topology_;
  std::vector<std::size_t> cables(topology.node_count());  // of each node so far
  std::vector<DeviceId> leaves;                            // of the first node, by place
  std::vector<bool> used(topology.node_count(), false);
  for (const DeviceId gpu : compiler().spec().gpus) {
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
