#include "tools/collsim/moe/exchange_trust.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "models/calibration/transport.h"
#include "models/machine/gpu_model.h"

namespace collsim {

namespace {

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

std::string gpu_name(const Topology& topology, DeviceId gpu) {
  const std::string_view model = topology.device(gpu).model;
  const GpuModel* const known = find_gpu_model(model);
  return std::string(known == nullptr ? model : known->name);
}

ExchangeErrors::ExchangeErrors()
    : errors_(load_error_table()),
      scaling_(load_scaling_error()),
      generations_(range_of_other_generations()) {}

double ExchangeErrors::of_class(Trust trust, const Medium& medium, double bytes) const {
  return typical_error(errors_, trust, medium, Bytes{static_cast<std::int64_t>(bytes)});
}

ErrorRange ExchangeErrors::range_of_class(Trust trust, const Medium& medium, double bytes) const {
  return error_range(errors_, trust, medium, Bytes{static_cast<std::int64_t>(bytes)})
      .value_or(ErrorRange{});
}

ExchangeTrust ExchangeErrors::of(const ExchangeKernel& kernel, const Topology& topology,
                                 std::span<const DeviceId> gpus, double bytes) const {
  const KernelRuns& runs = kernel.measured;
  const std::string gpu = gpu_name(topology, gpus.front());
  const std::string network = network_of(topology, gpus);
  std::vector<std::string> others;
  ExchangeTrust trust{runs.error, {}, runs.range, Trust::measured};
  const auto take_over = [&](std::string text, Trust at_best, double error, ErrorRange range) {
    others.push_back(std::move(text));
    trust.trust = std::max(trust.trust, at_best);
    trust.error = std::max(trust.error, error);
    trust.range = {std::min(trust.range.low, range.low), std::max(trust.range.high, range.high)};
  };
  Medium medium{"nvlink"};
  if (!network.empty()) {
    std::set<std::int32_t> hosts;
    for (const DeviceId each : gpus) hosts.insert(topology.node_of(each));
    medium = {std::string(network), static_cast<std::uint32_t>(hosts.size())};
  }
  const double guessed = of_class(Trust::guessed, medium, bytes);
  if (gpu != runs.gpu) {
    const bool kin = is_kin(gpu, runs.gpu);
    take_over(fmt::format("{}, not {}", gpu, runs.gpu), kin ? Trust::derived : Trust::guessed,
              guessed, generations_);
  }
  if (!network.empty() && network != runs.network) {
    const std::string_view of = runs.network.empty() ? std::string_view("one host") : runs.network;
    take_over(fmt::format("network {}, not {}", network, of), Trust::guessed, guessed,
              range_of_class(Trust::guessed, medium, bytes));
  }
  if (std::find(runs.ranks.begin(), runs.ranks.end(), gpus.size()) == runs.ranks.end()) {
    const ErrorRange range{1 / (1 + 2 * scaling_.off), 1 + 2 * scaling_.off};
    take_over(fmt::format("{} ranks, not {}", gpus.size(), fmt::join(runs.ranks, ", ")),
              Trust::derived, scaling_.off, range);
  }
  trust.note = fmt::format("{}", fmt::join(others, "; "));
  return trust;
}

}  // namespace collsim
