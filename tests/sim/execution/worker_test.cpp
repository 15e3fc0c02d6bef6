// How a worker goes through its program: loops, primitives, slices, and pieces of them.

#include "sim/execution/worker.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "sim/algorithms/registry.h"
#include "sim/plan/collective.h"

namespace collsim {
namespace {

/// Rank 0 of a ring of two: send, receive-reduce-copy-send, receive.
class WorkerTest : public testing::Test {
 protected:
  Worker worker_on(const DataPartition& partition, std::int64_t round) const {
    return worker_on(partition, round, round);
  }
  Worker worker_on(const DataPartition& partition, std::int64_t round, std::int64_t granule) const {
    Worker worker;
    worker.schedule = &plan_.schedule(0);
    worker.begin_program(worker.schedule->program(0, 0));
    worker.loops = partition.loops(0);
    worker.setting.round = round;
    worker.setting.granule = granule;
    begin_slice(worker, partition);
    return worker;
  }

  Plan plan_ = make_plan(Collective::all_reduce, "ring", uniform_placement(2));
};

// Chunks of 10,000 bytes in two slices: six slices of 5,000 in a loop, and two loops.
TEST_F(WorkerTest, ends_after_all_slices_of_all_loops) {
  const DataPartition partition(plan_, {40000}, Bytes{4}, {.largest_chunk = {10000}, .slices = 2});
  Worker worker = worker_on(partition, 0);
  ASSERT_EQ(worker.loops, 2U);
  for (int slice = 0; slice < 11; ++slice) {
    EXPECT_EQ(worker.bytes_of_piece(), 5000);
    EXPECT_TRUE(worker.ends_slice());
    EXPECT_FALSE(advance(worker, partition)) << slice;
  }
  EXPECT_EQ(worker.loop, 1U);
  EXPECT_EQ(worker.primitive, 2U);
  EXPECT_TRUE(advance(worker, partition));
  EXPECT_EQ(worker.loop, 0U) << "the next call begins where this one did";
  EXPECT_EQ(worker.primitive, 0U);
}

// 10,000 bytes in rounds of 4,000: two full ones and one of 2,000.
TEST_F(WorkerTest, goes_round_by_round_where_lines_are_flagged) {
  const DataPartition partition(plan_, {20000}, Bytes{4}, {});
  Worker worker = worker_on(partition, 4000);
  EXPECT_EQ(worker.pieces, 3U);
  EXPECT_EQ(worker.bytes_of_piece(), 4000);
  EXPECT_FALSE(worker.ends_slice());
  advance(worker, partition);
  advance(worker, partition);
  EXPECT_EQ(worker.bytes_of_piece(), 2000);
  EXPECT_TRUE(worker.ends_slice());
  EXPECT_EQ(worker.primitive, 0U);
  advance(worker, partition);
  EXPECT_EQ(worker.primitive, 1U);
}

// 10,000 bytes are those of 20 warps. Within a round three go on together, so that there are no
// more than eight pieces; the last has two. No more go together than a round has.
TEST_F(WorkerTest, goes_warp_by_warp_where_warps_do_not_wait_for_each_other) {
  const DataPartition partition(plan_, {20000}, Bytes{4}, {});
  Worker worker = worker_on(partition, 20000, 500);
  EXPECT_EQ(worker.pieces, 7U);
  EXPECT_EQ(worker.bytes_of_piece(), 1500);
  worker.piece = 6;
  EXPECT_EQ(worker.bytes_of_piece(), 1000);
  EXPECT_EQ(worker_on(partition, 1000, 500).pieces, 10U);
  EXPECT_EQ(worker_on(partition, 20000, 10000).pieces, 1U);
}

// 40 loops of chunks of 10,000 bytes, ten rounds of 1,000 each.
TEST_F(WorkerTest, goes_in_as_many_pieces_amid_a_long_call) {
  const DataPartition partition(plan_, {800000}, Bytes{4}, {.largest_chunk = {10000}});
  Worker worker = worker_on(partition, 1000);
  ASSERT_EQ(worker.loops, 40U);
  for (const std::uint32_t loop : {0U, 20U, 39U}) {
    worker.loop = loop;
    begin_slice(worker, partition);
    EXPECT_EQ(worker.pieces, 10U);
  }
}

/// Factors of the first slice of the worker's primitives.
std::vector<double> factors_of(Worker worker, double jitter, std::uint32_t primitives) {
  std::vector<double> factors;
  for (worker.primitive = 0; worker.primitive < primitives; ++worker.primitive) {
    factors.push_back(jitter_factor(worker, jitter));
  }
  return factors;
}

// Half of the range is the slice's, half the channel's: that of channel 0 is 0 of the latter.
TEST(Jitter, differs_by_slice_within_its_share) {
  const std::vector<double> factors = factors_of({}, 0.2, 1000);
  const auto [lowest, highest] = std::minmax_element(factors.begin(), factors.end());
  EXPECT_GE(*lowest, 0.8);
  EXPECT_LT(*lowest, 0.85);
  EXPECT_GT(*highest, 1.15);
  EXPECT_LE(*highest, 1.2);
  EXPECT_NEAR(std::accumulate(factors.begin(), factors.end(), 0.0) / 1000, 1, 0.01);
  EXPECT_EQ(factors, factors_of({}, 0.2, 1000)) << "by chance, but always the same";
}

// The mean over its slices is what the channel as a whole has more or less.
TEST(Jitter, is_in_part_the_channels) {
  Worker worker;
  worker.channel = 5;
  const std::vector<double> factors = factors_of(worker, 0.1, 1000);
  const double mean = std::accumulate(factors.begin(), factors.end(), 0.0) / 1000;
  const double turns = 0.5 + 5 * 0.6180339887;
  EXPECT_NEAR(mean, 1 + 0.1 * (2 * (turns - std::floor(turns)) - 1), 0.005);
}

// What one channel of a rank gets less of a link, others get more of it. Multiples of the golden
// ratio miss the mean by about 1 / n of the range, which is 0.8 here; so many by chance, of 24
// channels, by 0.05 in one case of three.
TEST(Jitter, evens_out_over_channels) {
  for (const std::uint32_t channels : {8U, 16U, 24U}) {
    for (std::uint32_t primitive = 0; primitive < 20; ++primitive) {
      double sum = 0;
      Worker worker;
      worker.primitive = primitive;
      for (worker.channel = 0; worker.channel < channels; ++worker.channel) {
        sum += jitter_factor(worker, 0.2);
      }
      EXPECT_NEAR(sum / channels, 1, 1.0 / channels) << channels << ' ' << primitive;
    }
  }
}

// Equals can be folded, and loops repeat.
TEST(Jitter, is_that_of_all_ranks_lanes_and_loops) {
  const Worker worker;
  Worker other = worker;
  other.rank = 1;
  other.lane = 1;
  other.loop = 1;
  EXPECT_EQ(jitter_factor(worker, 0.2), jitter_factor(other, 0.2));
}

}  // namespace
}  // namespace collsim
