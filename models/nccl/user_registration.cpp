#include "models/nccl/user_registration.h"

#include <fmt/format.h>

#include <algorithm>

#include "models/nccl/settings/version.h"
#include "sim/base/division.h"

namespace collsim {

namespace {

constexpr NcclVersion first_of_nvls{2, 19, 0};
constexpr NcclVersion first_of_collnet{2, 21, 0};
constexpr NcclVersion first_between_gpus{2, 23, 0};
/// From here on NVLS has thread blocks by the stripes; before, as many as for eight.
constexpr NcclVersion by_stripes{2, 27, 0};
constexpr std::uint32_t usual_stripes = 8;
constexpr int first_blackwell = 100;
/// Thread blocks of rings whose buffers peers write into, at most: NCCL 2.28.9 on two H100
/// (recordings/h100x2/user-buffers.yaml).
constexpr std::uint32_t blocks_of_rings = 16;

/// Thread blocks of NVLS on registered buffers, of eight stripes: they fill the NVLinks.
std::uint32_t blocks_of_eight(const UnregisteredCall& call) {
  const bool scatters = call.function == NcclFunction::reduce_scatter;
  if (call.version < by_stripes) return call.nodes > 1 ? 6 : scatters ? 5 : 4;
  const bool is_blackwell = call.compute_capability >= first_blackwell;
  if (call.nodes > 1) {
    // Of ReduceScatter it is 7 where NCCL takes NVLS for faster than 400 GB/s: on Blackwell.
    return is_blackwell && call.function != NcclFunction::all_gather ? 7 : 6;
  }
  if (scatters) return is_blackwell ? 6 : 5;
  return is_blackwell && call.function == NcclFunction::all_reduce ? 8 : 4;
}

UserRegistration of_nvls(const UnregisteredCall& call) {
  if (call.version < first_of_nvls) return {"NVLS takes them from NCCL 2.19 on", {}, {}, {}};
  const std::uint32_t stripes =
      call.version < by_stripes ? usual_stripes : std::max(call.stripes, 1U);
  const std::uint32_t blocks = divide_up(usual_stripes * blocks_of_eight(call), stripes);
  return {{},
          "the copies between user buffers and those of the multicast",
          "buffers of ncclMemAlloc, at the same offset on each rank",
          std::max(call.min_thread_blocks, std::min(call.max_thread_blocks, blocks))};
}

UserRegistration of_collnet(const UnregisteredCall& call) {
  if (call.version < first_of_collnet) return {"CollNet takes them from NCCL 2.21 on", {}, {}, {}};
  if (call.node_ranks > 1) return {"CollNet takes them with one rank on each node", {}, {}, {}};
  return {{}, "the copies between user buffers and the network's", "any buffers", 1U};
}

/// Why peers in a node keep their FIFOs; empty: they do not.
std::string why_fifos(const UnregisteredCall& call) {
  const bool all_reduces = call.function == NcclFunction::all_reduce;
  if (call.version < first_between_gpus) return "GPUs of a node take them from NCCL 2.23 on";
  if (call.protocol != Protocol::simple) return "only Simple takes them";
  if (call.node_ranks < 2) return "no two ranks are on one node";
  if (call.function == NcclFunction::reduce_scatter) return "ReduceScatter does not take them";
  if (call.algorithm == NcclAlgorithm::pat) return "PAT does not take them";
  if (call.algorithm == NcclAlgorithm::ring) {
    if (call.function == NcclFunction::reduce) return "rings do not take them for Reduce";
    if (all_reduces && call.in_place) return "rings do not take them for an AllReduce in place";
  }
  if (call.algorithm == NcclAlgorithm::tree && call.in_place)
    return "trees do not take them in place";
  return {};
}

}  // namespace

UserRegistration user_registration(const UnregisteredCall& call) {
  switch (call.algorithm) {
    case NcclAlgorithm::nvls:
    case NcclAlgorithm::nvls_tree:
      return of_nvls(call);
    case NcclAlgorithm::collnet_direct:
    case NcclAlgorithm::collnet_chain:
      return of_collnet(call);
    default:
      break;
  }
  std::string why_not = why_fifos(call);
  if (!why_not.empty()) return {std::move(why_not), {}, {}, {}};
  UserRegistration registration{{},
                                "the copies through FIFOs between GPUs of a node",
                                "buffers that peers can map, such as those of ncclMemAlloc",
                                {}};
  if (call.algorithm == NcclAlgorithm::ring) {
    registration.thread_blocks =
        std::max(call.min_thread_blocks, std::min(call.max_thread_blocks, blocks_of_rings));
  }
  return registration;
}

}  // namespace collsim
