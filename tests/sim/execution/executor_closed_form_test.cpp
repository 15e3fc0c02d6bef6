// The textbook's formulas, written out here once more by hand, against the simulation.

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "sim/algorithms/registry.h"
#include "sim/execution/data_partition.h"
#include "sim/execution/executor.h"
#include "sim/fabric/engine.h"
#include "tests/support/engines.h"
#include "tests/support/machines.h"

namespace collsim {
namespace {

constexpr BytesPerSecond rate = gigabytes_per_second(50);
constexpr Seconds alpha = microseconds(1);
constexpr double agreement = 1e-9;

struct Case {
  Engine engine;
  Rank ranks;
};

std::string name_of(const testing::TestParamInfo<Case>& info) {
  return std::string(to_string(info.param.engine)) + "_" + std::to_string(info.param.ranks);
}

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const Engine engine : test::fair_engines()) {
    for (Rank ranks = 2; ranks <= 64; ++ranks) cases.push_back({engine, ranks});
  }
  return cases;
}

double simulate(const Plan& plan, const Wiring& wiring, Engine engine, Bytes size,
                const Chunking& chunking = {}) {
  const DataPartition partition(plan, size, Bytes{4}, chunking);
  const Calibration ideal;
  const auto fabric = make_fabric(engine);
  return execute({plan, partition, wiring, ideal, Protocol::simple}, *fabric).time.value;
}

class ClosedForm : public testing::TestWithParam<Case> {};

// 2(N-1) steps, each alpha + S/N / B.
TEST_P(ClosedForm, ring_on_a_switch) {
  const auto [engine, n] = GetParam();
  const Plan plan = make_plan(Collective::all_reduce, "ring", uniform_placement(n));
  for (const std::int64_t chunk : {4LL, 4096LL, 4LL << 20}) {
    const Bytes size{n * chunk};
    const double expected = 2.0 * (n - 1) * alpha.value +
                            2.0 * (n - 1) / n * static_cast<double>(size.count) / rate.value;
    EXPECT_NEAR(simulate(plan, test::switch_wiring(plan, rate, alpha), engine, size) / expected, 1,
                agreement);
  }
}

// Depth d = ceil(log2 N): 2d hops of alpha + b/B with b = S/L, and L-1 chunks b/B apart behind.
// 8 credits cover 8 b/B >= 2 b/B + alpha for the b used. The same on each of two trees with half of
// the buffer; both have that depth.
TEST_P(ClosedForm, trees_on_private_links) {
  const auto [engine, n] = GetParam();
  for (const auto& [algorithm, trees] :
       {std::pair("tree", 1), std::pair("double_binary_tree", 2)}) {
    const Plan plan = make_plan(Collective::all_reduce, algorithm, uniform_placement(n));
    const double depth = std::ceil(std::log2(n));
    for (const std::int64_t loops : {1, 2, 16}) {
      const std::int64_t chunk = 1 << 20;
      const double hop = static_cast<double>(chunk) / rate.value;
      const double expected =
          2 * depth * (alpha.value + hop) + static_cast<double>(loops - 1) * hop;
      const Chunking chunking{.largest_chunk = {chunk}};
      EXPECT_NEAR(simulate(plan, test::private_wiring(plan, rate, alpha), engine,
                           trees * loops * Bytes{chunk}, chunking) /
                      expected,
                  1, agreement)
          << algorithm;
    }
  }
}

// N-1 flows share the server's port, one way and then the other.
TEST_P(ClosedForm, parameter_server_on_a_switch) {
  const auto [engine, n] = GetParam();
  const Plan plan = make_plan(Collective::all_reduce, "parameter_server", uniform_placement(n));
  const Bytes size{1 << 20};
  const double expected =
      2 * (alpha.value + (n - 1) * static_cast<double>(size.count) / rate.value);
  EXPECT_NEAR(simulate(plan, test::switch_wiring(plan, rate, alpha), engine, size) / expected, 1,
              agreement);
}

// Everybody sends S to N-1 others through one port.
TEST_P(ClosedForm, one_shot_on_a_switch) {
  const auto [engine, n] = GetParam();
  const Plan plan = make_plan(Collective::all_reduce, "one_shot", uniform_placement(n));
  const Bytes size{1 << 20};
  const double expected = alpha.value + (n - 1) * static_cast<double>(size.count) / rate.value;
  EXPECT_NEAR(simulate(plan, test::switch_wiring(plan, rate, alpha), engine, size) / expected, 1,
              agreement);
}

// N-1 parts of S/N one after the other, then S/N to N-1 others through one port.
TEST_P(ClosedForm, two_shot_on_a_switch) {
  const auto [engine, n] = GetParam();
  const Plan plan = make_plan(Collective::all_reduce, "two_shot", uniform_placement(n));
  const Bytes size = n * Bytes{65536};
  const double part = 65536 / rate.value;
  const double expected = 2 * (alpha.value + (n - 1) * part);
  EXPECT_NEAR(simulate(plan, test::switch_wiring(plan, rate, alpha), engine, size) / expected, 1,
              agreement);
}

// P = 2^k <= N: 2k exchanges of S/2, S/4, ... S/P, in all 2(P-1)/P S; the N-P others first hand
// their S over and get S back. Behind one port the handing over would meet the first exchange of
// ranks that have nothing to wait for, so links are private where N is no power of two.
TEST_P(ClosedForm, recursive_halving_doubling) {
  const auto [engine, n] = GetParam();
  const Plan plan =
      make_plan(Collective::all_reduce, "recursive_halving_doubling", uniform_placement(n));
  const double k = std::floor(std::log2(n));
  const double p = std::exp2(k);
  const Bytes size = 64 * Bytes{4096};
  const double whole = static_cast<double>(size.count) / rate.value;
  const double fold = n > p ? 2 * (alpha.value + whole) : 0;
  const double expected = fold + 2 * k * alpha.value + 2 * (p - 1) / p * whole;
  const Wiring wiring =
      n > p ? test::private_wiring(plan, rate, alpha) : test::switch_wiring(plan, rate, alpha);
  EXPECT_NEAR(simulate(plan, wiring, engine, size) / expected, 1, agreement);
}

// 2 ranks a node. Two hops inside (reduce-scatter, all-gather) of S/2, and a ring over M = N/2
// nodes with S/2 in between: 2(M-1) hops of S/2M.
TEST_P(ClosedForm, hierarchical_on_a_switch) {
  const auto [engine, n] = GetParam();
  if (n % 2 != 0) return;  // its nodes must be equally full
  const Plan plan = make_plan(Collective::all_reduce, "hierarchical", uniform_placement(n, 2));
  const double m = 0.5 * n;
  const Bytes size = n * Bytes{4096};
  const double whole = static_cast<double>(size.count) / rate.value;
  const double expected =
      2 * (alpha.value + whole / 2) + 2 * (m - 1) * (alpha.value + whole / 2 / m);
  EXPECT_NEAR(simulate(plan, test::switch_wiring(plan, rate, alpha), engine, size) / expected, 1,
              agreement);
}

INSTANTIATE_TEST_SUITE_P(Engines, ClosedForm, testing::ValuesIn(all_cases()), name_of);

}  // namespace
}  // namespace collsim
