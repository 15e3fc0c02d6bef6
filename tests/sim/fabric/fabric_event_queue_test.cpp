#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

#include "sim/fabric/event_queue.h"

namespace collsim {
namespace {

TEST(FabricEventQueue, events_of_one_time_come_in_the_order_of_pushing) {
  EventQueue queue;
  for (std::uint32_t id = 0; id < 100; ++id) {
    queue.push(id % 2 == 0 ? 1.0 : 2.0, {id, id + 7});
  }
  for (std::uint32_t i = 0; i < 100; ++i) {
    const std::uint32_t id = i < 50 ? 2 * i : 2 * (i - 50) + 1;
    EXPECT_EQ(queue.time(), id % 2 == 0 ? 1.0 : 2.0);
    EXPECT_EQ(queue.front().id, id);
    const FabricEvent event = queue.pop();
    EXPECT_EQ(event.id, id);
    EXPECT_EQ(event.version, id + 7);
  }
  EXPECT_TRUE(queue.empty());
}

TEST(FabricEventQueue, agrees_with_a_sorted_map_on_random_pushes_and_pops) {
  // Few times (many events each) and many times (the cache of lists misses) in turn.
  for (const unsigned times : {3U, 50U, 100'000U}) {
    std::mt19937 random(times);
    EventQueue queue;
    std::multimap<double, std::uint32_t> expected;
    for (std::uint32_t id = 0; id < 20'000; ++id) {
      const double time = static_cast<double>(random() % times);
      queue.push(time, {id, 0});
      expected.emplace(time, id);
      if (random() % 3 == 0) {
        EXPECT_EQ(queue.time(), expected.begin()->first);
        const std::uint32_t popped = queue.pop().id;
        auto [it, end] = expected.equal_range(expected.begin()->first);
        while (it != end && it->second != popped) ++it;
        ASSERT_NE(it, end) << "not an event of the least time";
        expected.erase(it);
      }
    }
    while (!expected.empty()) {
      ASSERT_FALSE(queue.empty());
      EXPECT_EQ(queue.time(), expected.begin()->first);
      queue.pop();
      expected.erase(expected.begin());
    }
    EXPECT_TRUE(queue.empty());
  }
}

}  // namespace
}  // namespace collsim
