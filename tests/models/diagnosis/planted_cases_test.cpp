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
