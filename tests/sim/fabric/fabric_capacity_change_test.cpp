// Rates that change while flows run, on both engines: by set_capacity() and redirect(), and what
// becomes of completions that were announced before.

#include <gtest/gtest.h>

#include <random>

#include "tests/sim/fabric/brute_force_max_min.h"
#include "tests/sim/fabric/fabric_test_support.h"
#include "tests/support/engines.h"

namespace collsim {
namespace {

class FabricCapacityChange : public testing::TestWithParam<Engine> {
 protected:
  /// Within what engines promise.
  static void expect_time(double actual, double expected) {
    EXPECT_NEAR(actual, expected, 1e-9 * expected);
  }
};

TEST_P(FabricCapacityChange, holds_from_its_instant_on) {
  // 10 per second until 1, then 5 until 3, then 20: 10 + 10 + 20 bytes are over at 4.
  const auto fabric = make_fabric(GetParam());
  Recorder recorder(*fabric);
  const auto link = fabric->add_resource(per_second(10));
  fabric->start_flow(add_route(*fabric, {link}), 40, unlimited, 0);
  fabric->start_timer(Seconds{1}, 1);
  fabric->start_timer(Seconds{3}, 2);
  recorder.then(1, [&] { fabric->set_capacity(link, per_second(5)); });
  recorder.then(2, [&] { fabric->set_capacity(link, per_second(20)); });
  fabric->run(recorder);
  expect_time(recorder.end_of(0), 4);
}

TEST_P(FabricCapacityChange, reaches_flows_on_other_links) {
  // C_0 = 10, C_1 = 10; flow 0 on both, flow 1 on link 1. x_0 = x_1 = 5. At 1 C_0 falls to 2:
  // x_0 = 2, x_1 = 8. Flow 1 (21 bytes): 5 + 16, over at 3. Flow 0 (11 bytes): 5 + 6, over at 4.
  const auto fabric = make_fabric(GetParam());
  Recorder recorder(*fabric);
  const auto first = fabric->add_resource(per_second(10));
  const auto second = fabric->add_resource(per_second(10));
  fabric->start_flow(add_route(*fabric, {first, second}), 11, unlimited, 0);
  fabric->start_flow(add_route(*fabric, {second}), 21, unlimited, 1);
  fabric->start_timer(Seconds{1}, 2);
  recorder.then(2, [&] { fabric->set_capacity(first, per_second(2)); });
  fabric->run(recorder);
  expect_time(recorder.end_of(1), 3);
  expect_time(recorder.end_of(0), 4);
}

TEST_P(FabricCapacityChange, an_overtaken_completion_does_not_move_the_clock) {
  // 100 bytes at 10 would end at 10; at 1 the link becomes 90 times faster: the rest ends at 1.1.
  const auto fabric = make_fabric(GetParam());
  Recorder recorder(*fabric);
  const auto link = fabric->add_resource(per_second(10));
  fabric->start_flow(add_route(*fabric, {link}), 100, unlimited, 0);
  fabric->start_timer(Seconds{1}, 1);
  recorder.then(1, [&] { fabric->set_capacity(link, per_second(900)); });
  fabric->run(recorder);
  expect_time(recorder.end_of(0), 1.1);
  EXPECT_EQ(fabric->now().value, recorder.end_of(0));
  EXPECT_EQ(recorder.entries().size(), 2U);
}

TEST_P(FabricCapacityChange, before_run_it_is_as_if_added_so) {
  const auto fabric = make_fabric(GetParam());
  Recorder recorder(*fabric);
  const auto link = fabric->add_resource(per_second(10));
  fabric->start_flow(add_route(*fabric, {link}), 100, unlimited, 0);
  fabric->set_capacity(link, per_second(50));
  fabric->run(recorder);
  expect_time(recorder.end_of(0), 2);
}

TEST_P(FabricCapacityChange, a_rate_cap_holds_on_the_faster_link_too) {
  // 4 until 1, then the link allows 100 but the flow only 6: 4 + 6 x 2 bytes are over at 3.
  const auto fabric = make_fabric(GetParam());
  Recorder recorder(*fabric);
  const auto link = fabric->add_resource(per_second(4));
  fabric->start_flow(add_route(*fabric, {link}), 16, per_second(6), 0);
  fabric->start_timer(Seconds{1}, 1);
  recorder.then(1, [&] { fabric->set_capacity(link, per_second(100)); });
  fabric->run(recorder);
  expect_time(recorder.end_of(0), 3);
}

TEST_P(FabricCapacityChange, nothing_moves_while_it_is_zero) {
  // 10 per second until 1, nothing until 5, then 10 again: 30 bytes are over at 7. What starts
  // meanwhile (10 bytes at 2) shares the link from 5 on, 5 each: over at 7 as well.
  const auto fabric = make_fabric(GetParam());
  Recorder recorder(*fabric);
  const auto link = fabric->add_resource(per_second(10));
  const RouteId route = add_route(*fabric, {link});
  fabric->start_flow(route, 20, unlimited, 0);
  fabric->start_timer(Seconds{1}, 1);
  fabric->start_timer(Seconds{2}, 2);
  fabric->start_timer(Seconds{5}, 3);
  recorder.then(1, [&] { fabric->set_capacity(link, per_second(0)); });
  recorder.then(2, [&] { fabric->start_flow(route, 10, unlimited, 4); });
  recorder.then(3, [&] { fabric->set_capacity(link, per_second(10)); });
  fabric->run(recorder);
  expect_time(recorder.end_of(0), 7);
  expect_time(recorder.end_of(4), 7);
}

TEST_P(FabricCapacityChange, run_returns_though_a_flow_stands_still) {
  const auto fabric = make_fabric(GetParam());
  Recorder recorder(*fabric);
  const auto dead = fabric->add_resource(per_second(10));
  const auto alive = fabric->add_resource(per_second(10));
  fabric->set_capacity(dead, per_second(0));
  fabric->start_flow(add_route(*fabric, {dead}), 20, unlimited, 0);
  fabric->start_flow(add_route(*fabric, {dead, alive}), 20, unlimited, 1);
  fabric->start_flow(add_route(*fabric, {alive}), 20, unlimited, 2);
  fabric->run(recorder);
  EXPECT_EQ(recorder.end_of(0), -1);
  EXPECT_EQ(recorder.end_of(1), -1);
  expect_time(recorder.end_of(2), 2);
}

TEST_P(FabricCapacityChange, a_redirect_leaves_flows_of_other_routes_over_the_same_links) {
  // Two flows of 8 bytes share 4: 2 each until 1. Then flow 0 has 6 left, at 10 over the other
  // link: over at 1.6; flow 1 has 6 left at 4: over at 2.5.
  const auto fabric = make_fabric(GetParam());
  Recorder recorder(*fabric);
  const auto link = fabric->add_resource(per_second(4));
  const RouteId moved = add_route(*fabric, {link});
  const RouteId left = add_route(*fabric, {link});
  const RouteId other = add_route(*fabric, {fabric->add_resource(per_second(10))});
  fabric->start_flow(moved, 8, unlimited, 0);
  fabric->start_flow(left, 8, unlimited, 1);
  fabric->start_timer(Seconds{1}, 2);
  recorder.then(2, [&] { fabric->redirect(moved, other); });
  fabric->run(recorder);
  expect_time(recorder.end_of(0), 1.6);
  expect_time(recorder.end_of(1), 2.5);
}

// At the instant at which flow 0 ends its route is redirected, its link dies, or both. Its end
// stands, whichever of the two is heard of first; flow 1 of another route, with 10 more to move,
// goes on.
TEST_P(FabricCapacityChange, a_flow_that_is_over_at_this_instant_is_over) {
  for (const bool is_redirected : {false, true}) {
    for (const bool dies : {false, true}) {
      for (const bool is_told_first : {false, true}) {
        const auto fabric = make_fabric(GetParam());
        Recorder recorder(*fabric);
        const ResourceId link = fabric->add_resource(per_second(10));
        const RouteId route = add_route(*fabric, {link});
        const RouteId beside = add_route(*fabric, {link});
        const RouteId other = add_route(*fabric, {fabric->add_resource(per_second(10))});
        if (is_told_first) fabric->start_timer(Seconds{2}, 2);
        fabric->start_flow(route, 10, unlimited, 0);
        fabric->start_flow(beside, 20, unlimited, 1);
        if (!is_told_first) fabric->start_timer(Seconds{2}, 2);
        recorder.then(2, [&] {
          if (is_redirected) fabric->redirect(route, other);
          if (dies) fabric->set_capacity(link, per_second(0));
        });
        if (dies) fabric->start_timer(Seconds{3}, 3);
        recorder.then(3, [&] { fabric->set_capacity(link, per_second(10)); });
        fabric->run(recorder);
        expect_time(recorder.end_of(0), 2);
        expect_time(recorder.end_of(1), dies ? 4 : 3);
      }
    }
  }
}

TEST_P(FabricCapacityChange, redirected_flows_keep_what_they_have_moved) {
  // 20 bytes at 10 until 1; link 0 dies, and at 3 the flow moves to link 1, where it shares 10 with
  // another of 15 bytes, begun at 3: 5 each, the 10 that are left are over at 5, the other has 5
  // left at 10: over at 5.5.
  const auto fabric = make_fabric(GetParam());
  Recorder recorder(*fabric);
  const auto first = fabric->add_resource(per_second(10));
  const auto second = fabric->add_resource(per_second(10));
  const RouteId old_route = add_route(*fabric, {first});
  const RouteId new_route = add_route(*fabric, {second});
  fabric->start_flow(old_route, 20, unlimited, 0);
  fabric->start_timer(Seconds{1}, 1);
  fabric->start_timer(Seconds{3}, 2);
  recorder.then(1, [&] { fabric->set_capacity(first, per_second(0)); });
  recorder.then(2, [&] {
    fabric->redirect(old_route, new_route);
    fabric->start_flow(new_route, 15, unlimited, 3);
  });
  fabric->run(recorder);
  expect_time(recorder.end_of(0), 5);
  expect_time(recorder.end_of(3), 5.5);
}

/// Flows on random routes of four links, whose capacities change, to zero and back, and whose flows
/// move to other routes, all at random times.
std::vector<double> random_changes(Fabric& fabric, unsigned seed) {
  std::mt19937 random(seed);
  const auto draw = [&random](unsigned least, unsigned most) {
    return least + static_cast<unsigned>(random() % (most - least + 1));
  };
  Recorder recorder(fabric);
  for (int link = 0; link < 4; ++link) fabric.add_resource(BytesPerSecond{1e9 * draw(1, 9)});
  for (ResourceId link = 0; link < 4; ++link) {
    add_route(fabric, {link});
    add_route(fabric, {link, (link + 1) % 4});
  }
  constexpr EventTag flows = 12;
  constexpr EventTag changes = 10;
  for (EventTag flow = 0; flow < flows; ++flow) {
    const RouteId route = draw(0, 7);
    const double cap = draw(0, 1) == 0 ? unlimited.value : 0.7e9 * draw(1, 9);
    const double bytes = 1e3 * draw(1, 60);
    fabric.start_timer(Seconds{1e-7 * draw(0, 90)}, 1000 + flow);
    recorder.then(1000 + flow, [&fabric, route, bytes, cap, flow] {
      fabric.start_flow(route, bytes, BytesPerSecond{cap}, flow);
    });
  }
  for (EventTag change = 0; change < changes; ++change) {
    const ResourceId link = draw(0, 3);
    const double capacity = draw(0, 3) == 0 ? 0 : 1e9 * draw(1, 12);
    const RouteId from = draw(0, 7);
    const RouteId to = (from + draw(1, 7)) % 8;
    const bool moves = draw(0, 2) == 0;
    fabric.start_timer(Seconds{1.3e-7 * draw(1, 300)}, 2000 + change);
    recorder.then(2000 + change, [&fabric, link, capacity, from, to, moves] {
      if (moves) fabric.redirect(from, to);
      fabric.set_capacity(link, BytesPerSecond{capacity});
    });
  }
  fabric.run(recorder);
  std::vector<double> ends;
  for (EventTag flow = 0; flow < flows; ++flow) ends.push_back(recorder.end_of(flow));
  return ends;
}

TEST_P(FabricCapacityChange, agrees_with_brute_force) {
  std::size_t standing = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    BruteForceFabric reference;
    const std::vector<double> expected = random_changes(reference, seed);
    const auto fabric = make_fabric(GetParam());
    const std::vector<double> actual = random_changes(*fabric, seed);
    for (std::size_t flow = 0; flow < expected.size(); ++flow) {
      ASSERT_NEAR(actual[flow], expected[flow], 1e-9 * std::abs(expected[flow]))
          << "seed " << seed << " flow " << flow;
      if (expected[flow] < 0) ++standing;
    }
  }
  EXPECT_GT(standing, 0U);
}

INSTANTIATE_TEST_SUITE_P(Engines, FabricCapacityChange, testing::ValuesIn(test::fair_engines()),
                         engine_name);

}  // namespace
}  // namespace collsim
