#include "models/predictor.h"

#include <fmt/format.h>

#include <utility>

#include "models/wiring.h"
#include "sim/executor.h"
#include "sim/input_error.h"

namespace collsim {

namespace {

std::vector<DeviceId> first_gpus(const Topology& topology, Rank ranks) {
  const auto gpus = topology.gpus();
  if (ranks < 1 || ranks > gpus.size()) {
    throw InputError(fmt::format("{} ranks on '{}'", ranks, topology.name()),
                     fmt::format("1 to {} ranks, one per GPU", gpus.size()));
  }
  return {gpus.begin(), gpus.begin() + ranks};
}

Placement place(const Topology& topology, const std::vector<DeviceId>& gpus) {
  Placement placement;
  for (const DeviceId gpu : gpus) {
    placement.node_of_rank.push_back(static_cast<std::uint32_t>(topology.device(gpu).node));
  }
  return placement;
}

}  // namespace

Predictor::Predictor(const Topology& topology, const TransferCost& cost, Collective collective,
                     const RunSpec& run, Rank ranks, Rank root)
    : topology_(&topology),
      cost_(cost),
      run_(run),
      gpus_(first_gpus(topology, ranks)),
      placement_(place(topology, gpus_)),
      plan_(make_plan(collective, run.algorithm, placement_, run.channels, root)),
      wiring_(wire(plan_, topology, gpus_, cost)) {}

Binding Predictor::bind(Bytes size) const {
  return Binding(plan_, size, element_size, run_.chunking);
}

Prediction Predictor::simulate(Bytes size, Engine engine) const {
  const Binding binding = bind(size);
  const auto fabric = make_fabric(engine);
  const ExecutionResult result = execute({plan_, binding, wiring_, cost_, run_.protocol}, *fabric);
  Prediction prediction;
  prediction.size = size;
  prediction.time = result.time;
  prediction.transfers = result.transfers;
  return guarded(prediction, binding);
}

Prediction Predictor::estimate(Bytes size) const {
  const Binding binding = bind(size);
  const Bounds bounds =
      lower_bounds(plan_, binding, wiring_, *topology_, gpus_, cost_, run_.protocol);
  const Estimate estimate =
      collsim::estimate(plan_, placement_, binding, wiring_, cost_, run_.protocol, bounds);
  Prediction prediction;
  prediction.size = size;
  prediction.time = estimate.time;
  prediction.method = estimate.method;
  return guarded(prediction, binding);
}

CriticalPath Predictor::critical_path(Bytes size) const {
  return uncontended_critical_path(plan_, bind(size), wiring_, cost_, run_.protocol);
}

Prediction Predictor::guarded(Prediction prediction, const Binding& binding) const {
  prediction.channels = binding.channels();
  prediction.bounds =
      lower_bounds(plan_, binding, wiring_, *topology_, gpus_, cost_, run_.protocol);
  check_bounds(
      prediction.time, prediction.bounds,
      fmt::format("{} of {} on {} ranks", plan_.algorithm, to_string(prediction.size), ranks()));
  return prediction;
}

}  // namespace collsim
