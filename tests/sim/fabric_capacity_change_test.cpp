// Rates that change while flows run, on the native engine: by set_capacity(), and what becomes of
// completions that were announced before.

#include <gtest/gtest.h>

#include "sim/native_fabric.h"
#include "tests/sim/fabric_test_support.h"

namespace collsim {
namespace {

TEST(FabricCapacityChange, holds_from_its_instant_on) {
  // 10 per second until 1, then 5 until 3, then 20: 10 + 10 + 20 bytes are over at 4.
  NativeFabric fabric;
  Recorder recorder(fabric);
  const auto link = fabric.add_resource(per_second(10));
  fabric.start_flow(add_route(fabric, {link}), 40, unlimited, 0);
  fabric.start_timer(Seconds{1}, 1);
  fabric.start_timer(Seconds{3}, 2);
  recorder.then(1, [&] { fabric.set_capacity(link, per_second(5)); });
  recorder.then(2, [&] { fabric.set_capacity(link, per_second(20)); });
  fabric.run(recorder);
  EXPECT_DOUBLE_EQ(recorder.end_of(0), 4);
}

TEST(FabricCapacityChange, reaches_flows_on_other_links) {
  // C_0 = 10, C_1 = 10; flow 0 on both, flow 1 on link 1. x_0 = x_1 = 5. At 1 C_0 falls to 2:
  // x_0 = 2, x_1 = 8. Flow 1 (21 bytes): 5 + 16, over at 3. Flow 0 (11 bytes): 5 + 6, over at 4.
  NativeFabric fabric;
  Recorder recorder(fabric);
  const auto first = fabric.add_resource(per_second(10));
  const auto second = fabric.add_resource(per_second(10));
  fabric.start_flow(add_route(fabric, {first, second}), 11, unlimited, 0);
  fabric.start_flow(add_route(fabric, {second}), 21, unlimited, 1);
  fabric.start_timer(Seconds{1}, 2);
  recorder.then(2, [&] { fabric.set_capacity(first, per_second(2)); });
  fabric.run(recorder);
  EXPECT_DOUBLE_EQ(recorder.end_of(1), 3);
  EXPECT_DOUBLE_EQ(recorder.end_of(0), 4);
}

TEST(FabricCapacityChange, an_overtaken_completion_does_not_move_the_clock) {
  // 100 bytes at 10 would end at 10; at 1 the link becomes 90 times faster: the rest ends at 1.1.
  NativeFabric fabric;
  Recorder recorder(fabric);
  const auto link = fabric.add_resource(per_second(10));
  fabric.start_flow(add_route(fabric, {link}), 100, unlimited, 0);
  fabric.start_timer(Seconds{1}, 1);
  recorder.then(1, [&] { fabric.set_capacity(link, per_second(900)); });
  fabric.run(recorder);
  EXPECT_DOUBLE_EQ(recorder.end_of(0), 1.1);
  EXPECT_EQ(fabric.now().value, recorder.end_of(0));
  EXPECT_EQ(recorder.entries().size(), 2U);
}

TEST(FabricCapacityChange, before_run_it_is_as_if_added_so) {
  NativeFabric fabric;
  Recorder recorder(fabric);
  const auto link = fabric.add_resource(per_second(10));
  fabric.start_flow(add_route(fabric, {link}), 100, unlimited, 0);
  fabric.set_capacity(link, per_second(50));
  fabric.run(recorder);
  EXPECT_DOUBLE_EQ(recorder.end_of(0), 2);
}

}  // namespace
}  // namespace collsim
