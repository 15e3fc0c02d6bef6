// Calls of textbooks' rings of two ranks at once, on ports of 10 GB/s. Each rank sends half of a
// call's bytes twice, one after the other: 1 MB alone takes 2 x 50 us, and 2 us of alpha.

#include "sim/execution/calls_at_once.h"

#include <gtest/gtest.h>

#include <deque>
#include <numeric>
#include <vector>

#include "sim/algorithms/registry.h"
#include "sim/execution/data_partition.h"
#include "sim/execution/executor.h"
#include "sim/fabric/engine.h"
#include "tests/support/engines.h"
#include "tests/support/machines.h"

namespace collsim {
namespace {

/// A ring of so many bytes on the ports from `first` on.
struct Ring {
  std::int64_t bytes = 0;
  std::uint32_t first_port = 0;
};

class CallsOnPorts {
 public:
  explicit CallsOnPorts(const std::vector<Ring>& rings) {
    for (const Ring& ring : rings) {
      partitions_.emplace_back(plan_, Bytes{ring.bytes}, Bytes{4}, Chunking{});
      Wiring wiring = test::switch_wiring(plan_, gigabytes_per_second(10), microseconds(1));
      for (std::uint32_t i = 0; i < wiring.capacities.size(); ++i) {
        wiring.origins.push_back({false, ring.first_port + i});
      }
      wirings_.push_back(wiring);
      executions_.push_back({plan_, partitions_.back(), wirings_.back(), cost_});
    }
  }
  std::vector<double> microseconds_on(Engine engine) const {
    std::vector<double> times;
    for (const Seconds time : execute_at_once(executions_, *make_fabric(engine))) {
      times.push_back(in_microseconds(time));
    }
    return times;
  }
  const Execution& first() const { return executions_.front(); }

 private:
  Plan plan_ = make_plan(Collective::all_reduce, "ring", uniform_placement(2));
  Calibration cost_;
  std::deque<DataPartition> partitions_;
  std::deque<Wiring> wirings_;
  std::vector<Execution> executions_;
};

class CallsAtOnceOn : public testing::TestWithParam<Engine> {
 protected:
  static void expect_times(const std::vector<Ring>& rings, const std::vector<double>& expected) {
    const std::vector<double> times = CallsOnPorts(rings).microseconds_on(GetParam());
    ASSERT_EQ(times.size(), expected.size());
    for (std::size_t i = 0; i < times.size(); ++i) EXPECT_NEAR(times[i], expected[i], 1e-6) << i;
  }
};

TEST_P(CallsAtOnceOn, one_takes_what_it_takes_alone) {
  const CallsOnPorts calls({{1'000'000, 0}});
  const Seconds alone = execute(calls.first(), *make_fabric(GetParam())).time;
  EXPECT_EQ(calls.microseconds_on(GetParam()).front(), in_microseconds(alone));
}

// Both send at 5 GB/s all the time.
TEST_P(CallsAtOnceOn, two_of_the_same_ports_share_them) {
  expect_times({{1'000'000, 0}, {1'000'000, 0}}, {202, 202});
}

TEST_P(CallsAtOnceOn, those_of_other_ports_take_what_they_take_alone) {
  expect_times({{1'000'000, 0}, {1'000'000, 4}}, {102, 102});
}

// The short one sends its halves until 100 and from 101 to 201 us, and ends at 202. By 201 the long
// one has sent 500 + 10 + 500 kB, 10 of them alone. Of its first half of 2 MB 990 kB are left:
// until 300 us, 301 with alpha. Then 2 MB alone: 502.
TEST_P(CallsAtOnceOn, a_longer_one_goes_on_alone) {
  expect_times({{1'000'000, 0}, {4'000'000, 0}}, {202, 502});
}

INSTANTIATE_TEST_SUITE_P(Engines, CallsAtOnceOn, testing::ValuesIn(test::fair_engines()));

// What the origins say: resources 4 and 5 of a machine are in both, of which the lesser counts.
TEST(JoinedWirings, number_what_they_have_in_common_once) {
  Wiring one;
  one.capacities = {gigabytes_per_second(1), gigabytes_per_second(2)};
  one.origins = {{false, 3}, {false, 4}};
  one.wires = {{Wire{{0, 1}, {}}}};
  Wiring two;
  two.capacities = {gigabytes_per_second(7), gigabytes_per_second(9)};
  two.origins = {{true, 4}, {false, 4}};
  two.wires = {{Wire{{1}, {}}, Wire{{0}, {}}}};
  const std::vector<const Wiring*> both{&one, &two};
  const std::vector<Wiring> joined = joined_wirings(both);
  for (const Wiring& wiring : joined) {
    ASSERT_EQ(wiring.capacities.size(), 3U);
    EXPECT_EQ(wiring.capacities[1], gigabytes_per_second(2));
    EXPECT_EQ(wiring.capacities[2], gigabytes_per_second(7));
  }
  EXPECT_EQ(joined[1].wires[0][0].resources, std::vector<ResourceId>{1});
  EXPECT_EQ(joined[1].wires[0][1].resources, std::vector<ResourceId>{2});
}

}  // namespace
}  // namespace collsim
