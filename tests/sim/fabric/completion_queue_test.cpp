#include "sim/fabric/completion_queue.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <vector>

namespace collsim {
namespace {

TEST(CompletionQueue, keeps_the_least_time_while_times_change) {
  std::mt19937 random(1);
  constexpr std::uint32_t flows = 50;
  CompletionQueue queue;
  std::vector<double> times(flows, -1);  // below 0: none
  std::set<std::pair<double, std::uint32_t>> expected;
  for (int step = 0; step < 20'000; ++step) {
    const auto flow = static_cast<std::uint32_t>(random() % flows);
    expected.erase({times[flow], flow});
    times[flow] = random() % 3 == 0 ? -1 : static_cast<double>(random() % 40);
    if (times[flow] < 0) {
      queue.remove(flow);
    } else {
      queue.set(flow, times[flow]);
      expected.insert({times[flow], flow});
    }
    ASSERT_EQ(queue.empty(), expected.empty());
    if (queue.empty()) continue;
    ASSERT_EQ(queue.time(), expected.begin()->first);
    ASSERT_EQ(queue.front(), expected.begin()->second);
  }
}

TEST(CompletionQueue, gives_equal_times_in_the_order_of_flows) {
  CompletionQueue queue;
  for (const std::uint32_t flow : {3U, 1U, 2U, 0U}) queue.set(flow, 7);
  for (std::uint32_t flow = 0; flow < 4; ++flow) {
    EXPECT_EQ(queue.front(), flow);
    queue.remove(flow);
  }
  EXPECT_TRUE(queue.empty());
}

}  // namespace
}  // namespace collsim
