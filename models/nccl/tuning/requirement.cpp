#include "models/nccl/tuning/requirement.h"

#include <fmt/format.h>

#include <algorithm>

#include "models/nccl/tuning/tuning_enabled.h"

namespace collsim {

namespace {

/// Of algorithms that reduce in the switches between nodes.
std::string missing_in_network(const TuningInput& input) {
  if (!input.like_stripes) return std::string(like_stripes_needed);
  const NcclEnvironment& environment = *input.environment;
  const std::uint32_t least = std::max<std::uint32_t>(2, environment.collnet_node_threshold);
  const bool there = input.nodes >= least && environment.collnet_enabled &&
                     !input.graphs->collnet_chain.channels.empty();
  if (there) return {};
  return fmt::format("{} nodes or more on a fabric with 'sharp: true', and NCCL_COLLNET_ENABLE=1",
                     least);
}

std::string missing_in_node(const TuningInput& input) {
  if (!input.like_stripes) return std::string(like_stripes_needed);
  if (!input.environment->nvls_enabled) return "NCCL_NVLS_ENABLE other than 0";
  if (forbids_nvlink(*input.environment)) {
    return "peer-to-peer over NVLink: no NCCL_P2P_DISABLE=1, no NCCL_P2P_LEVEL=LOC";
  }
  if (input.graphs->nvls.channels.empty()) {
    return fmt::format(
        "nodes of {} or more GPUs, of Hopper's generation or later, on an NVSwitch with "
        "'multicast: true'",
        min_nvls_gpus(input.version) == 2 ? "two" : "three");
  }
  return {};
}

std::string missing_for_nvls(const TuningInput& input) {
  std::string missing = missing_in_node(input);
  if (missing.empty() && input.nodes > 1) {
    missing = missing_in_network(input);
    if (!missing.empty()) missing = fmt::format("one node, or {}", missing);
  }
  return missing;
}

}  // namespace

std::string missing_requirement(NcclFunction function, NcclAlgorithm algorithm,
                                const TuningInput& input) {
  if (algorithm == NcclAlgorithm::pat && input.ranks > input.nodes) {
    return input.version < NcclVersion{2, 31}
               ? "one GPU per node"
               : "one GPU per node: its kernels for several, which NCCL_ALGO asks for since 2.31, "
                 "are not modelled";
  }
  if (!implements(function, algorithm, Protocol::simple, input)) {
    return "a function and a release of NCCL that have it";
  }
  std::string missing;
  switch (algorithm) {
    case NcclAlgorithm::nvls:
      missing = missing_for_nvls(input);
      break;
    case NcclAlgorithm::nvls_tree:
      missing = missing_in_node(input);
      if (missing.empty() && input.nodes < 2) missing = "2 nodes or more";
      break;
    case NcclAlgorithm::collnet_direct:
    case NcclAlgorithm::collnet_chain:
      missing = missing_in_network(input);
      break;
    default:
      break;
  }
  if (missing.empty() && !is_enabled(function, algorithm, Protocol::simple, input)) {
    return "another machine, or NCCL_PROTO with Simple";
  }
  return missing;
}

}  // namespace collsim
