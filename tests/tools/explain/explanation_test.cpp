// What an explanation says adds up.

#include "tools/collsim/explain/explanation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "models/calibration/transport.h"
#include "sim/base/data_directory.h"
#include "sim/topologies/loader.h"

namespace collsim {
namespace {

Explanation explain_on(std::string_view machine, Collective collective, std::int64_t size) {
  const Topology topology = load_topology(find_data_file(machine, "topologies"));
  const CallCompiler compiler({&topology,
                               calibration_for(topology),
                               collective,
                               RunSpec{},
                               {topology.gpus().begin(), topology.gpus().end()}});
  return explain(compiler, Bytes{size}, Engine::native);
}

TEST(Explanation, shares_are_the_whole_time) {
  for (const Collective collective :
       {Collective::all_reduce, Collective::all_to_all, Collective::broadcast}) {
    for (const char* machine : {"hgx-h200", "dgx-h100-x4", "one-gpu-ethernet-5g", "switch-8"}) {
      const Explanation explanation = explain_on(machine, collective, 1 << 20);
      const TimeShares& shares = explanation.shares;
      const Seconds sum =
          shares.launch + shares.latency + shares.serial + shares.bandwidth + shares.rest;
      const double time = explanation.prediction.time.value;
      EXPECT_NEAR(sum.value / time, 1, 1e-9) << machine;
      for (const Seconds part : {shares.latency, shares.serial, shares.bandwidth, shares.rest}) {
        EXPECT_GE(part.value, 0) << machine;
      }
      ASSERT_FALSE(explanation.stations.empty());
      for (const ResourceUse& use : explanation.busiest) EXPECT_LE(use.utilisation, 1 + 1e-9);
      EXPECT_TRUE(std::is_sorted(explanation.busiest.begin(), explanation.busiest.end(),
                                 [](const ResourceUse& a, const ResourceUse& b) {
                                   return a.utilisation > b.utilisation;
                                 }));
    }
  }
}

// 8 ranks in a ring, 1 us, 50 GB/s: 14 hops of 1 us, and 14/8 MiB through every port at 50 GB/s.
TEST(Explanation, of_a_textbook_ring_is_latency_and_bandwidth) {
  const Explanation explanation = explain_on("switch-8", Collective::all_reduce, 1 << 20);
  EXPECT_TRUE(explanation.candidates.empty());
  EXPECT_EQ(explanation.path.hops, 14U);
  EXPECT_NEAR(in_microseconds(explanation.shares.latency), 14, 1e-9);
  EXPECT_NEAR(in_microseconds(explanation.shares.bandwidth), 14.0 / 8 * 1048576 / 50e3, 1e-6);
  EXPECT_NEAR(explanation.shares.rest.value, 0, 1e-15);
  ASSERT_EQ(explanation.busiest.size(), 1U);
  EXPECT_EQ(explanation.busiest[0].alike, 16U);  // 8 ports, in and out
}

// Of NVLS on 8 GPUs the ninth participant is the switch. What its busiest link needs is one number,
// whether it is said by the share of the time, by the use of the link, or by the floor, which has
// the launch besides.
TEST(Explanation, of_nvls_names_the_switch_and_says_one_time_for_the_busiest_link) {
  const Topology topology = load_topology(find_data_file("hgx-h200", "topologies"));
  RunSpec run;
  run.algorithm = "nvls";
  const CallCompiler compiler({&topology,
                               calibration_for(topology),
                               Collective::all_reduce,
                               run,
                               {topology.gpus().begin(), topology.gpus().end()}});
  const Explanation explanation = explain(compiler, Bytes{4 << 20}, Engine::native);
  int switches = 0;
  for (const Station& station : explanation.stations) {
    EXPECT_EQ(station.is_switch, station.participant == 8);
    EXPECT_EQ(station.name,
              station.is_switch ? "switch 0" : "rank " + std::to_string(station.participant));
    if (station.is_switch) ++switches;
  }
  EXPECT_GT(switches, 0);
  const ResourceUse& link = explanation.busiest.front();
  const double needed = link.bytes / link.capacity.value;
  EXPECT_NEAR(explanation.shares.bandwidth.value / needed, 1, 1e-9);
  const Seconds floor = explanation.prediction.floor.busiest_resource();
  EXPECT_NEAR((floor - explanation.shares.floor_launch).value / needed, 1, 1e-9);
}

TEST(Explanation, candidates_are_in_the_order_of_nccls_own_estimates) {
  const Explanation explanation = explain_on("hgx-h200", Collective::all_reduce, 1 << 20);
  ASSERT_EQ(explanation.candidates.size(), 7U * 3);
  const auto chosen = std::count_if(explanation.candidates.begin(), explanation.candidates.end(),
                                    [](const CandidateTime& each) { return each.chosen; });
  EXPECT_EQ(chosen, 1);
  for (std::size_t i = 0; i < explanation.candidates.size(); ++i) {
    const CandidateTime& each = explanation.candidates[i];
    if (each.chosen) {
      EXPECT_DOUBLE_EQ(each.simulated.value().value, explanation.prediction.time.value);
    }
    if (!each.nccl_estimate) {
      EXPECT_FALSE(each.why_not.empty());
    } else if (i > 0) {
      EXPECT_GE(each.nccl_estimate->value, explanation.candidates[i - 1].nccl_estimate->value);
    }
  }
}

}  // namespace
}  // namespace collsim
