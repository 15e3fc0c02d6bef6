#include <gtest/gtest.h>

#include <random>

#include "sim/algorithms/registry.h"
#include "sim/execution/data_partition.h"

namespace collsim {
namespace {

Plan ring(Rank ranks, std::uint32_t channels) {
  return make_plan(Collective::all_reduce, "ring", uniform_placement(ranks), channels);
}

// 11 elements on 4 chunks: 3, 3, 3, 2 elements of 4 bytes.
TEST(DataPartition, gives_remainders_to_the_first_chunks) {
  const DataPartition partition(ring(4, 1), Bytes{44}, Bytes{4}, {});
  EXPECT_EQ(partition.loops(0), 1U);
  EXPECT_EQ(partition.chunk_bytes(0, 0, {0, 1}), Bytes{12});
  EXPECT_EQ(partition.chunk_bytes(0, 0, {2, 1}), Bytes{12});
  EXPECT_EQ(partition.chunk_bytes(0, 0, {3, 1}), Bytes{8});
  EXPECT_EQ(partition.chunk_bytes(0, 0, {1, 3}), Bytes{32});
}

// 3 elements on 2 channels: 2 and 1. On 4 chunks each: 1, 1, 0, 0 and 1, 0, 0, 0.
TEST(DataPartition, leaves_chunks_empty_when_there_are_too_few_elements) {
  const DataPartition partition(ring(4, 2), Bytes{12}, Bytes{4}, {});
  EXPECT_EQ(partition.chunk_bytes(0, 0, {1, 1}), Bytes{4});
  EXPECT_EQ(partition.chunk_bytes(0, 0, {2, 1}), Bytes{0});
  EXPECT_EQ(partition.chunk_bytes(1, 0, {0, 1}), Bytes{4});
  EXPECT_EQ(partition.chunk_bytes(1, 0, {1, 1}), Bytes{0});
}

// 2 chunks of at most 400 bytes a loop: 2,000 bytes take 3 loops, 6 chunks of 84 or 83 elements.
TEST(DataPartition, loops_when_chunks_are_limited) {
  const DataPartition partition(ring(2, 1), Bytes{2000}, Bytes{4}, {.largest_chunk = {400}});
  EXPECT_EQ(partition.loops(0), 3U);
  EXPECT_EQ(partition.chunk_bytes(0, 0, {0, 1}), Bytes{336});
  EXPECT_EQ(partition.chunk_bytes(0, 2, {1, 1}), Bytes{332});
}

// 100,000 bytes at 32 KiB or more each: 3 channels of the 8.
TEST(DataPartition, uses_fewer_channels_for_small_calls) {
  const Chunking chunking{.smallest_channel_share = {32 << 10}};
  EXPECT_EQ(DataPartition(ring(2, 8), Bytes{100000}, Bytes{4}, chunking).channels(), 3U);
  EXPECT_EQ(DataPartition(ring(2, 8), Bytes{8}, Bytes{4}, chunking).channels(), 1U);
  EXPECT_EQ(DataPartition(ring(2, 8), Bytes{1 << 20}, Bytes{4}, chunking).channels(), 8U);
}

TEST(DataPartition, an_empty_call_has_no_loops) {
  EXPECT_EQ(DataPartition(ring(2, 2), Bytes{0}, Bytes{4}, {}).loops(0), 0U);
}

// Nothing is lost and nothing doubled, whatever the numbers.
TEST(DataPartition, pieces_add_up) {
  std::mt19937 random(1);
  const auto draw = [&](int least, int most) {
    return std::uniform_int_distribution<int>(least, most)(random);
  };
  for (int round = 0; round < 500; ++round) {
    const Plan plan = ring(static_cast<Rank>(draw(1, 17)), static_cast<std::uint32_t>(draw(1, 9)));
    const Bytes size{4LL * draw(0, 1000003)};
    const Chunking chunking{.largest_chunk = {std::int64_t{draw(0, 1)} * draw(1, 5000)},
                            .slices = static_cast<std::uint32_t>(draw(1, 4)),
                            .smallest_slice = {draw(0, 3000)},
                            .smallest_channel_share = {draw(0, 100000)}};
    const DataPartition partition(plan, size, Bytes{4}, chunking);
    Bytes whole;
    for (std::uint32_t channel = 0; channel < partition.channels(); ++channel) {
      for (std::uint32_t loop = 0; loop < partition.loops(channel); ++loop) {
        for (std::uint32_t chunk = 0; chunk < plan.schedule(channel).chunks(); ++chunk) {
          const Bytes bytes = partition.chunk_bytes(channel, loop, {chunk, 1});
          if (chunking.largest_chunk.count >= 4) {
            EXPECT_LE(bytes, chunking.largest_chunk);
          }
          Bytes slices;
          for (std::uint32_t slice = 0; slice < chunking.slices; ++slice) {
            slices += partition.slice_bytes(bytes, slice);
          }
          EXPECT_EQ(slices, bytes);
          whole += bytes;
        }
      }
    }
    EXPECT_EQ(whole, size);
  }
}

}  // namespace
}  // namespace collsim
