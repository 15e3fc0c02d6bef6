// A call that repeats itself, continued, takes as long as the whole call. Where laps repeat to the
// digit that holds to rounding; where channels share links, laps differ, and it holds to half a
// per cent.

#include "sim/execution/steady_state.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "sim/algorithms/registry.h"
#include "sim/execution/effort.h"
#include "sim/execution/executor.h"
#include "sim/fabric/native_fabric.h"
#include "tests/support/machines.h"

namespace collsim {
namespace {

/// A textbook's call on a switch, 10 GB/s and 1 us to everybody.
class RepeatingCall {
 public:
  RepeatingCall(const char* algorithm, Rank ranks, std::int64_t bytes, std::int64_t chunk,
                std::uint32_t channels = 1)
      : plan_(make_plan(Collective::all_reduce, algorithm, uniform_placement(ranks), channels)),
        wiring_(test::switch_wiring(plan_, gigabytes_per_second(10), microseconds(1))),
        partition_(plan_, Bytes{bytes}, Bytes{4}, {.largest_chunk = Bytes{chunk}}) {}

  ExecutionResult run(bool steady, const MachineEvents* events = nullptr) const {
    NativeFabric fabric;
    Execution execution = call();
    execution.steady = steady;
    execution.events = events;
    execution.calls = calls_;
    return execute(execution, fabric);
  }
  void repeat(std::uint32_t calls) { calls_ = calls; }
  /// Gives the last channel ports of its own, and that one such a rate.
  void part_last_channel(ResourceId slow, BytesPerSecond rate) {
    const std::vector<BytesPerSecond> shared = wiring_.capacities;
    const auto first = static_cast<ResourceId>(shared.size());
    wiring_.capacities.insert(wiring_.capacities.end(), shared.begin(), shared.end());
    wiring_.capacities[first + slow] = rate;
    for (Wire& wire : wiring_.wires.back()) {
      for (ResourceId& resource : wire.resources) resource += first;
    }
  }
  Execution call() const { return {plan_, partition_, wiring_, ideal_}; }
  Wiring& wiring() { return wiring_; }
  void jitter(double jitter) { ideal_.jitter = jitter; }

 private:
  Plan plan_;
  Wiring wiring_;
  DataPartition partition_;
  Calibration ideal_;
  std::uint32_t calls_ = 1;
};

void expect_continued(const RepeatingCall& call, const MachineEvents* events = nullptr) {
  const ExecutionResult whole = call.run(false, events);
  const ExecutionResult steady = call.run(true, events);
  EXPECT_FALSE(whole.steady);
  EXPECT_TRUE(steady.steady);
  EXPECT_NEAR(steady.time.value, whole.time.value, 1e-9 * whole.time.value);
  EXPECT_LT(2 * steady.transfers, whole.transfers);
}

// 256 loops of 8 chunks of 4 KiB.
TEST(SteadyState, loops_of_a_ring_are_continued) {
  expect_continued({"ring", 8, std::int64_t{8} * 256 << 12, 1 << 12});
}

// 510 steps before and after the turn, in one loop.
TEST(SteadyState, steps_of_a_long_ring_are_continued) {
  expect_continued({"ring", 512, 512 << 12, 0});
}

TEST(SteadyState, a_pipeline_through_a_tree_is_continued) {
  expect_continued({"tree", 15, std::int64_t{512} << 12, 1 << 12});
}

// The port of rank 3 has a tenth of its rate: every lap takes the ten times that its chunk takes.
TEST(SteadyState, a_slow_port_repeats_itself_as_well) {
  RepeatingCall call("ring", 8, std::int64_t{8} * 256 << 12, 1 << 12);
  MachineEvents slow;
  slow.changes.push_back({.at = {}, .capacities = {{3, gigabytes_per_second(1)}}});
  expect_continued(call, &slow);
}

// Of two channels the second has a port with a tenth of the rate. In each of three calls both are
// continued while both work, and then the second alone, for which the first waits before the next
// call. A loop of the first takes 14 steps of 0.4 us and 1 us, of the second one that waits for the
// slow port, 4.1 us, at each of its 14 steps.
TEST(SteadyState, unlike_channels_are_continued_where_each_repeats_itself) {
  RepeatingCall call("ring", 8, std::int64_t{2} * 8 * 512 << 12, 1 << 12, 2);
  call.part_last_channel(3, gigabytes_per_second(1));
  call.repeat(3);
  expect_continued(call);
  EXPECT_LT(5 * call.run(true).transfers, call.run(false).transfers);
}

// Slices of four channels that share ports take up to 4 % longer or shorter by chance. Periods
// differ; the mean of some hundreds is known to a thousandth.
TEST(SteadyState, periods_that_differ_are_continued_by_their_mean) {
  RepeatingCall call("tree", 4, std::int64_t{4} * 2048 << 12, 1 << 12, 4);
  call.jitter(0.04);
  const ExecutionResult whole = call.run(false);
  const ExecutionResult steady = call.run(true);
  EXPECT_TRUE(steady.steady);
  EXPECT_NEAR(steady.time.value, whole.time.value, 1e-3 * whole.time.value);
  EXPECT_LT(2 * steady.transfers, whole.transfers);
}

// 5 ms are amid the call, whose 256 loops of 14 steps take 14 us each and more.
TEST(SteadyState, nothing_is_skipped_where_the_machine_changes_later) {
  RepeatingCall call("ring", 8, std::int64_t{8} * 256 << 12, 1 << 12);
  MachineEvents later;
  later.changes.push_back({.at = microseconds(2000), .capacities = {{3, gigabytes_per_second(1)}}});
  EXPECT_FALSE(call.run(true, &later).steady);
  EXPECT_EQ(call.run(true, &later).time.value, call.run(false, &later).time.value);
}

TEST(SteadyState, nothing_is_skipped_where_a_link_has_a_burst) {
  RepeatingCall call("ring", 8, std::int64_t{8} * 256 << 12, 1 << 12);
  call.wiring().bursts.push_back({Bytes{1 << 16}, gigabytes_per_second(20)});
  EXPECT_FALSE(call.run(true).steady);
}

// The last two loops have one element less in some chunks: they are simulated as they are.
TEST(SteadyState, uneven_chunks_are_not_skipped_over) {
  expect_continued({"ring", 8, (std::int64_t{8} * 256 << 12) - 36, 1 << 12});
}

// 14 steps of 8 ranks, 16 loops, no steady state: 1,792 messages.
TEST(Effort, counts_the_messages_of_a_call) {
  const RepeatingCall call("ring", 8, std::int64_t{8} * 16 << 12, 1 << 12);
  EXPECT_EQ(effort_of(call.call()).whole, 1792);
  EXPECT_EQ(static_cast<double>(call.run(false).transfers), effort_of(call.call()).whole);
  EXPECT_LE(effort_of(call.call()).steady, effort_of(call.call()).whole);
}

TEST(Watch, hears_how_many_messages_are_sent_and_can_end_the_call) {
  const RepeatingCall ring("ring", 64, 64 << 12, 1 << 10);  // 32,256 messages: 4 loops of 126 steps
  struct Enough {};
  std::uint64_t heard = 0;
  const Watch watch = [&](std::uint64_t messages) {
    heard = messages;
    throw Enough{};
  };
  Execution execution = ring.call();
  execution.watch = &watch;
  NativeFabric fabric;
  EXPECT_THROW(execute(execution, fabric), Enough);
  EXPECT_GE(heard, 1U << 14U);
  EXPECT_LT(heard, 32'256U);
}

}  // namespace
}  // namespace collsim
