// Where algorithms and protocols cross over, by bisection.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "models/calibration/transport.h"
#include "models/call/rank_gpus.h"
#include "sim/base/data_directory.h"
#include "sim/base/input_error.h"
#include "sim/topologies/loader.h"
#include "tools/collsim/crossover/choice_map.h"
#include "tools/collsim/crossover/crossover_report.h"
#include "tools/collsim/crossover/variant_times.h"

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

Way way_of(const std::string& name, std::function<double(Bytes)> simulate,
           const std::function<double(Bytes)>& estimate) {
  return {name, std::move(simulate), [estimate](Bytes size) { return estimate(size); }};
}

const VariantTimes::Side first_way{0};
const VariantTimes::Side second_way{1};

// 10 against 100: no error of a formula that was ever found makes up for a factor of 10.
TEST(VariantTimes, simulates_nothing_where_formulas_leave_nothing_open) {
  const auto fast = [](Bytes) { return 10.0; };
  const auto slow = [](Bytes) { return 100.0; };
  VariantTimes times({way_of("fast", fast, fast), way_of("slow", slow, slow)}, 0.05);
  EXPECT_TRUE(times.leads(first_way, second_way, Bytes{64}));
  EXPECT_FALSE(times.leads(second_way, first_way, Bytes{64}));
  EXPECT_EQ(times.fastest(times.all(), Bytes{64}), 0U);
  EXPECT_EQ(times.simulations(), 0U);
}

// At 1500 the second takes 20, though its formula says 40, against 10 + 15 = 25.
TEST(VariantTimes, simulates_where_a_formula_could_be_wrong) {
  const auto rising = [](Bytes size) { return 10 + static_cast<double>(size.count) / 100; };
  const auto flat = [](Bytes) { return 20.0; };
  const auto wrong = [](Bytes) { return 40.0; };
  VariantTimes times({way_of("rising", rising, rising), way_of("flat", flat, wrong)}, 0.05);
  EXPECT_FALSE(times.leads(first_way, second_way, Bytes{1500}));
  EXPECT_EQ(times.fastest(times.all(), Bytes{1500}), 1U);
  // What was learned there holds an octave away: 20 in place of 40.
  EXPECT_DOUBLE_EQ(times.likely(1, Bytes{3000}), 20);
  EXPECT_EQ(times.simulations(), 2U);
}

// Halfway between 256 and 1024, as logarithms go, an error of 2 and one of 8 make one of 4.
TEST(VariantTimes, errors_change_evenly_from_octave_to_octave) {
  const auto simulated = [](Bytes size) { return size.count == 256 ? 2.0 : 8.0; };
  const auto one = [](Bytes) { return 1.0; };
  VariantTimes times({way_of("way", simulated, one)}, 0.05);
  times.simulated(0, Bytes{256});
  times.simulated(0, Bytes{1024});
  EXPECT_NEAR(times.likely(0, Bytes{512}), 4, 1e-9);
  EXPECT_NEAR(times.likely(0, Bytes{4096}), 8, 1e-9);
}

class CrossoverOfH200 : public testing::Test {
 protected:
  CallCompiler compiler(Collective collective) const {
    RunSpec run;
    run.schedule = ScheduleKind::nccl;
    run.variables = {{"NCCL_NVLS_ENABLE", "0"}};
    return CallCompiler({&topology_, cost_, collective, run, first_gpus(topology_, 4)});
  }

  Topology topology_ = load_topology(find_data_file("hgx-h200", "topologies"));
  Calibration cost_ = calibration_for(topology_);
};

// On both sides of a crossover between protocols, the simulated lead is what it says.
TEST_F(CrossoverOfH200, sides_of_a_crossover_are_led_as_it_says) {
  const CallCompiler four = compiler(Collective::all_reduce);
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
      find_crossovers(compiler(Collective::all_reduce), {Bytes{1 << 12}, Bytes{1 << 21}});
  ASSERT_TRUE(report.following);
  const ChoiceRegret& following = *report.following;
  EXPECT_EQ(following.regret.sizes, 2U);
  EXPECT_DOUBLE_EQ(following.regret.worst,
                   following.choice_time.value / following.fastest_time.value - 1);
  EXPECT_GE(following.regret.mean, 0);
  EXPECT_LE(following.regret.mean, following.regret.worst);
}

// The fastest of a map is no slower than any way simulated, and what NCCL loses is of two of them.
TEST_F(CrossoverOfH200, map_names_the_fastest_way) {
  const CallCompiler four = compiler(Collective::all_reduce);
  const std::vector<Bytes> sizes{Bytes{1 << 10}, Bytes{1 << 20}, Bytes{1 << 22}};
  const ChoiceRow row = choice_row(four, sizes, {});
  ASSERT_EQ(row.cells.size(), sizes.size());
  ASSERT_EQ(row.pairs.size(), 6U);
  for (const ChoiceCell& cell : row.cells) {
    const auto simulated = [&](std::size_t way) {
      const auto& [algorithm, protocol] = row.pairs[way];
      return simulate(four.plan(cell.size, {algorithm, protocol, 0})).time.value;
    };
    for (std::size_t way = 0; way < row.pairs.size(); ++way) {
      EXPECT_LE(simulated(cell.best), simulated(way)) << cell.size.count;
    }
    EXPECT_NEAR(cell.loss(cell.chosen), simulated(cell.chosen) / simulated(cell.best) - 1, 1e-9);
    EXPECT_EQ(cell.error, 0);  // no errors are known
  }
  EXPECT_LE(row.cells[0].size, row.cells[0].until);
  EXPECT_LT(row.cells[0].until, row.cells[1].size);
  EXPECT_LT(row.cells[1].until, row.cells[2].size);
}

// Kept to nothing, NCCL loses what its own choices lose; the first limit loses least of all.
TEST_F(CrossoverOfH200, limits_cost_what_their_choices_lose) {
  const ChoiceRow row = choice_row(compiler(Collective::all_reduce),
                                   {Bytes{1 << 12}, Bytes{1 << 21}, Bytes{1 << 24}}, {});
  double lost = 0;
  for (const ChoiceCell& cell : row.cells) lost += cell.loss(cell.chosen) / 3;
  const std::vector<ChoiceLimit> limits = choice_limits(row);
  ASSERT_EQ(limits.size(), 12U);  // none, two algorithms, three protocols, six pairs
  const auto none = std::find_if(limits.begin(), limits.end(), [](const ChoiceLimit& limit) {
    return !limit.algorithm && !limit.protocol;
  });
  ASSERT_NE(none, limits.end());
  EXPECT_NEAR(none->mean_loss, lost, 1e-12);
  for (const ChoiceLimit& limit : limits) {
    EXPECT_LE(limits.front().mean_loss, limit.mean_loss);
    EXPECT_LE(limit.mean_loss, limit.worst_loss);
  }
}

TEST_F(CrossoverOfH200, sends_and_receives_have_nothing_to_choose_from) {
  EXPECT_THROW(find_crossovers(compiler(Collective::all_to_all), {Bytes{64}}), InputError);
}

}  // namespace
}  // namespace collsim
