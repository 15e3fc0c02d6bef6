// How a worker goes through its program: loops, primitives, slices, and pieces of them.

#include "sim/worker.h"

#include <gtest/gtest.h>

#include "sim/algorithms/registry.h"
#include "sim/collective.h"

namespace collsim {
namespace {

/// Rank 0 of a ring of two: send, receive-reduce-copy-send, receive.
class WorkerTest : public testing::Test {
 protected:
  Worker worker_on(const Binding& binding, std::int64_t round) const {
    Worker worker;
    worker.schedule = &plan_.schedule(0);
    worker.program = worker.schedule->program(0, 0);
    worker.loops = binding.loops(0);
    worker.round = round;
    begin_slice(worker, binding);
    return worker;
  }

  Plan plan_ = make_plan(Collective::all_reduce, "ring", uniform_placement(2));
};

// Chunks of 10,000 bytes in two slices: six slices of 5,000 in a loop, and two loops.
TEST_F(WorkerTest, ends_after_all_slices_of_all_loops) {
  const Binding binding(plan_, {40000}, Bytes{4}, {.largest_chunk = {10000}, .slices = 2});
  Worker worker = worker_on(binding, 0);
  ASSERT_EQ(worker.loops, 2U);
  for (int slice = 0; slice < 11; ++slice) {
    EXPECT_EQ(worker.bytes_of_piece(), 5000);
    EXPECT_TRUE(worker.ends_slice());
    EXPECT_FALSE(advance(worker, binding)) << slice;
  }
  EXPECT_EQ(worker.loop, 1U);
  EXPECT_EQ(worker.primitive, 2U);
  EXPECT_TRUE(advance(worker, binding));
  EXPECT_EQ(worker.loop, 0U) << "the next call begins where this one did";
  EXPECT_EQ(worker.primitive, 0U);
}

// 10,000 bytes in rounds of 4,000: two full ones and one of 2,000.
TEST_F(WorkerTest, goes_round_by_round_where_lines_are_flagged) {
  const Binding binding(plan_, {20000}, Bytes{4}, {});
  Worker worker = worker_on(binding, 4000);
  EXPECT_EQ(worker.pieces, 3U);
  EXPECT_EQ(worker.bytes_of_piece(), 4000);
  EXPECT_FALSE(worker.ends_slice());
  advance(worker, binding);
  advance(worker, binding);
  EXPECT_EQ(worker.bytes_of_piece(), 2000);
  EXPECT_TRUE(worker.ends_slice());
  EXPECT_EQ(worker.primitive, 0U);
  advance(worker, binding);
  EXPECT_EQ(worker.primitive, 1U);
}

// 40 loops of chunks of 10,000 bytes, ten rounds of 1,000 each. Pipelines fill and drain round by
// round; amid, a slice goes in four pieces: three of three rounds and one of one.
TEST_F(WorkerTest, goes_in_fewer_pieces_amid_a_long_call) {
  const Binding binding(plan_, {800000}, Bytes{4}, {.largest_chunk = {10000}});
  Worker worker = worker_on(binding, 1000);
  ASSERT_EQ(worker.loops, 40U);
  EXPECT_EQ(worker.pieces, 10U);
  worker.loop = 20;
  begin_slice(worker, binding);
  EXPECT_EQ(worker.pieces, 4U);
  EXPECT_EQ(worker.bytes_of_piece(), 3000);
  worker.piece = 3;
  EXPECT_EQ(worker.bytes_of_piece(), 1000);
  worker.loop = 39;
  begin_slice(worker, binding);
  EXPECT_EQ(worker.pieces, 10U);
}

}  // namespace
}  // namespace collsim
