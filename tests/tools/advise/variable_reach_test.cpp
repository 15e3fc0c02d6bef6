// Every variable that NCCL's rules read, on every algorithm: either it changes the time of a call,
// or the table says that the model does not follow it, or NCCL does not read it there either.

#include "models/nccl/settings/variable_reach.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "models/calibration/transport.h"
#include "models/call/rank_gpus.h"
#include "models/estimate/estimator.h"
#include "models/nccl/settings/environment.h"
#include "models/nccl/settings/function.h"
#include "sim/base/data_directory.h"
#include "sim/base/input_error.h"
#include "sim/topologies/loader.h"

namespace collsim {
namespace {

using Variables = std::map<std::string, std::string>;

/// A call that runs by one algorithm.
struct Probe {
  std::optional<NcclAlgorithm> algorithm;  // none: sends and receives
  const char* machine;
  Collective collective = Collective::all_reduce;
  std::optional<std::uint32_t> per_node{};
  Variables variables{};
};

const std::vector<Probe>& probes() {
  static const std::vector<Probe> all{
      {NcclAlgorithm::ring,
       "dgx-h100-x4",
       Collective::all_reduce,
       std::nullopt,
       {{"NCCL_PROTO", "Simple"}}},
      {NcclAlgorithm::tree,
       "dgx-h100-x4",
       Collective::all_reduce,
       std::nullopt,
       {{"NCCL_PROTO", "Simple"}}},
      {NcclAlgorithm::nvls_tree, "dgx-h100-x4"},
      {NcclAlgorithm::nvls, "dgx-h100"},
      {NcclAlgorithm::pat, "dgx-h100-x4", Collective::all_gather, 1},
      {NcclAlgorithm::collnet_direct,
       "dgx-h100-x16-sharp",
       Collective::all_reduce,
       std::nullopt,
       {{"NCCL_COLLNET_ENABLE", "1"}}},
      {NcclAlgorithm::collnet_chain,
       "dgx-h100-x16-sharp",
       Collective::all_reduce,
       std::nullopt,
       {{"NCCL_COLLNET_ENABLE", "1"}}},
      {std::nullopt, "dgx-h100-x4", Collective::all_to_all},
      {std::nullopt, "dgx-h100", Collective::all_to_all},
  };
  return all;
}

/// Values far from NCCL's default.
const std::map<std::string, std::vector<std::string>>& probing_values() {
  static const std::map<std::string, std::vector<std::string>> values{
      {"NCCL_BUFFSIZE", {"65536"}},
      {"NCCL_CROSS_NIC", {"0", "1"}},
      {"NCCL_IB_DISABLE", {"1"}},
      {"NCCL_IB_HCA", {"mlx5_0"}},
      {"NCCL_IB_QPS_PER_CONNECTION", {"8"}},
      {"NCCL_IB_SPLIT_DATA_ON_QPS", {"1"}},
      {"NCCL_MAX_NCHANNELS", {"1"}},
      {"NCCL_MAX_P2P_NCHANNELS", {"1"}},
      {"NCCL_NCHANNELS_PER_NET_PEER", {"1"}},
      {"NCCL_NET_GDR_LEVEL", {"LOC"}},
      {"NCCL_NTHREADS", {"64"}},
      {"NCCL_P2P_DISABLE", {"1"}},
      {"NCCL_P2P_NET_CHUNKSIZE", {"4096"}},
      {"NCCL_PXN_DISABLE", {"1"}},
  };
  return values;
}

/// What NCCL does not read for an algorithm, so that no change is the truth: it has one GPU per
/// node, or none of what the variable is about.
bool is_unread(const std::string& variable, const Probe& probe) {
  const std::string_view machine = probe.machine;
  const bool one_node = machine == "dgx-h100";
  static const std::set<std::string> of_networks{"NCCL_CROSS_NIC",
                                                 "NCCL_IB_DISABLE",
                                                 "NCCL_IB_HCA",
                                                 "NCCL_NET_GDR_LEVEL",
                                                 "NCCL_NCHANNELS_PER_NET_PEER",
                                                 "NCCL_P2P_NET_CHUNKSIZE",
                                                 "NCCL_PXN_DISABLE"};
  if (one_node && of_networks.contains(variable)) return true;
  static const std::set<std::string> of_messages{
      "NCCL_MAX_P2P_NCHANNELS", "NCCL_NCHANNELS_PER_NET_PEER", "NCCL_P2P_NET_CHUNKSIZE"};
  if (probe.algorithm && of_messages.contains(variable)) return true;
  if (!probe.algorithm) return variable == "NCCL_NTHREADS" || variable == "NCCL_CROSS_NIC";
  const NcclAlgorithm algorithm = *probe.algorithm;
  // Rings and trees of this machine end beside their NICs. Trees come back to their NIC always.
  if (algorithm == NcclAlgorithm::ring) return variable == "NCCL_PXN_DISABLE";
  if (algorithm == NcclAlgorithm::tree) {
    return variable == "NCCL_PXN_DISABLE" || variable == "NCCL_CROSS_NIC";
  }
  if (variable == "NCCL_NTHREADS") return true;  // all others have their own numbers
  // One GPU per node has no peers.
  if (algorithm == NcclAlgorithm::pat) return variable == "NCCL_P2P_DISABLE";
  return variable == "NCCL_CROSS_NIC";  // of rings and trees alone
}

class VariableReach : public testing::Test {
 protected:
  static std::vector<double> times(const Probe& probe, const Variables& more) {
    const Topology topology = load_topology(find_data_file(probe.machine, "topologies"));
    RunSpec run;
    run.variables = probe.variables;
    if (probe.algorithm) run.variables["NCCL_ALGO"] = nccl_name(*probe.algorithm);
    run.variables.insert(more.begin(), more.end());
    const auto ranks =
        static_cast<Rank>(probe.per_node ? std::size_t{*probe.per_node} * topology.node_count()
                                         : topology.gpus().size());
    const CallCompiler compiler({&topology, calibration_for(topology), probe.collective, run,
                                 first_gpus(topology, ranks, probe.per_node)});
    Estimator estimator(compiler);
    std::vector<double> all;
    for (const std::int64_t size : {64 << 10, 64 << 20}) {
      all.push_back(estimator.estimate(Bytes{size}).time.value);
    }
    return all;
  }

  /// Whether a value changes a time, or keeps the algorithm from running.
  static bool matters(const Probe& probe, const std::string& name, const std::string& value) {
    try {
      const std::vector<double> now = times(probe, {});
      const std::vector<double> changed = times(probe, {{name, value}});
      for (std::size_t i = 0; i < now.size(); ++i) {
        if (std::abs(changed[i] / now[i] - 1) > 1e-3) return true;
      }
      return false;
    } catch (const InputError&) {
      return true;
    }
  }
};

TEST_F(VariableReach, is_followed_or_owned_up_to) {
  for (const Probe& probe : probes()) {
    const std::string name(probe.algorithm ? nccl_name(*probe.algorithm) : "messages");
    for (const auto& [variable, values] : probing_values()) {
      const bool changes = std::any_of(
          values.begin(), values.end(),
          [&, named = variable](const std::string& value) { return matters(probe, named, value); });
      const bool owned_up = unmodelled_reach(variable, probe.algorithm).has_value();
      if (is_unread(variable, probe)) {
        EXPECT_FALSE(changes) << name << " heeds " << variable;
      } else {
        EXPECT_NE(changes, owned_up) << name << " on " << probe.machine << ", " << variable
                                     << (changes ? ": followed, though the table says not"
                                                 : ": no change, and the table does not say so");
      }
    }
  }
}

TEST_F(VariableReach, warnings_of_the_reader_are_reasons) {
  const NcclVersion version = default_nccl_version;
  EXPECT_TRUE(unmodelled_reason({{"NCCL_NET", "MyPlugin"}}, "ring", version));
  EXPECT_TRUE(unmodelled_reason({{"NCCL_IB_QPS_PER_CONNECTION", "4"}}, "ring", version));
  EXPECT_TRUE(unmodelled_reason({{"NCCL_PXN_DISABLE", "1"}}, "nvlstree", version));
  EXPECT_FALSE(unmodelled_reason({{"NCCL_PXN_DISABLE", "1"}}, "ring", version));
  EXPECT_FALSE(unmodelled_reason({{"NCCL_SHM_DISABLE", "0"}}, "ring", version));
}

}  // namespace
}  // namespace collsim
