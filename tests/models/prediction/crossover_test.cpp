// Where algorithms and protocols cross over, by bisection.

#include "models/prediction/crossover.h"

#include <gtest/gtest.h>

#include <string>

#include "models/calibration/transport.h"
#include "models/prediction/rank_gpus.h"
#include "sim/base/data_directory.h"
#include "sim/base/input_error.h"
#include "sim/topologies/loader.h"

namespace collsim {
namespace {

// 10 + s / 100 against 20: equal at 1000. Found from above, within 1 %.
TEST(BisectCrossover, finds_where_two_lines_meet) {
  const auto rising = [](Bytes size) { return 10 + static_cast<double>(size.count) / 100; };
  const auto flat = [](Bytes) { return 20.0; };
  const std::vector<Bytes> sizes{Bytes{64}, Bytes{512}, Bytes{4096}, Bytes{32768}};
  const Crossover crossover = bisect_crossover(sizes, rising, flat);
  EXPECT_TRUE(crossover.first_before);
  EXPECT_FALSE(crossover.first_after);
  EXPECT_GT(crossover.size.value(), 1000);
  EXPECT_LE(crossover.size.value(), 1010);
  const Crossover swapped = bisect_crossover(sizes, flat, rising);
  EXPECT_FALSE(swapped.first_before);
  EXPECT_NEAR(swapped.size.value(), 1000, 10);
  EXPECT_FALSE(bisect_crossover({Bytes{64}, Bytes{512}}, rising, flat).size);
  EXPECT_FALSE(bisect_crossover({Bytes{64}}, rising, flat).size);
}

class CrossoverOfH200 : public testing::Test {
 protected:
  Planner planner(Collective collective) const {
    RunSpec run;
    run.schedule = ScheduleKind::nccl;
    run.variables = {{"NCCL_NVLS_ENABLE", "0"}};
    return Planner({&topology_, cost_, collective, run, first_gpus(topology_, 4)});
  }

  Topology topology_ = load_topology(find_data_file("hgx-h200", "topologies"));
  Calibration cost_ = calibration_for(topology_);
};

// On both sides of a crossover between protocols, the simulated lead is what it says.
TEST_F(CrossoverOfH200, sides_of_a_crossover_are_led_as_it_says) {
  const Planner four = planner(Collective::all_reduce);
  const CrossoverReport report =
      find_crossovers(four, {Bytes{1 << 10}, Bytes{1 << 16}, Bytes{1 << 24}});
  ASSERT_EQ(report.pairs.size(), 4U);  // tree, ring; ll, ll128; ll, simple; ll128, simple
  const PairCrossover& pair = report.pairs[2];
  ASSERT_EQ(pair.first + pair.second, "llsimple");
  ASSERT_TRUE(pair.simulated.size);
  const auto time = [&](Protocol protocol, double size) {
    const Bytes bytes{static_cast<std::int64_t>(size) / 4 * 4};
    const auto of = [&](NcclAlgorithm algorithm) {
      return simulate(four.plan(bytes, {algorithm, protocol, 0})).time.value;
    };
    return std::min(of(NcclAlgorithm::ring), of(NcclAlgorithm::tree));
  };
  const double size = *pair.simulated.size;
  EXPECT_LT(time(Protocol::ll, 0.97 * size), time(Protocol::simple, 0.97 * size));
  EXPECT_GE(time(Protocol::ll, size), time(Protocol::simple, size));
}

// The worst loss is the ratio of the two times that stand beside it, and the mean no more.
TEST_F(CrossoverOfH200, losses_are_those_of_the_times_beside) {
  const CrossoverReport report =
      find_crossovers(planner(Collective::all_reduce), {Bytes{1 << 12}, Bytes{1 << 21}});
  ASSERT_TRUE(report.following);
  const Following& following = *report.following;
  EXPECT_EQ(following.regret.sizes, 2U);
  EXPECT_DOUBLE_EQ(following.regret.worst,
                   following.choice_time.value / following.fastest_time.value - 1);
  EXPECT_GE(following.regret.mean, 0);
  EXPECT_LE(following.regret.mean, following.regret.worst);
}

TEST_F(CrossoverOfH200, sends_and_receives_have_nothing_to_choose_from) {
  EXPECT_THROW(find_crossovers(planner(Collective::all_to_all), {Bytes{64}}), InputError);
}

}  // namespace
}  // namespace collsim
