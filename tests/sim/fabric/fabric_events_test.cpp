// What every engine promises about events, whatever it thinks of sharing.

#include <gtest/gtest.h>

#include <string>

#include "sim/fabric/engine.h"
#include "tests/sim/fabric/fabric_test_support.h"

namespace collsim {
namespace {

class FabricEvents : public testing::TestWithParam<Engine> {
 protected:
  std::unique_ptr<Fabric> fabric_ = make_fabric(GetParam());
  Recorder recorder_{*fabric_};
};

TEST_P(FabricEvents, nothing_to_do_ends_at_time_zero) {
  fabric_->run(recorder_);
  EXPECT_EQ(fabric_->now().value, 0);
  EXPECT_TRUE(recorder_.entries().empty());
}

TEST_P(FabricEvents, nothing_is_reported_before_run) {
  const auto route = add_route(*fabric_, {fabric_->add_resource(per_second(1))});
  fabric_->start_flow(route, 0, unlimited, 0);
  fabric_->start_timer(Seconds{0}, 1);
  EXPECT_TRUE(recorder_.entries().empty());
  fabric_->run(recorder_);
  EXPECT_EQ(recorder_.end_of(0), 0);
  EXPECT_EQ(recorder_.end_of(1), 0);
}

TEST_P(FabricEvents, an_empty_route_runs_at_the_rate_cap) {
  // 30 / 10 = 3, and flows on it do not see each other.
  const auto route = add_route(*fabric_, {});
  fabric_->start_flow(route, 30, per_second(10), 0);
  fabric_->start_flow(route, 30, per_second(10), 1);
  fabric_->start_flow(route, 30, per_second(5), 2);
  fabric_->run(recorder_);
  EXPECT_DOUBLE_EQ(recorder_.end_of(0), 3);
  EXPECT_DOUBLE_EQ(recorder_.end_of(1), 3);
  EXPECT_DOUBLE_EQ(recorder_.end_of(2), 6);
}

TEST_P(FabricEvents, an_empty_flow_needs_no_rate) {
  fabric_->start_flow(add_route(*fabric_, {}), 0, unlimited, 0);
  fabric_->run(recorder_);
  EXPECT_EQ(recorder_.end_of(0), 0);
}

TEST_P(FabricEvents, timers_ring_in_the_order_of_their_times) {
  fabric_->start_timer(microseconds(3), 3);
  fabric_->start_timer(microseconds(1), 1);
  fabric_->start_timer(microseconds(2), 2);
  fabric_->run(recorder_);
  ASSERT_EQ(recorder_.entries().size(), 3U);
  for (EventTag tag : {1U, 2U, 3U}) {
    EXPECT_EQ(recorder_.entries()[tag - 1].tag, tag);
    EXPECT_NEAR(recorder_.end_of(tag), tag * 1e-6, 1e-15 * tag);
    EXPECT_TRUE(recorder_.entries()[tag - 1].timer);
  }
}

TEST_P(FabricEvents, zero_delay_and_zero_bytes_do_not_move_the_clock) {
  // 0 -> 1 -> 2 -> 3, alternately timers and empty flows, all at 1 s, all before the timer at 2 s.
  const auto route = add_route(*fabric_, {fabric_->add_resource(per_second(1))});
  fabric_->start_timer(Seconds{1}, 0);
  fabric_->start_timer(Seconds{2}, 9);
  recorder_.then(0, [&] { fabric_->start_flow(route, 0, unlimited, 1); });
  recorder_.then(1, [&] { fabric_->start_timer(Seconds{0}, 2); });
  recorder_.then(2, [&] { fabric_->start_flow(route, 0, unlimited, 3); });
  fabric_->run(recorder_);
  ASSERT_EQ(recorder_.entries().size(), 5U);
  for (EventTag tag = 0; tag < 4; ++tag) {
    EXPECT_EQ(recorder_.entries()[tag].tag, tag);
    EXPECT_EQ(recorder_.end_of(tag), recorder_.end_of(0));
  }
  EXPECT_DOUBLE_EQ(recorder_.end_of(0), 1);
  EXPECT_DOUBLE_EQ(recorder_.end_of(9), 2);
}

TEST_P(FabricEvents, the_clock_stands_still_between_events_of_one_instant) {
  // Five flows that end together, and a timer at the same time.
  for (EventTag tag = 0; tag < 5; ++tag) {
    fabric_->start_flow(add_route(*fabric_, {fabric_->add_resource(per_second(7))}), 21, unlimited,
                        tag);
  }
  fabric_->start_timer(Seconds{3}, 5);
  fabric_->run(recorder_);
  ASSERT_EQ(recorder_.entries().size(), 6U);
  for (EventTag tag = 0; tag < 6; ++tag) {
    EXPECT_NEAR(recorder_.end_of(tag), 3, 3e-12);
  }
}

TEST_P(FabricEvents, run_goes_on_from_where_it_ended) {
  const auto route = add_route(*fabric_, {fabric_->add_resource(per_second(10))});
  fabric_->start_flow(route, 10, unlimited, 0);
  fabric_->run(recorder_);
  EXPECT_DOUBLE_EQ(fabric_->now().value, 1);
  fabric_->start_flow(route, 20, unlimited, 1);
  fabric_->run(recorder_);
  EXPECT_DOUBLE_EQ(recorder_.end_of(1), 3);
}

TEST_P(FabricEvents, a_chain_of_callbacks_keeps_its_exact_time) {
  // 1,000 times 1 us of bytes and 0.7 us of alpha.
  const auto route = add_route(*fabric_, {fabric_->add_resource(per_second(1e10))});
  unsigned left = 1000;
  recorder_.then(0, [&] { fabric_->start_timer(microseconds(0.7), 1); });
  recorder_.then(1, [&] {
    if (--left > 0) {
      fabric_->start_flow(route, 10'000, unlimited, 0);
    }
  });
  fabric_->start_flow(route, 10'000, unlimited, 0);
  fabric_->run(recorder_);
  EXPECT_NEAR(fabric_->now().value, 1.7e-3, 1.7e-12);
}

INSTANTIATE_TEST_SUITE_P(Engines, FabricEvents,
                         testing::ValuesIn(all_engines().begin(), all_engines().end()),
                         engine_name);

}  // namespace
}  // namespace collsim
