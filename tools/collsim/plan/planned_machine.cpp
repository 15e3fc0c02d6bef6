#include "tools/collsim/plan/planned_machine.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "models/calibration/transport.h"
#include "models/estimate/small_cluster.h"
#include "models/machine/gpu_model.h"
#include "models/machine/resource_load.h"

namespace collsim {

namespace {

/// A resource that is busy for less of the time is not what holds a call back.
constexpr double busy = 0.5;
/// Resources in a row are often equally busy, such as a NIC and the PCIe link behind it. They are
/// alike within this share, and the one that comes last in Limit is named.
constexpr double same_use = 1e-3;

Limit limit_of_link(const Topology& topology, LinkId id) {
  const Link link = topology.link(id);
  switch (link.kind) {
    case LinkKind::nvlink:
      return Limit::nvlink;
    case LinkKind::pcie:
      return Limit::pcie;
    case LinkKind::cpu:
      return Limit::cpu_link;
    case LinkKind::network:
      break;
  }
  const bool ends = topology.node_of(link.from) >= 0 || topology.node_of(link.to) >= 0;
  return ends ? Limit::nic : Limit::uplink;
}

Limit limit_of_resource(const Topology& topology, const ResourceOrigin& origin) {
  if (origin.host) return Limit::host_memory;
  if (!origin.shared) return limit_of_link(topology, origin.id);
  const SharedResource shared = topology.shared_resource(origin.id);
  return shared.links.empty() ? Limit::nvlink : limit_of_link(topology, shared.links[0]);
}

}  // namespace

std::string_view to_string(Limit limit) {
  switch (limit) {
    case Limit::latency:
      return "latency";
    case Limit::nvlink:
      return "NVLink";
    case Limit::pcie:
      return "PCIe";
    case Limit::cpu_link:
      return "CPU link";
    case Limit::host_memory:
      return "memory";
    case Limit::nic:
      return "NIC";
    case Limit::uplink:
      return "uplink";
    case Limit::thread_block:
      return "SM";
  }
  return "";
}

LimitUse limit_of(const CompiledCall& call, Seconds time) {
  const Wiring& wiring = call.wiring();
  const ProtocolConstants& cost = call.compiler->cost().of(call.protocol);
  const ResourceLoad load = resource_load(call.plan(), call.partition, wiring, cost);
  LimitUse use;
  const auto consider = [&](double seconds, Limit limit) {
    const double utilisation = seconds / time.value;
    if (limit == Limit::uplink) use.uplink = std::max(use.uplink, utilisation);
    if (utilisation > use.utilisation * (1 + same_use) ||
        (utilisation > use.utilisation * (1 - same_use) && limit > use.limit)) {
      use.limit = limit;
      use.utilisation = utilisation;
    }
  };
  for (std::size_t i = 0; i < load.resources.size(); ++i) {
    if (load.resources[i] == 0) continue;
    consider(load.resources[i] / wiring.capacities[i].value,
             limit_of_resource(call.compiler->topology(), wiring.origins[i]));
  }
  for (const auto& ranks : load.thread_blocks) {
    for (const ThreadBlockLoad& block : ranks) consider(block.busy.value, Limit::thread_block);
  }
  if (use.utilisation < busy) use.limit = Limit::latency;
  return use;
}

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
      choice ? looked_at->plan(size, *choice, &cache_) : looked_at->plan(size, &cache_);
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
