// No call is faster than its bound, whichever GPUs take part, and bounds are not far below.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "models/calibration/transport.h"
#include "models/call/prediction.h"
#include "models/call/rank_gpus.h"
#include "sim/base/data_directory.h"
#include "sim/topologies/loader.h"

namespace collsim {
namespace {

constexpr Rank max_ranks = 64;

CallSpec spec_of(const Topology& topology, Collective collective, Rank per_node) {
  CallSpec spec;
  spec.topology = &topology;
  spec.cost = calibration_for(topology);
  spec.collective = collective;
  Rank ranks = 0;
  for (std::uint32_t node = 0; node < topology.node_count(); ++node) {
    ranks += std::min<Rank>(per_node, static_cast<Rank>(topology.node(node).graph->gpus().size()));
  }
  spec.gpus = first_gpus(topology, ranks, per_node);
  return spec;
}

/// The bound and the simulated time of a call, us.
struct Times {
  double bound = 0;
  double simulated = 0;
};

Times times_of(const CallSpec& spec, std::int64_t size) {
  const CallCompiler compiler(spec);
  const Prediction prediction = simulate(compiler.plan(Bytes{size}));
  return {in_microseconds(prediction.bounds.largest()), in_microseconds(prediction.time)};
}

// simulate() stops where a time is below its bound; that is what is tried here, with 1, 2 and half
// of the GPUs of every node, on every shipped machine of up to 64 GPUs and 16 per node.
TEST(BoundsOfPlacements, hold_on_shipped_machines) {
  std::size_t calls = 0;
  for (const auto& entry : std::filesystem::directory_iterator(data_directory() / "topologies")) {
    if (entry.path().extension() != ".yaml") continue;
    const Topology topology = load_topology(entry.path());
    const auto gpus = static_cast<Rank>(topology.node(0).graph->gpus().size());
    if (topology.gpus().size() > max_ranks || gpus > 16 || topology.gpus().size() < 2) continue;
    for (const Rank per_node : {Rank{1}, Rank{2}, gpus / 2}) {
      if (per_node < 1 || per_node > gpus || per_node * topology.node_count() < 2) continue;
      for (const Collective collective :
           {Collective::all_reduce, Collective::send_recv, Collective::all_to_all}) {
        SCOPED_TRACE(entry.path().stem().string() + " " + std::to_string(per_node) + " " +
                     std::string(to_string(collective)));
        const Times times = times_of(spec_of(topology, collective, per_node), 1 << 26);
        EXPECT_LE(times.bound, times.simulated * (1 + 1e-9));
        ++calls;
      }
    }
  }
  EXPECT_GT(calls, 100U);
}

struct Named {
  std::string_view machine;
  Collective collective;
  Rank per_node;
  double bound_us;
  double max;  ///< simulated / bound
};

// 1 GiB on four nodes of eight GPUs, each with a NIC of 50 GB/s: 2(M-1)/M = 1.5 GiB leave a node,
// over as many NICs as it has ranks; a message from node to node is 1 GiB by one NIC. Links carry
// 75 to 85 % of their rate, and a ring 1.94 GiB in place of 1.5.
TEST(BoundsOfPlacements, are_of_the_nics_that_ranks_have) {
  const double gib = 1 << 30;
  for (const Named& named :
       {Named{"dgx-h100-x4", Collective::all_reduce, 1, 1.5 * gib / 50e3, 1.2},
        Named{"dgx-h100-x4", Collective::all_reduce, 2, 1.5 * gib / 100e3, 1.5},
        Named{"dgx-h100-x4", Collective::all_reduce, 8, 1.5 * gib / 400e3, 1.5},
        Named{"dgx-h100-x4", Collective::send_recv, 1, gib / 50e3, 1.4},
        Named{"dgx-h100-x4", Collective::send_recv, 8, gib / 50e3, 1.4}}) {
    SCOPED_TRACE(std::string(to_string(named.collective)) + " " + std::to_string(named.per_node));
    const Topology topology = load_topology(find_data_file(named.machine, "topologies"));
    const Times times = times_of(spec_of(topology, named.collective, named.per_node), 1 << 30);
    EXPECT_NEAR(times.bound / named.bound_us, 1, 1e-9);
    EXPECT_LE(times.simulated / times.bound, named.max);
  }
}

// Settings that change which NICs NCCL takes.
TEST(BoundsOfPlacements, hold_whatever_the_settings_say) {
  using Setting = std::pair<const char*, const char*>;
  const Topology topology = load_topology(find_data_file("dgx-h100-x4", "topologies"));
  for (const auto& [name, value] :
       {Setting{"NCCL_NET_GDR_LEVEL", "LOC"}, Setting{"NCCL_PXN_DISABLE", "1"},
        Setting{"NCCL_CROSS_NIC", "1"}, Setting{"NCCL_P2P_DISABLE", "1"}}) {
    for (const Rank per_node : {1U, 4U}) {
      for (const Collective collective : {Collective::all_reduce, Collective::send_recv}) {
        SCOPED_TRACE(std::string(name) + " " + std::to_string(per_node));
        CallSpec spec = spec_of(topology, collective, per_node);
        spec.run.variables[name] = value;
        const Times times = times_of(spec, 1 << 26);
        EXPECT_LE(times.bound, times.simulated * (1 + 1e-9));
      }
    }
  }
}

}  // namespace
}  // namespace collsim
