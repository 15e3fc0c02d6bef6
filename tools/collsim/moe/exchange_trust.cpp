#include "tools/collsim/moe/exchange_trust.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "models/calibration/transport.h"
#include "models/machine/gpu_model.h"

namespace collsim {

namespace {

std::string gpu_name(const Topology& topology, DeviceId gpu) {
  const std::string_view model = topology.device(gpu).model;
  const GpuModel* const known = find_gpu_model(model);
  return std::string(known == nullptr ? model : known->name);
}

/// The transport between hosts of the GPUs; empty where they are on one.
std::string network_of(const Topology& topology, std::span<const DeviceId> gpus) {
  const std::int32_t home = topology.node_of(gpus.front());
  const bool crosses = std::any_of(gpus.begin(), gpus.end(),
                                   [&](DeviceId gpu) { return topology.node_of(gpu) != home; });
  if (!crosses) return {};
  const std::string known = calibration_for(topology).transport;
  return known.empty() ? std::string(transport_of_nics(topology)) : known;
}

}  // namespace

ExchangeErrors::ExchangeErrors() : errors_(load_error_table()), scaling_(load_scaling_error()) {}

double ExchangeErrors::of_class(Trust trust, std::string_view medium, double bytes) const {
  return typical_error(errors_, trust, medium, Bytes{static_cast<std::int64_t>(bytes)});
}

ExchangeTrust ExchangeErrors::of(const ExchangeKernel& kernel, const Topology& topology,
                                 std::span<const DeviceId> gpus, double bytes) const {
  const KernelRuns& runs = kernel.measured;
  const std::string gpu = gpu_name(topology, gpus.front());
  const std::string network = network_of(topology, gpus);
  std::vector<std::string> others;
  if (gpu != runs.gpu) others.push_back(fmt::format("{}, not {}", gpu, runs.gpu));
  if (!network.empty() && network != runs.network) {
    others.push_back(fmt::format("network {}, not {}", network, runs.network));
  }
  ExchangeTrust trust{runs.error, {}};
  if (!others.empty()) {
    const std::string_view medium = network.empty() ? std::string_view("nvlink") : network;
    trust.error = std::max(trust.error, of_class(Trust::guessed, medium, bytes));
  }
  if (gpus.size() > runs.ranks) {
    others.push_back(fmt::format("{} ranks, not up to {}", gpus.size(), runs.ranks));
    trust.error = std::max(trust.error, scaling_.off);
  }
  trust.note = fmt::format("{}", fmt::join(others, "; "));
  return trust;
}

}  // namespace collsim
