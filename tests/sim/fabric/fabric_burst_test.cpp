// Links that pass a burst before they hold flows to their rate, on the native engine.

#include <gtest/gtest.h>

#include <functional>

#include "sim/fabric/native_fabric.h"
#include "tests/sim/fabric/fabric_test_support.h"

namespace collsim {
namespace {

/// A link of 1 byte a second that passes 10 bytes more, at 11 a second. Its bucket is full at 10, 0
/// of the times below.
class FabricBurst : public testing::Test {
 protected:
  FabricBurst() { fabric_.let_burst(link_, {Bytes{10}, per_second(11)}); }

  /// Runs what `start` starts when the bucket is full.
  void run(const std::function<void()>& start) {
    constexpr EventTag full = 100;
    fabric_.start_timer(Seconds{10}, full);
    recorder_.then(full, start);
    fabric_.run(recorder_);
  }
  double end_of(EventTag tag) const { return recorder_.end_of(tag) - 10; }

  NativeFabric fabric_;
  Recorder recorder_{fabric_};
  ResourceId link_ = fabric_.add_resource(per_second(1));
  RouteId route_ = add_route(fabric_, {link_});
};

// The bucket loses 10 a second: empty at 1, when 11 bytes have passed; 19 more take 19 s.
TEST_F(FabricBurst, is_over_when_the_bucket_is_empty) {
  run([&] { fabric_.start_flow(route_, 30, unlimited, 0); });
  EXPECT_NEAR(end_of(0), 20, 1e-9);
}

// 11 bytes are over at 1. Idle until 6, 5 bytes are back: at 11 a second for 0.5 s, 5.5 bytes, and
// the other 5.5 at 1 a second.
TEST_F(FabricBurst, comes_back_while_the_link_is_idle) {
  run([&] {
    fabric_.start_flow(route_, 11, unlimited, 0);
    fabric_.start_timer(Seconds{6}, 1);
    recorder_.then(1, [&] { fabric_.start_flow(route_, 11, unlimited, 2); });
  });
  EXPECT_NEAR(end_of(0), 1, 1e-9);
  EXPECT_NEAR(end_of(2), 12, 1e-9);
}

// At 3 a second the bucket lasts 5 s: 15 bytes, then 5 more at 1 a second.
TEST_F(FabricBurst, lasts_longer_under_a_smaller_load) {
  run([&] { fabric_.start_flow(route_, 20, per_second(3), 0); });
  EXPECT_NEAR(end_of(0), 10, 1e-9);
}

// Each has 5.5 of the peak's 11 a second. The bucket is empty at 1, when each has moved 5.5 of its
// 6 bytes; the rest goes at 0.5 a second.
TEST_F(FabricBurst, is_shared_by_the_flows_on_the_link) {
  run([&] {
    fabric_.start_flow(route_, 6, unlimited, 0);
    fabric_.start_flow(route_, 6, unlimited, 1);
  });
  EXPECT_NEAR(end_of(0), 2, 1e-9);
  EXPECT_NEAR(end_of(1), 2, 1e-9);
}

// As after other calls: 5 bytes take 5 s.
TEST_F(FabricBurst, begins_empty) {
  fabric_.start_flow(route_, 5, unlimited, 0);
  fabric_.run(recorder_);
  EXPECT_NEAR(recorder_.end_of(0), 5, 1e-9);
}

// A full bucket is no more than full, however long it waits.
TEST_F(FabricBurst, holds_no_more_than_its_size) {
  run([&] {
    fabric_.start_timer(Seconds{1000}, 1);
    recorder_.then(1, [&] { fabric_.start_flow(route_, 30, unlimited, 0); });
  });
  EXPECT_NEAR(end_of(0), 1020, 1e-6);
}

// A new capacity is a new shaper, whose bucket is empty: 8 bytes at 2 a second after 0.5 s of 11.
TEST_F(FabricBurst, ends_when_the_capacity_changes) {
  run([&] {
    fabric_.start_flow(route_, 13.5, unlimited, 0);
    fabric_.start_timer(Seconds{0.5}, 1);
    recorder_.then(1, [&] { fabric_.set_capacity(link_, per_second(2)); });
  });
  EXPECT_NEAR(end_of(0), 0.5 + 4, 1e-9);  // 5.5 bytes until then, 8 after
}

}  // namespace
}  // namespace collsim
