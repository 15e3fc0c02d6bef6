// How much of a rank's own buffers is still in its GPU's cache when a call comes to it.

#include "sim/execution/gpu_cache.h"

#include <gtest/gtest.h>

#include <cmath>

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

// Of twice as much as fits in, 0.2032 is there: exp(-2 x 0.7968). Next to none of ten times as
// much.
TEST(CachedShare, is_what_the_misses_leave) {
  EXPECT_EQ(cached_share(0, {100}), 1);
  EXPECT_EQ(cached_share(100, {100}), 1);
  EXPECT_GT(cached_share(101, {100}), 0.97);
  EXPECT_NEAR(cached_share(200, {100}), 0.20319, 1e-5);
  EXPECT_NEAR(cached_share(1000, {100}), std::exp(-10), 1e-6);
}

TEST(CachedShare, falls_with_the_footprint) {
  double last = 1;
  for (double footprint = 100.5; footprint < 2000; footprint *= 1.1) {
    const double share = cached_share(footprint, {100});
    EXPECT_LT(share, last) << footprint;
    EXPECT_NEAR(share, std::exp(-(1 - share) * footprint / 100), 1e-9) << footprint;
    last = share;
  }
}

// exp(-1) and exp(-3).
TEST(KeptShare, falls_as_what_is_replaced_at_random) {
  EXPECT_EQ(kept_share(0, {100}), 1);
  EXPECT_NEAR(kept_share(100, {100}), 0.36788, 1e-5);
  EXPECT_NEAR(kept_share(300, {100}), 0.04979, 1e-5);
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
  for (const double share : cold(Collective::all_reduce, NcclAlgorithm::ring, size.count)) {
    EXPECT_NEAR(share, 0.79681, 1e-5) << "twice what the cache holds";
  }
  EXPECT_EQ(cold(Collective::all_reduce, NcclAlgorithm::ring, 2 * size.count),
            std::vector<double>(4, 0));
  EXPECT_EQ(cold(Collective::all_reduce, NcclAlgorithm::ring, 0), std::vector<double>(4, 0))
      << "nothing is known of a cache";
}

}  // namespace
}  // namespace collsim
