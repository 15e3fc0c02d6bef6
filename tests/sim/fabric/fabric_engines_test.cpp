#include <gtest/gtest.h>

#include "sim/fabric/engine.h"
#include "sim/fabric/simgrid_fabric.h"
#include "tests/sim/fabric/fabric_test_support.h"

namespace collsim {
namespace {

TEST(FabricEngines, are_found_by_their_names) {
  for (const Engine engine : all_engines()) {
    EXPECT_EQ(find_engine(to_string(engine)), engine);
  }
  EXPECT_EQ(all_engines().size(), has_simgrid() ? 3U : 2U);
  EXPECT_EQ(find_engine("Native"), std::nullopt);
  EXPECT_EQ(find_engine(""), std::nullopt);
}

TEST(FabricEngines, do_not_see_what_was_simulated_before) {
  // An hour of simulated time leaves a clock of 64 bits some 4.5e-13 s: too coarse for 1e-9 of the
  // 10 us that come after it.
  for (const Engine engine : all_engines()) {
    for (const double seconds : {3600.0, 1e-5}) {
      const auto fabric = make_fabric(engine);
      Recorder recorder(*fabric);
      const auto route = add_route(*fabric, {fabric->add_resource(per_second(1e9))});
      EXPECT_EQ(fabric->now().value, 0);
      fabric->start_flow(route, seconds * 0.3 * 1e9, unlimited, 0);
      recorder.then(0, [&] { fabric->start_timer(Seconds{seconds * 0.7}, 1); });
      fabric->run(recorder);
      EXPECT_NEAR(fabric->now().value, seconds, 1e-12 * seconds) << to_string(engine);
    }
  }
}

TEST(FabricEngines, one_simgrid_fabric_follows_another) {
  if (!has_simgrid()) GTEST_SKIP() << "built without SimGrid";
  for (int i = 0; i < 300; ++i) {
    const auto fabric = make_fabric(Engine::simgrid);
    Recorder recorder(*fabric);
    const auto route = add_route(*fabric, {fabric->add_resource(per_second(10))});
    fabric->start_flow(route, 10 + i, unlimited, 0);
    if (i % 3 != 0) {  // else it ends with a flow that never ran
      fabric->run(recorder);
      EXPECT_DOUBLE_EQ(recorder.end_of(0), 1 + i / 10.0);
    }
  }
}

}  // namespace
}  // namespace collsim
