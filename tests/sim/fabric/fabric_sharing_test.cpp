// Hand-derived max-min allocations, on every engine that shares. Times in seconds, capacities in
// bytes per second. x_i is the rate of flow i, C_r the capacity of resource r.

#include <gtest/gtest.h>

#include <string>

#include "sim/fabric/engine.h"
#include "tests/sim/fabric/fabric_test_support.h"
#include "tests/support/engines.h"

namespace collsim {
namespace {

class FabricSharing : public testing::TestWithParam<Engine> {
 protected:
  std::unique_ptr<Fabric> fabric_ = make_fabric(GetParam());
  Recorder recorder_{*fabric_};

  void expect_end(EventTag tag, double time) {
    EXPECT_NEAR(recorder_.end_of(tag), time, 1e-9 * time) << "tag " << tag;
  }
};

TEST_P(FabricSharing, a_flow_alone_has_the_least_capacity_of_its_route) {
  // x = min(100, 20, 50) = 20; 60 / 20 = 3.
  const auto a = fabric_->add_resource(per_second(100));
  const auto b = fabric_->add_resource(per_second(20));
  const auto c = fabric_->add_resource(per_second(50));
  fabric_->start_flow(add_route(*fabric_, {a, b, c}), 60, unlimited, 1);
  fabric_->run(recorder_);
  expect_end(1, 3);
}

TEST_P(FabricSharing, equal_flows_on_one_link_share_exactly) {
  // x_i = C / k, so all end at k b / C.
  for (const unsigned flows : {1U, 2U, 3U, 7U, 64U, 100U, 1000U}) {
    fabric_.reset();
    fabric_ = make_fabric(GetParam());
    Recorder recorder(*fabric_);
    const auto route = add_route(*fabric_, {fabric_->add_resource(per_second(25e9))});
    for (unsigned i = 0; i < flows; ++i) {
      fabric_->start_flow(route, 1'000'003, unlimited, i);
    }
    fabric_->run(recorder);
    ASSERT_EQ(recorder.entries().size(), flows);
    const double expected = flows * 1'000'003 / 25e9;
    for (const auto& entry : recorder.entries()) {
      EXPECT_NEAR(entry.time, expected, 1e-12 * expected) << flows << " flows";
    }
  }
}

TEST_P(FabricSharing, parking_lot) {
  // Flow 0 uses both links, flow 1 the first, flow 2 the second. C_0 = 10, C_1 = 30.
  //   x_0 + x_1 <= 10, x_0 + x_2 <= 30: link 0 fills first, x_0 = x_1 = 5, then x_2 = 25.
  // Flow 2 has 50 bytes, over at 2. Flow 1 has 25 bytes, over at 5. Flow 0 then has
  // 100 - 25 = 75 left and runs at min(10, 30) = 10: over at 12.5.
  const auto first = fabric_->add_resource(per_second(10));
  const auto second = fabric_->add_resource(per_second(30));
  fabric_->start_flow(add_route(*fabric_, {first, second}), 100, unlimited, 0);
  fabric_->start_flow(add_route(*fabric_, {first}), 25, unlimited, 1);
  fabric_->start_flow(add_route(*fabric_, {second}), 50, unlimited, 2);
  fabric_->run(recorder_);
  expect_end(2, 2);
  expect_end(1, 5);
  expect_end(0, 12.5);
}

TEST_P(FabricSharing, flows_share_by_weight) {
  // C = 9, weights 1 and 2: x_0 = 3, x_1 = 6. Flow 1 (12 bytes) ends at 2; flow 0 has 15 - 6 = 9
  // left, now at 9: over at 3.
  const auto route = add_route(*fabric_, {fabric_->add_resource(per_second(9))});
  fabric_->start_flow(route, 15, {unlimited, 1}, 0);
  fabric_->start_flow(route, 12, {unlimited, 2}, 1);
  fabric_->run(recorder_);
  expect_end(1, 2);
  expect_end(0, 3);
}

TEST_P(FabricSharing, equal_weights_share_as_if_there_were_none) {
  // C = 10, a hundredth each: 5 each, both over at 4.
  const auto route = add_route(*fabric_, {fabric_->add_resource(per_second(10))});
  fabric_->start_flow(route, 20, {unlimited, 0.01}, 0);
  fabric_->start_flow(route, 20, {unlimited, 0.01}, 1);
  fabric_->run(recorder_);
  expect_end(0, 4);
  expect_end(1, 4);
}

TEST_P(FabricSharing, flows_that_join_others_of_their_route_end_by_what_they_have_left) {
  // C = 6, 12 bytes each, begun at 0, 1 and 2. Flow 0 has 6 left at 1 and 3 at 2, flow 1 then 9.
  // Three at 2 each: flow 0 is over at 3.5, when 6 and 9 are left. Two at 3: flow 1 is over at 5.5,
  // when flow 2 has 3 left, at 6: over at 6. Routes of the same links are as one.
  const auto link = fabric_->add_resource(per_second(6));
  const RouteId routes[] = {add_route(*fabric_, {link}), add_route(*fabric_, {link})};
  const auto start = [&](EventTag tag) {
    fabric_->start_flow(routes[tag % 2], 12, unlimited, tag);
  };
  start(0);
  fabric_->start_timer(Seconds{1}, 11);
  fabric_->start_timer(Seconds{2}, 12);
  recorder_.then(11, [&] { start(1); });
  recorder_.then(12, [&] { start(2); });
  fabric_->run(recorder_);
  expect_end(0, 3.5);
  expect_end(1, 5.5);
  expect_end(2, 6);
}

TEST_P(FabricSharing, a_light_flow_with_little_to_move_overtakes_a_heavy_one) {
  // C = 6, weights 2 and 1: 4 and 2. Flow 1 (2 bytes) is over at 1; flow 0 has 16 - 4 = 12 left, at
  // 6: over at 3. Both have the same cap of 5 a unit of weight, which binds nothing.
  const auto route = add_route(*fabric_, {fabric_->add_resource(per_second(6))});
  fabric_->start_flow(route, 16, {per_second(5), 2}, 0);
  fabric_->start_flow(route, 2, {per_second(5), 1}, 1);
  fabric_->run(recorder_);
  expect_end(1, 1);
  expect_end(0, 3);
}

// C = 10, and 10 bytes, alone: over at 1.
TEST(NativeFabric, takes_any_weight) {
  for (const double weight : {1e-30, 1e-13, 1e-3, 1.0, 4096.0, 1e30}) {
    const auto fabric = make_fabric(Engine::native);
    Recorder recorder(*fabric);
    const auto route = add_route(*fabric, {fabric->add_resource(per_second(10))});
    fabric->start_flow(route, 10, {unlimited, weight}, 0);
    fabric->run(recorder);
    EXPECT_NEAR(recorder.end_of(0), 1, 1e-9) << weight;
  }
}

TEST_P(FabricSharing, a_weight_counts_on_every_link) {
  // Flow 0 (weight 3) uses both links, flow 1 the first, flow 2 the second. C_0 = 8, C_1 = 20.
  //   3 + 1 parts of 8: level 2, x_0 = 6, x_1 = 2, then x_2 = 20 - 6 = 14.
  // Flow 2 has 28 bytes, over at 2. Flow 1 has 10 bytes, over at 5. Flow 0 then has 54 - 30 = 24
  // left and runs at min(8, 20) = 8: over at 8.
  const auto first = fabric_->add_resource(per_second(8));
  const auto second = fabric_->add_resource(per_second(20));
  fabric_->start_flow(add_route(*fabric_, {first, second}), 54, {unlimited, 3}, 0);
  fabric_->start_flow(add_route(*fabric_, {first}), 10, unlimited, 1);
  fabric_->start_flow(add_route(*fabric_, {second}), 28, unlimited, 2);
  fabric_->run(recorder_);
  expect_end(2, 2);
  expect_end(1, 5);
  expect_end(0, 8);
}

TEST_P(FabricSharing, a_rate_cap_leaves_the_rest_to_others) {
  // C = 12 for three flows, one capped at 2, whatever its weight: x_1 = x_2 = (12 - 2) / 2 = 5.
  // Flows 1 (10 bytes) and 2 (20 bytes): flow 1 ends at 2; then x_2 = 10 for its last 10: ends
  // at 3. Flow 0 stays at its cap: 8 / 2 = 4. Then the same again, over at 8.
  const auto route = add_route(*fabric_, {fabric_->add_resource(per_second(12))});
  const auto start = [&](EventTag first, double weight) {
    fabric_->start_flow(route, 8, {per_second(2 / weight), weight}, first);
    fabric_->start_flow(route, 10, unlimited, first + 1);
    fabric_->start_flow(route, 20, unlimited, first + 2);
  };
  start(0, 1);
  recorder_.then(0, [&] { start(10, 4); });
  fabric_->run(recorder_);
  for (const double begin : {0.0, 4.0}) {
    const EventTag first = begin == 0 ? 0 : 10;
    expect_end(first + 1, begin + 2);
    expect_end(first + 2, begin + 3);
    expect_end(first, begin + 4);
  }
}

TEST_P(FabricSharing, a_flow_that_takes_the_place_of_another_gets_what_is_its_own) {
  // C = 10: flows 0 (10 bytes) and 1 (40) at 5 each. At 2 flow 2 (15 bytes) follows flow 0 and has
  // 5 as well: over at 5, when flow 1 has 15 left. Flow 3 (6 bytes) follows, but reaches 2 only:
  // over at 8; flow 1 at 8, over at 5 + 15 / 8.
  const auto route = add_route(*fabric_, {fabric_->add_resource(per_second(10))});
  fabric_->start_flow(route, 10, unlimited, 0);
  fabric_->start_flow(route, 40, unlimited, 1);
  recorder_.then(0, [&] { fabric_->start_flow(route, 15, unlimited, 2); });
  recorder_.then(2, [&] { fabric_->start_flow(route, 6, per_second(2), 3); });
  fabric_->run(recorder_);
  expect_end(0, 2);
  expect_end(2, 5);
  expect_end(1, 5 + 15.0 / 8);
  expect_end(3, 8);
}

TEST_P(FabricSharing, a_cap_above_the_fair_share_binds_when_others_have_gone) {
  // C = 10, x_0 <= 8. Together 5 each; flow 1 (10 bytes) ends at 2. Flow 0 has 26 - 10 = 16 left
  // and runs at 8: ends at 4.
  const auto route = add_route(*fabric_, {fabric_->add_resource(per_second(10))});
  fabric_->start_flow(route, 26, per_second(8), 0);
  fabric_->start_flow(route, 10, unlimited, 1);
  fabric_->run(recorder_);
  expect_end(1, 2);
  expect_end(0, 4);
}

TEST_P(FabricSharing, an_end_changes_rates_two_links_away) {
  // C_0 = 2, C_1 = 10. Flow 0 on link 0; flow 1 on links 0 and 1; flow 2 on link 1.
  //   x_0 = x_1 = 1, x_2 = 9. Flow 0 (3 bytes) ends at 3: x_1 = 2, x_2 = 8.
  // Flow 2 has 67 - 27 = 40 left: ends at 8. Flow 1 has had 3 + 10; 5 more bytes at 2: 10.5.
  const auto left = fabric_->add_resource(per_second(2));
  const auto right = fabric_->add_resource(per_second(10));
  fabric_->start_flow(add_route(*fabric_, {left}), 3, unlimited, 0);
  fabric_->start_flow(add_route(*fabric_, {left, right}), 18, unlimited, 1);
  fabric_->start_flow(add_route(*fabric_, {right}), 67, unlimited, 2);
  fabric_->run(recorder_);
  expect_end(0, 3);
  expect_end(2, 8);
  expect_end(1, 10.5);
}

TEST_P(FabricSharing, a_later_flow_takes_its_share_from_its_start_on) {
  // C = 10. Flow 0 alone until 1 (10 bytes), then 5: 20 bytes are over at 3. Flow 1 starts at 1
  // with 30 bytes: 10 by 3, the other 20 at 10: ends at 5.
  const auto route = add_route(*fabric_, {fabric_->add_resource(per_second(10))});
  fabric_->start_flow(route, 20, unlimited, 0);
  fabric_->start_timer(Seconds{1}, 9);
  recorder_.then(9, [&] { fabric_->start_flow(route, 30, unlimited, 1); });
  fabric_->run(recorder_);
  expect_end(0, 3);
  expect_end(1, 5);
}

TEST_P(FabricSharing, unlimited_resources_limit_nobody_and_join_nobody) {
  // Both cross the unlimited resource; alone they have 10 and 4.
  const auto open = fabric_->add_resource(unlimited);
  const auto a = fabric_->add_resource(per_second(10));
  const auto b = fabric_->add_resource(per_second(4));
  fabric_->start_flow(add_route(*fabric_, {a, open}), 10, unlimited, 0);
  fabric_->start_flow(add_route(*fabric_, {open, b}), 12, unlimited, 1);
  fabric_->start_flow(add_route(*fabric_, {open}), 10, per_second(5), 2);
  fabric_->run(recorder_);
  expect_end(0, 1);
  expect_end(1, 3);
  expect_end(2, 2);
}

TEST_P(FabricSharing, a_zero_byte_flow_takes_nothing_from_others) {
  const auto route = add_route(*fabric_, {fabric_->add_resource(per_second(10))});
  fabric_->start_flow(route, 0, unlimited, 0);
  fabric_->start_flow(route, 20, unlimited, 1);
  fabric_->run(recorder_);
  EXPECT_EQ(recorder_.end_of(0), 0);
  expect_end(1, 2);
}

TEST_P(FabricSharing, sizes_need_not_be_whole_bytes) {
  // LL128 carries 120 bytes of data in 128: 1000 * 128 / 120 bytes on the wire.
  const double bytes = 1000 * 128.0 / 120;
  const auto route = add_route(*fabric_, {fabric_->add_resource(per_second(50e9))});
  fabric_->start_flow(route, bytes, unlimited, 0);
  fabric_->start_flow(route, bytes / 3, unlimited, 1);
  // Both at 25e9; flow 1 is over when each has moved bytes / 3; the rest, 2 bytes / 3, at 50e9.
  fabric_->run(recorder_);
  expect_end(1, bytes / 3 / 25e9);
  expect_end(0, bytes / 3 / 25e9 + 2 * bytes / 3 / 50e9);
}

TEST_P(FabricSharing, precision_holds_from_nanoseconds_to_hours) {
  // A single byte at 1 TB/s, after which 1e13 bytes need 1e4 s at 1e9.
  const auto fast = add_route(*fabric_, {fabric_->add_resource(per_second(1e12))});
  const auto slow = add_route(*fabric_, {fabric_->add_resource(per_second(1e9))});
  fabric_->start_flow(fast, 1, unlimited, 0);
  recorder_.then(0, [&] { fabric_->start_flow(slow, 1e13, unlimited, 1); });
  fabric_->run(recorder_);
  expect_end(0, 1e-12);
  expect_end(1, 1e4);
}

INSTANTIATE_TEST_SUITE_P(Engines, FabricSharing, testing::ValuesIn(test::fair_engines()),
                         engine_name);

}  // namespace
}  // namespace collsim
