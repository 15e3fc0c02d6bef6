#include "models/nccl/tuning/tuning_enabled.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace collsim {

bool is_gather(NcclFunction function) {
  return function == NcclFunction::all_gather || function == NcclFunction::reduce_scatter;
}

namespace {

bool has_collnet(const TuningInput& input) {
  return input.environment->collnet_enabled && input.nodes > 1 &&
         input.nodes >= input.environment->collnet_node_threshold &&
         !input.graphs->collnet_chain.channels.empty();
}

/// AllGather and ReduceScatter need a head for every GPU; in the network, so a NIC.
bool every_gpu_is_head(const NcclGraph& graph, const TuningInput& input) {
  std::set<std::uint32_t> heads;
  for (const GraphChannel& channel : graph.channels) {
    heads.insert(channel.gpus.front());
  }
  return heads.size() >= input.system->gpu_count();
}

/// The generations on which a release trusts it: a list at first, that Blackwell joined with 2.25;
/// from 2.27 on all since Volta (NCCL src/graph/tuning.cc).
bool has_ll128(int capability, NcclVersion version) {
  if (version >= NcclVersion{2, 27}) return capability >= 70;
  const bool blackwell = capability == 100 || capability == 120;
  return capability == 70 || capability == 80 || capability == 90 ||
         (blackwell && version >= NcclVersion{2, 25});
}

/// LL128 relies on 128-byte stores staying whole, which NVLink and few other ways promise.
bool ll128_is_safe(NcclAlgorithm algorithm, const TuningInput& input) {
  const NcclGraph& graph = graph_of(algorithm, *input.graphs);
  const int least = input.system->min_compute_capability();
  const int greatest = input.system->greatest_compute_capability();
  const bool far = least >= 90 && input.environment->ll128_over_c2c;
  const PathType worst_inter = far ? PathType::pxn : PathType::pxb;
  const PathType worst_intra = input.version < NcclVersion{2, 19} ? PathType::nvl : PathType::nvb;
  const bool alike = least == greatest || least >= 90;
  return has_ll128(least, input.version) && alike && graph.inter_type <= worst_inter &&
         graph.intra_type <= worst_intra;
}

bool pat_runs(const TuningInput& input) {
  if (input.environment->pat != 2) return input.environment->pat == 1;
  return input.ranks == input.nodes;
}

bool algorithm_is_enabled(NcclFunction function, NcclAlgorithm algorithm,
                          const TuningInput& input) {
  switch (algorithm) {
    case NcclAlgorithm::tree:
    case NcclAlgorithm::ring:
    case NcclAlgorithm::pat:
      return true;
    case NcclAlgorithm::nvls_tree:
      return input.nodes > 1;
    case NcclAlgorithm::nvls:
      if (input.nodes > 1 && !has_collnet(input)) return false;
      return !is_gather(function) ||
             every_gpu_is_head(input.nodes == 1 ? input.graphs->nvls : input.graphs->collnet_direct,
                               input);
    case NcclAlgorithm::collnet_chain:
      return has_collnet(input);
    case NcclAlgorithm::collnet_direct:
      return has_collnet(input) &&
             (input.version >= NcclVersion{2, 31} ||
              !input.system->of_kind(NcclNodeKind::nvs).empty()) &&
             input.system->gpu_count() <= 8 &&
             (!is_gather(function) || every_gpu_is_head(input.graphs->collnet_direct, input));
  }
  return false;
}

}  // namespace

bool implements(NcclFunction function, NcclAlgorithm algorithm, Protocol protocol,
                const TuningInput& input) {
  const bool nvls = algorithm == NcclAlgorithm::nvls || algorithm == NcclAlgorithm::nvls_tree;
  if (nvls && protocol != Protocol::simple) return false;
  switch (function) {
    case NcclFunction::all_reduce:
      return algorithm != NcclAlgorithm::pat;
    case NcclFunction::broadcast:
    case NcclFunction::reduce:
      return algorithm == NcclAlgorithm::ring;
    case NcclFunction::all_gather:
    case NcclFunction::reduce_scatter:
      break;
  }
  switch (algorithm) {
    case NcclAlgorithm::ring:
      return true;
    case NcclAlgorithm::nvls:
      return input.version >= NcclVersion{2, 19};
    case NcclAlgorithm::collnet_direct:
      return input.version >= NcclVersion{2, 20};
    case NcclAlgorithm::pat:
      return input.version >= NcclVersion{2, 23} && protocol == Protocol::simple && pat_runs(input);
    default:
      return false;
  }
}

bool is_enabled(NcclFunction function, NcclAlgorithm algorithm, Protocol protocol,
                const TuningInput& input) {
  const NcclEnvironment& environment = *input.environment;
  if (!environment.algorithm_allowed[index_of(function)][index_of(algorithm)]) return false;
  if (!algorithm_is_enabled(function, algorithm, input)) return false;
  const auto asked = environment.protocol_allowed[index_of(function)][index_of(protocol)];
  if (asked) return *asked;
  return protocol != Protocol::ll128 || ll128_is_safe(algorithm, input);
}

std::optional<std::string> why_not(NcclFunction function, NcclAlgorithm algorithm,
                                   Protocol protocol, const TuningInput& input) {
  const bool pat = algorithm == NcclAlgorithm::pat;
  if (!implements(function, algorithm, protocol, input)) {
    if (pat && is_gather(function) && protocol == Protocol::simple) {
      return "from NCCL 2.23 on, with one GPU per node";
    }
    return "NCCL has no such kernel";
  }
  const NcclEnvironment& environment = *input.environment;
  if (!environment.algorithm_allowed[index_of(function)][index_of(algorithm)]) {
    return "NCCL_ALGO leaves it out";
  }
  if (!algorithm_is_enabled(function, algorithm, input)) {
    if (algorithm == NcclAlgorithm::nvls_tree) return "for several nodes";
    if (!input.like_stripes) return fmt::format("needs {}", like_stripes_needed);
    return "needs several nodes, NCCL_COLLNET_ENABLE=1 and NICs that reduce in the network";
  }
  const auto asked = environment.protocol_allowed[index_of(function)][index_of(protocol)];
  if (asked && !*asked) return "NCCL_PROTO leaves it out";
  if (!is_enabled(function, algorithm, protocol, input)) {
    return "LL128 needs NVLink inside nodes and GPUDirect between them";
  }
  const bool ring_or_tree = algorithm == NcclAlgorithm::ring || algorithm == NcclAlgorithm::tree;
  if (protocol != Protocol::simple && !ring_or_tree) return "NCCL has no such kernel";
  const bool nvls = algorithm == NcclAlgorithm::nvls || algorithm == NcclAlgorithm::nvls_tree;
  if (nvls && graph_of(algorithm, *input.graphs).channel_count() < 2) {
    if (!input.like_stripes) return fmt::format("needs {}", like_stripes_needed);
    if (!environment.nvls_enabled) return "NCCL_NVLS_ENABLE=0";
    if (forbids_nvlink(environment)) return "NVLS needs peer-to-peer, which is switched off";
    return fmt::format("needs an NVSwitch that reduces (Hopper or later) and {} GPUs or more",
                       min_nvls_gpus(input.version) == 2 ? "two" : "three");
  }
  return std::nullopt;
}

}  // namespace collsim
