// How much of a rank's own buffers is still in its GPU's cache when a call comes to it.

#include "sim/gpu_cache.h"

#include <gtest/gtest.h>

#include "sim/algorithms/nccl_plan.h"
#include "tests/support/nccl_channels.h"

namespace collsim {
namespace {

constexpr Bytes size{1 << 20};

/// Of 4 ranks on 2 channels.
struct Call {
  Call(Collective collective, NcclAlgorithm algorithm)
      : plan(make_nccl_plan(collective, algorithm, test::one_node_channels(4, 2), 2)),
        binding(Binding::nccl(
            plan, {.size = size, .algorithm = algorithm, .protocol = Protocol::simple})) {}
  Plan plan;
  Binding binding;
};

double footprint(Collective collective, Rank rank) {
  const Call call(collective, NcclAlgorithm::ring);
  return own_footprint(call.plan, call.binding, rank) / static_cast<double>(size.count);
}

std::vector<double> cold(Collective collective, NcclAlgorithm algorithm, std::int64_t cache) {
  const Call call(collective, algorithm);
  return cold_shares(call.plan, call.binding, {cache});
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
  EXPECT_DOUBLE_EQ(footprint(Collective::all_reduce, 2), 2);
  EXPECT_DOUBLE_EQ(footprint(Collective::all_gather, 2), 1.25);
  EXPECT_DOUBLE_EQ(footprint(Collective::reduce_scatter, 2), 1.25);
  EXPECT_DOUBLE_EQ(footprint(Collective::broadcast, 0), 2);
  EXPECT_DOUBLE_EQ(footprint(Collective::broadcast, 1), 1);
}

// Twice the size in a cache of the size: a quarter is there.
TEST(ColdShares, are_of_what_a_call_goes_through) {
  EXPECT_EQ(cold(Collective::all_reduce, NcclAlgorithm::ring, size.count),
            std::vector<double>(4, 0.75));
  EXPECT_EQ(cold(Collective::all_reduce, NcclAlgorithm::ring, 2 * size.count),
            std::vector<double>(4, 0));
  EXPECT_EQ(cold(Collective::all_reduce, NcclAlgorithm::ring, 0), std::vector<double>(4, 0))
      << "nothing is known of a cache";
}

}  // namespace
}  // namespace collsim
