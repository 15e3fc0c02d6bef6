#include "sim/plan/collective.h"

#include <gtest/gtest.h>

#include "sim/algorithms/registry.h"
#include "sim/base/input_error.h"
#include "sim/execution/data_partition.h"
#include "sim/nccl/nccl_algorithm.h"
#include "sim/nccl/nccl_chunking.h"

namespace collsim {
namespace {

constexpr Holding nothing{};
constexpr Holding everybodys{Holding::Kind::all, 0};
constexpr Holding that_of(Rank rank) {
  return {Holding::Kind::one, rank};
}

TEST(Collective, names_lead_back) {
  for (const Collective each : all_collectives()) {
    EXPECT_EQ(find_collective(to_string(each)), each);
  }
  EXPECT_EQ(find_collective("all_reduction"), std::nullopt);
}

// 4 ranks, root 2, seen from rank 1 and block 3.
TEST(Collective, before_and_after_by_hand) {
  using enum Collective;
  const auto before = [](Collective each, Rank rank, std::uint32_t block) {
    return held_before(each, 4, 2, rank, block);
  };
  const auto after = [](Collective each, Rank rank, std::uint32_t block) {
    return held_after(each, 4, 2, rank, block);
  };
  EXPECT_EQ(before(all_reduce, 1, 0), that_of(1));
  EXPECT_EQ(after(all_reduce, 1, 0), everybodys);
  EXPECT_EQ(before(all_gather, 1, 3), nothing);
  EXPECT_EQ(before(all_gather, 3, 3), that_of(3));
  EXPECT_EQ(after(all_gather, 1, 3), that_of(3));
  EXPECT_EQ(after(reduce_scatter, 1, 3), nothing);
  EXPECT_EQ(after(reduce_scatter, 3, 3), everybodys);
  EXPECT_EQ(before(broadcast, 1, 0), nothing);
  EXPECT_EQ(after(broadcast, 1, 0), that_of(2));
  EXPECT_EQ(after(reduce, 1, 0), nothing);
  EXPECT_EQ(after(reduce, 2, 0), everybodys);
  EXPECT_EQ(after(gather, 2, 3), that_of(3));
  EXPECT_EQ(after(gather, 1, 3), nothing);
  EXPECT_EQ(before(scatter, 2, 3), that_of(2));
  EXPECT_EQ(after(scatter, 3, 3), that_of(2));
  EXPECT_EQ(after(send_recv, 0, 3), that_of(3));
  EXPECT_EQ(after(send_recv, 1, 3), nothing);
  // Block 6 of 16 goes from rank 1 to rank 2.
  EXPECT_EQ(before(all_to_all, 1, 6), that_of(1));
  EXPECT_EQ(after(all_to_all, 2, 6), that_of(1));
  EXPECT_EQ(after(all_to_all, 1, 6), nothing);
}

// nccl-tests doc/PERFORMANCE.md with N = 8.
TEST(Collective, busbw_factors) {
  EXPECT_DOUBLE_EQ(busbw_factor(Collective::all_reduce, 8), 1.75);
  EXPECT_DOUBLE_EQ(busbw_factor(Collective::all_gather, 8), 0.875);
  EXPECT_DOUBLE_EQ(busbw_factor(Collective::reduce_scatter, 8), 0.875);
  EXPECT_DOUBLE_EQ(busbw_factor(Collective::all_to_all, 8), 0.875);
  EXPECT_DOUBLE_EQ(busbw_factor(Collective::broadcast, 8), 1);
  EXPECT_DOUBLE_EQ(busbw_factor(Collective::send_recv, 8), 1);
}

// N = 8. A ring carries what busbw says; a rank inside a tree sends all up and all down; with NVLS
// S into the switch and S/8 out of the rank that heads it.
TEST(Collective, wire_factors) {
  EXPECT_DOUBLE_EQ(wire_factor(Collective::all_reduce, NcclAlgorithm::ring, 8, 8), 1.75);
  EXPECT_DOUBLE_EQ(wire_factor(Collective::all_reduce, NcclAlgorithm::tree, 8, 8), 2);
  EXPECT_DOUBLE_EQ(wire_factor(Collective::all_reduce, NcclAlgorithm::tree, 2, 2), 1);
  EXPECT_DOUBLE_EQ(wire_factor(Collective::all_reduce, NcclAlgorithm::nvls, 8, 8), 1.125);
  EXPECT_DOUBLE_EQ(wire_factor(Collective::all_gather, NcclAlgorithm::nvls, 8, 8), 1);
  // 32 ranks on 4 nodes: each node has switches of its own, and 8 heads.
  EXPECT_DOUBLE_EQ(wire_factor(Collective::all_reduce, NcclAlgorithm::nvls, 32, 8), 1.125);
  EXPECT_DOUBLE_EQ(wire_factor(Collective::all_reduce, NcclAlgorithm::nvls_tree, 32, 8), 1.125);
}

// nccl-tests' groups: every rank sends to all and receives from all, itself too; a root receives
// from all and sends itself its own.
TEST(Collective, operations_of_a_rank) {
  EXPECT_EQ(operations(Collective::all_to_all, 8), 16U);
  EXPECT_EQ(operations(Collective::gather, 8), 9U);
  EXPECT_EQ(operations(Collective::scatter, 8), 9U);
  EXPECT_EQ(operations(Collective::send_recv, 8), 2U);
  EXPECT_EQ(operations(Collective::all_reduce, 8), 1U);
}

// 1,001 bytes of 4-byte elements on 8 ranks: 250 elements in all, or 31 for each.
TEST(Collective, bytes_of_a_rank_are_whole_elements) {
  EXPECT_EQ(bytes_per_rank(Collective::all_reduce, 8, Bytes{1001}, Bytes{4}), Bytes{1000});
  EXPECT_EQ(bytes_per_rank(Collective::all_gather, 8, Bytes{1001}, Bytes{4}), Bytes{124});
  EXPECT_EQ(bytes_per_rank(Collective::all_to_all, 8, Bytes{1001}, Bytes{4}), Bytes{124});
  EXPECT_EQ(bytes_per_rank(Collective::send_recv, 8, Bytes{1001}, Bytes{4}), Bytes{1000});
}

// 65,535^2 = 4,294,836,225 is below 2^32 = 4,294,967,296; 65,536^2 is 2^32 itself, and 131,072^2 is
// 2^34: in 32 bits both would be no block at all.
TEST(Collective, blocks_of_an_exchange_fit_or_are_refused) {
  EXPECT_EQ(blocks(Collective::all_to_all, 65'535), 4'294'836'225U);
  EXPECT_THROW(blocks(Collective::all_to_all, 65'536), InputError);
  EXPECT_THROW(blocks(Collective::all_to_all, 65'537), InputError);
  EXPECT_THROW(blocks(Collective::all_to_all, 131'072), InputError);
  EXPECT_THROW(chunks_of(Collective::all_to_all, "direct", uniform_placement(65'536)), InputError);
}

// 1 GiB = 2^30 bytes in 2^16 parts of 2^14, in 2^17 of 2^13.
TEST(Collective, parts_of_an_exchange_are_as_many_as_ranks) {
  constexpr Bytes size{1 << 30};
  EXPECT_EQ(bytes_per_rank(Collective::all_to_all, 65'536, size, Bytes{4}), Bytes{16384});
  EXPECT_EQ(bytes_per_rank(Collective::all_to_all, 131'072, size, Bytes{4}), Bytes{8192});
  for (const Collective each : all_collectives()) {
    const bool divides = busbw_factor(each, 4) == 0.75;  // (N-1)/N of it moves: N parts
    EXPECT_EQ(bytes_per_rank(each, 4, Bytes{64}, Bytes{4}), Bytes{divides ? 16 : 64})
        << to_string(each);
  }
}

// 2^40 bytes in chunks of one element of 4: 2^38 loops.
TEST(Collective, loops_fit_or_are_refused) {
  const Plan plan = make_plan(Collective::all_reduce, "tree", uniform_placement(2));
  const Chunking chunking{.largest_chunk = {4}};
  EXPECT_THROW(DataPartition(plan, Bytes{std::int64_t{1} << 40}, Bytes{4}, chunking), InputError);
  EXPECT_EQ(DataPartition(plan, Bytes{1 << 20}, Bytes{4}, chunking).loops(0), 1U << 18);
}

}  // namespace
}  // namespace collsim
