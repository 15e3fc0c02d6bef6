// How much of a rank's own buffers is still in its GPU's cache when a call comes to it.

#include "sim/gpu_cache.h"

#include <gtest/gtest.h>

#include "sim/algorithms/registry.h"

namespace collsim {
namespace {

constexpr Bytes size{1 << 20};

double footprint(Collective collective, std::string_view algorithm, Rank rank, Rank ranks = 4) {
  const Plan plan = make_plan(collective, algorithm, uniform_placement(ranks, 2));
  const Binding binding(plan, size, Bytes{4}, {});
  return own_footprint(plan, binding, rank) / static_cast<double>(size.count);
}

std::vector<double> cold(Collective collective, std::string_view algorithm, std::int64_t cache) {
  const Plan plan = make_plan(collective, algorithm, uniform_placement(4, 2));
  return cold_shares(plan, Binding(plan, size, Bytes{4}, {}), {cache});
}

TEST(CachedShare, is_the_square_of_what_fits) {
  EXPECT_EQ(cached_share(0, {100}), 1);
  EXPECT_EQ(cached_share(100, {100}), 1);
  EXPECT_DOUBLE_EQ(cached_share(200, {100}), 0.25);
  EXPECT_EQ(cached_share(200, {0}), 0);
}

// An all-reduce reads all and writes all. Of what is gathered a rank reads its own quarter; what is
// scattered it reads, and writes a quarter. A broadcast's root reads, and out of place writes, all;
// the others write it.
TEST(OwnFootprint, is_what_a_rank_reads_and_writes) {
  EXPECT_DOUBLE_EQ(footprint(Collective::all_reduce, "ring", 2), 2);
  EXPECT_DOUBLE_EQ(footprint(Collective::all_gather, "ring", 2), 1.25);
  EXPECT_DOUBLE_EQ(footprint(Collective::reduce_scatter, "ring", 2), 1.25);
  EXPECT_DOUBLE_EQ(footprint(Collective::broadcast, "ring", 0), 2);
  EXPECT_DOUBLE_EQ(footprint(Collective::broadcast, "ring", 1), 1);
}

// Twice the size in a cache of the size: a quarter is there.
TEST(ColdShares, of_rings_that_turn_from_chunk_to_chunk) {
  EXPECT_EQ(cold(Collective::all_reduce, "ring", size.count), std::vector<double>(4, 0.75));
  EXPECT_EQ(cold(Collective::all_reduce, "ring", 2 * size.count), std::vector<double>(4, 0));
}

TEST(ColdShares, are_none_where_thread_blocks_stream) {
  EXPECT_EQ(cold(Collective::broadcast, "ring", 1), std::vector<double>(4, 0));
  EXPECT_EQ(cold(Collective::all_reduce, "double_binary_tree", 1), std::vector<double>(4, 0));
}

}  // namespace
}  // namespace collsim
