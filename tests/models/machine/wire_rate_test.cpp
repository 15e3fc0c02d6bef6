// What `wirebw` says never exceeds what links carry.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>

#include "models/bounds/bounds.h"
#include "models/calibration/transport.h"
#include "models/call/prediction.h"
#include "models/call/rank_gpus.h"
#include "sim/base/data_directory.h"
#include "sim/base/input_error.h"
#include "sim/topologies/loader.h"

namespace collsim {
namespace {

/// Of a GPU's links of the fastest kind, all together.
double port_rate(const Topology& topology) {
  std::array<double, link_kind_count> rates{};
  for (const LinkId id : topology.links_from(topology.gpus().front())) {
    const Link link = topology.link(id);
    rates[static_cast<std::size_t>(link.kind)] += link.bandwidth.value;
  }
  return *std::max_element(rates.begin(), rates.end());
}

struct Case {
  std::string machine;
  Rank ranks;
};

// NVLSTree on two nodes moved 280 GB/s of data, of which 9/8 are on a GPU's NVLinks of 478 GB/s; as
// busbw has it, 15/8 would be, 525 GB/s.
TEST(WireRate, is_at_most_that_of_the_port) {
  constexpr Bytes size{1 << 30};
  std::size_t runs = 0;
  for (const Case& each : {Case{"dgx-1-v100", 8}, Case{"dgx-a100", 8}, Case{"hgx-h200", 8},
                           Case{"dgx-b200", 8}, Case{"dgx-h100-x4", 16}, Case{"l40s-4", 4}}) {
    const Topology topology = load_topology(find_data_file(each.machine, "topologies"));
    for (const std::string algorithm :
         {"ring", "tree", "nvls", "nvlstree", "collnetdirect", "collnetchain"}) {
      RunSpec run;
      run.schedule = ScheduleKind::nccl;
      run.algorithm = algorithm;
      try {
        const CallCompiler compiler({&topology, calibration_for(topology), Collective::all_reduce,
                                     run, first_gpus(topology, each.ranks)});
        const Prediction prediction = simulate(compiler.plan(size));
        const double wirebw = *prediction.wire_factor * size.count / prediction.time.value;
        EXPECT_LE(wirebw, port_rate(topology)) << algorithm << " on " << each.machine;
        ++runs;
      } catch (const InputError&) {  // not on this machine
      }
    }
  }
  EXPECT_GE(runs, 14U);
}

}  // namespace
}  // namespace collsim
