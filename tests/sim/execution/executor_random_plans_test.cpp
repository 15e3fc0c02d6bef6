// Random plans on random networks: whatever is run on whatever, all engines end it at the same
// time.

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "sim/algorithms/registry.h"
#include "sim/execution/data_partition.h"
#include "sim/execution/executor.h"
#include "sim/fabric/engine.h"
#include "sim/plan/schedule_builder.h"
#include "tests/sim/fabric/brute_force_max_min.h"
#include "tests/support/engines.h"

namespace collsim {
namespace {

class Dice {
 public:
  explicit Dice(unsigned seed) : random_(seed) {}
  int whole(int least, int most) {
    return std::uniform_int_distribution<int>(least, most)(random_);
  }
  std::uint32_t count(int least, int most) {
    return static_cast<std::uint32_t>(whole(least, most));
  }
  double real(double least, double most) {
    return std::uniform_real_distribution<double>(least, most)(random_);
  }
  template <typename Value>
  const Value& pick(const std::vector<Value>& values) {
    return values[count(0, static_cast<int>(values.size()) - 1)];
  }

 private:
  std::mt19937 random_;
};

/// Steps in which random ranks send random chunks to random others; computes nothing useful, but
/// can be run: in every step all sends come before the receives.
Plan random_transfers(Dice& dice) {
  const Rank ranks = dice.count(2, 7);
  const std::uint32_t chunks = dice.count(1, 5);
  ScheduleBuilder builder(ranks, chunks);
  builder.phase("random");
  builder.reduce(0, 1, {0, 1});
  for (int step = dice.whole(1, 12); step > 0; --step) {
    builder.step();
    std::vector<Rank> receivers(ranks);
    std::iota(receivers.begin(), receivers.end(), 0);
    for (Rank sender = 0; sender < ranks; ++sender) {
      const Rank receiver = dice.pick(receivers);
      if (receiver == sender) continue;
      const std::uint32_t first = dice.count(0, static_cast<int>(chunks) - 1);
      const ChunkRange range{first, dice.count(1, static_cast<int>(chunks - first))};
      if (dice.whole(0, 1) == 0) {
        builder.reduce(sender, receiver, range);
      } else {
        builder.copy(sender, receiver, range);
      }
    }
  }
  Plan plan;
  plan.algorithm = "random";
  plan.schedules.push_back(std::move(builder).build());
  plan.schedule_of_channel.assign(dice.count(1, 3), 0);
  return plan;
}

Plan random_all_reduce(Dice& dice) {
  auto names = algorithm_names(Collective::all_reduce);
  std::erase_if(names, [](const std::string& name) {
    return needs_adding_switch(Collective::all_reduce, name);  // a random wiring has none
  });
  const Placement placement = uniform_placement(2 * dice.count(1, 4), 2);
  return make_plan(Collective::all_reduce, dice.pick(names), placement, dice.count(1, 3));
}

Wiring random_wiring(const Plan& plan, Dice& dice) {
  Wiring wiring;
  for (int i = dice.whole(2, 8); i > 0; --i) {
    wiring.capacities.push_back(gigabytes_per_second(dice.real(1, 100)));
  }
  const int last = static_cast<int>(wiring.capacities.size()) - 1;
  for (std::uint32_t channel = 0; channel < plan.channels(); ++channel) {
    auto& wires = wiring.wires.emplace_back();
    for (std::size_t i = 0; i < plan.schedule(channel).connections().size(); ++i) {
      Wire wire;
      for (int hop = dice.whole(1, 3); hop > 0; --hop)
        wire.resources.push_back(dice.count(0, last));
      std::sort(wire.resources.begin(), wire.resources.end());
      wire.resources.erase(std::unique(wire.resources.begin(), wire.resources.end()),
                           wire.resources.end());
      wire.latency = microseconds(dice.real(0, 5));
      wires.push_back(wire);
    }
  }
  return wiring;
}

Calibration random_cost(Dice& dice) {
  Calibration cost;
  ProtocolConstants& simple = cost.protocols[static_cast<std::size_t>(Protocol::simple)];
  if (dice.whole(0, 1) == 0) return cost;
  cost.launch = microseconds(dice.real(0, 10));
  simple.step = microseconds(dice.real(0, 2));
  for (BytesPerSecond* each : {&simple.read, &simple.write}) {
    *each = gigabytes_per_second(dice.real(20, 200));
  }
  simple.wire_factor = dice.whole(0, 1) == 0 ? 1 : 128.0 / 120;
  return cost;
}

class ExecutorRandomPlans : public testing::TestWithParam<unsigned> {};

TEST_P(ExecutorRandomPlans, end_at_the_same_time_on_all_engines) {
  Dice dice(GetParam());
  const Plan plan = dice.whole(0, 1) == 0 ? random_transfers(dice) : random_all_reduce(dice);
  const Wiring wiring = random_wiring(plan, dice);
  const Calibration cost = random_cost(dice);
  const std::uint32_t slices = dice.count(1, 2);
  const Chunking chunking{.largest_chunk = {4LL * dice.whole(100, 10000)},
                          .slices = slices,
                          .credits = slices * dice.count(2, 4)};
  const DataPartition partition(plan, Bytes{4LL * dice.whole(1, 20000)}, Bytes{4}, chunking);
  const auto time_on = [&](Fabric& fabric) {
    return execute({plan, partition, wiring, cost, Protocol::simple}, fabric).time.value;
  };
  BruteForceFabric brute_force;
  const double expected = time_on(brute_force);
  ASSERT_GT(expected, 0);
  for (const Engine engine : test::fair_engines()) {
    const auto fabric = make_fabric(engine);
    EXPECT_NEAR(time_on(*fabric) / expected, 1, 1e-9)
        << plan.algorithm << ", " << to_string(engine);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, ExecutorRandomPlans, testing::Range(0U, 250U));

}  // namespace
}  // namespace collsim
