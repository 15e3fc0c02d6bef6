#include "tools/collsim/advise/candidate_settings.h"

#include <cstddef>
#include <string_view>

#include "models/call/rank_gpus.h"
#include "models/nccl/settings/function.h"

namespace collsim {

namespace {

struct Values {
  std::string_view name;
  std::vector<std::string_view> values;
};

const std::vector<Values>& of_all_calls() {
  static const std::vector<Values> values{
      {"NCCL_MIN_NCHANNELS", {"16", "32"}},
      {"NCCL_MAX_NCHANNELS", {"1", "4", "8", "16"}},
      {"NCCL_BUFFSIZE", {"1048576", "8388608", "16777216", "33554432"}},
      {"NCCL_P2P_DISABLE", {"1"}},
      {"NCCL_P2P_LEVEL", {"LOC", "NVL", "PXB", "PHB", "SYS"}},
      {"NCCL_SHM_DISABLE", {"1"}},
      {"NCCL_NVB_DISABLE", {"1"}},
  };
  return values;
}

/// Of functions that NCCL tunes.
const std::vector<Values>& of_tuned_calls() {
  static const std::vector<Values> values{
      {"NCCL_ALGO", {"Ring", "Tree", "NVLS", "NVLSTree", "PAT"}},
      {"NCCL_PROTO", {"LL", "LL128", "Simple", "^LL", "^LL128"}},
      {"NCCL_NTHREADS", {"256"}},
      {"NCCL_LL_BUFFSIZE", {"1048576"}},
      {"NCCL_LL128_BUFFSIZE", {"9830400"}},
      {"NCCL_NVLS_ENABLE", {"0"}},
      {"NCCL_NVLS_NCHANNELS", {"8", "32"}},
  };
  return values;
}

/// Of sends and receives.
const std::vector<Values>& of_messages() {
  static const std::vector<Values> values{
      {"NCCL_MIN_P2P_NCHANNELS", {"16", "32"}},
      {"NCCL_MAX_P2P_NCHANNELS", {"1", "8"}},
      {"NCCL_P2P_NVL_CHUNKSIZE", {"131072", "1048576"}},
      {"NCCL_P2P_PCI_CHUNKSIZE", {"524288"}},
      {"NCCL_P2P_NET_CHUNKSIZE", {"524288"}},
      {"NCCL_P2P_LL_THRESHOLD", {"0", "65536"}},
  };
  return values;
}

/// Of calls between nodes.
const std::vector<Values>& of_networks() {
  static const std::vector<Values> values{
      {"NCCL_CROSS_NIC", {"0", "1"}},
      {"NCCL_PXN_DISABLE", {"1"}},
      {"NCCL_NET_GDR_LEVEL", {"LOC", "SYS"}},
      {"NCCL_COLLNET_ENABLE", {"1"}},
      {"NCCL_PAT_ENABLE", {"0", "1"}},
      {"NCCL_NET_OVERHEAD", {"0", "5000"}},
      {"NCCL_IB_DISABLE", {"1"}},
  };
  return values;
}

std::size_t nics_of_first_node(const Topology& topology) {
  std::size_t nics = 0;
  for (DeviceId id = 0; id < topology.first_fabric_device() && topology.node_of(id) == 0; ++id) {
    if (topology.device(id).kind == DeviceKind::nic) ++nics;
  }
  return nics;
}

}  // namespace

std::vector<CandidateSetting> candidate_settings(const CallSpec& call) {
  std::vector<CandidateSetting> candidates;
  const auto add = [&](const std::vector<Values>& all) {
    for (const auto& [name, values] : all) {
      if (call.run.variables.contains(std::string(name))) continue;
      for (const std::string_view value : values) {
        candidates.push_back({std::string(name), std::string(value)});
      }
    }
  };
  if (function_of(call.collective)) {
    add(of_tuned_calls());
  } else {
    add(of_messages());
  }
  add(of_all_calls());
  if (placement_of(*call.topology, call.gpus).ranks_by_node().size() > 1) {
    add(of_networks());
    if (!function_of(call.collective)) add({{"NCCL_NCHANNELS_PER_NET_PEER", {"1", "4", "8"}}});
    // A name stands for all that begin so.
    const std::size_t nics = nics_of_first_node(*call.topology);
    if (nics > 1) add({{"NCCL_IB_HCA", {nics <= 10 ? "mlx5_0" : "=mlx5_0"}}});
  }
  return candidates;
}

}  // namespace collsim
