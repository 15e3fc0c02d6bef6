// Causes planted in simulated logs are found again: a few of what plant-faults does with 500.

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "tests/support/planted_case.h"

namespace collsim::test {
namespace {

/// Machines with and without a network, which are fast to simulate.
const std::vector<PlantedMachine> machines{
    {"hgx-h200", 1, 8}, {"dgx-a100", 1, 8}, {"one-gpu-ethernet-100g", 8, 8}};

TEST(PlantedCases, are_found) {
  const Spread spread = load_spread();
  std::size_t cases = 0;
  std::size_t first_two = 0;
  std::string missed;
  for (const PlantedMachine& each : machines) {
    const LoadedMachine machine = load(each);
    std::mt19937_64 random(7);
    for (int found = 0; found < 4;) {
      const PlantedCase planted = plant(machine, spread, random);
      const Diagnosis diagnosis = diagnose(planted, machine, spread);
      if (diagnosis.verdict != Verdict::low) continue;  // less than the spread
      ++found;
      ++cases;
      const bool is_found = place_of(planted, diagnosis) <= 1;
      first_two += is_found ? 1U : 0U;
      if (!is_found) missed += each.name + ": " + planted.cause + "\n";
    }
  }
  EXPECT_EQ(cases, 12U);
  EXPECT_GE(first_two, 11U) << missed;
}

// Logs often begin at 1 MiB and double. Trees of middle sizes do not meet a port that the rings of
// the largest ones do.
TEST(PlantedCases, of_a_port_at_half_its_rate_are_not_healthy) {
  const Spread spread = load_spread();
  const LoadedMachine machine = load({"dgx-h100-x4", 4, 32});
  constexpr SizeRange sizes{1 << 20, std::int64_t{4} << 30, 2};
  constexpr double seen = 0.34;  // as a logarithm: a size takes 1.4 times as long
  std::mt19937_64 random(3);
  for (int found = 0; found < 4;) {
    const PlantedCase planted = plant_slow_part(machine, spread, random, 0.5, sizes);
    if (planted.cause != "slow-port" || planted.effect < seen) continue;
    ++found;
    EXPECT_NE(diagnose(planted, machine, spread, false).verdict, Verdict::healthy) << planted.text;
  }
}

TEST(PlantedCases, that_are_healthy_raise_no_alarm) {
  const Spread spread = load_spread();
  std::mt19937_64 random(11);
  for (const PlantedMachine& each : machines) {
    const LoadedMachine machine = load(each);
    for (int i = 0; i < 5; ++i) {
      const PlantedCase planted = plant(machine, spread, random, true);
      EXPECT_EQ(diagnose(planted, machine, spread).verdict, Verdict::healthy) << each.name;
    }
  }
}

}  // namespace
}  // namespace collsim::test
