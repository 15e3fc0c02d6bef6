#include "models/nccl/settings/variable_reach.h"

#include <algorithm>
#include <array>

#include "models/nccl/settings/environment.h"
#include "models/nccl/settings/function.h"

namespace collsim {

namespace {

constexpr std::string_view nearest_nics =
    "its hops take the nearest NICs here, whatever NICs NCCL may use";
constexpr std::string_view no_relays = "its hops take the nearest NICs here, never by another GPU";
constexpr std::string_view one_path =
    "a connection takes one path here, whatever queue pairs it has";
constexpr std::string_view all_threads =
    "a thread block of a ring moves large chunks as fast here with few threads as with all";
constexpr std::string_view chain_order = "its hops go in the order of ranks here";

/// A variable that the model of an algorithm does not follow.
struct Gap {
  std::string_view variable;
  NcclAlgorithm algorithm;
  std::string_view reason;
};

/// Algorithms whose hops between nodes the Router lays (docs/nccl.md, Routes between nodes).
constexpr std::array gaps{
    Gap{"NCCL_IB_HCA", NcclAlgorithm::pat, nearest_nics},
    Gap{"NCCL_PXN_DISABLE", NcclAlgorithm::nvls_tree, no_relays},
    Gap{"NCCL_PXN_DISABLE", NcclAlgorithm::pat, no_relays},
    Gap{"NCCL_PXN_DISABLE", NcclAlgorithm::collnet_direct, no_relays},
    Gap{"NCCL_PXN_DISABLE", NcclAlgorithm::collnet_chain, no_relays},
    Gap{"NCCL_CROSS_NIC", NcclAlgorithm::pat, nearest_nics},
    Gap{"NCCL_IB_MERGE_NICS", NcclAlgorithm::nvls_tree, nearest_nics},
    Gap{"NCCL_IB_MERGE_NICS", NcclAlgorithm::pat, nearest_nics},
    Gap{"NCCL_NET_MERGE_LEVEL", NcclAlgorithm::nvls_tree, nearest_nics},
    Gap{"NCCL_NET_MERGE_LEVEL", NcclAlgorithm::pat, nearest_nics},
    Gap{"NCCL_GRAPH_FILE", NcclAlgorithm::pat, chain_order},
};

/// Of all algorithms, and of sends and receives.
constexpr std::array of_all{
    std::string_view("NCCL_IB_QPS_PER_CONNECTION"),
    std::string_view("NCCL_IB_SPLIT_DATA_ON_QPS"),
};

std::optional<NcclAlgorithm> find_reported(std::string_view name) {
  const auto found =
      std::find_if(all_nccl_algorithms.begin(), all_nccl_algorithms.end(),
                   [&](NcclAlgorithm each) { return nccl_report_name(each) == name; });
  return found == all_nccl_algorithms.end() ? std::nullopt : std::optional(*found);
}

}  // namespace

std::optional<std::string_view> unmodelled_reach(std::string_view variable,
                                                 std::optional<NcclAlgorithm> algorithm) {
  if (std::find(of_all.begin(), of_all.end(), variable) != of_all.end()) return one_path;
  const auto found = std::find_if(gaps.begin(), gaps.end(), [&](const Gap& gap) {
    return gap.variable == variable && gap.algorithm == algorithm;
  });
  return found == gaps.end() ? std::nullopt : std::optional(found->reason);
}

std::optional<std::string_view> unmodelled_price(std::string_view variable,
                                                 std::optional<NcclAlgorithm> algorithm) {
  // NCCL may take rings where other settings made it take trees, which have all their threads.
  if (variable == "NCCL_NTHREADS" && algorithm) return all_threads;
  return unmodelled_reach(variable, algorithm);
}

std::optional<std::string> unmodelled_reason(const std::map<std::string, std::string>& variables,
                                             std::string_view algorithm, NcclVersion version) {
  const NcclEnvironment environment = parse_nccl_environment(variables, version);
  if (!environment.warnings.empty()) return environment.warnings.front();
  for (const auto& [name, value] : variables) {
    if (const auto reason = unmodelled_reach(name, find_reported(algorithm))) {
      return std::string(algorithm) + ": " + std::string(*reason);
    }
  }
  return std::nullopt;
}

}  // namespace collsim
