// How NCCL cuts a call. Expectations follow the rules in NCCL's src/enqueue.cc by hand.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <vector>

#include "sim/base/input_error.h"
#include "sim/execution/data_partition.h"
#include "sim/nccl/nccl_plan.h"
#include "sim/nccl/nccl_point_to_point.h"
#include "tests/support/nccl_channels.h"

namespace collsim {
namespace {

constexpr std::int64_t kib = 1 << 10;
constexpr std::int64_t mib = 1 << 20;

Plan plan_of(Collective collective, NcclAlgorithm algorithm, Rank ranks, std::uint32_t channels) {
  return make_nccl_plan(collective, algorithm, test::one_node_channels(ranks, channels), channels);
}

Plan ring(Rank ranks, std::uint32_t channels) {
  return plan_of(Collective::all_reduce, NcclAlgorithm::ring, ranks, channels);
}

NcclCall ring_call(std::int64_t bytes, Protocol protocol) {
  return {.size = {bytes}, .algorithm = NcclAlgorithm::ring, .protocol = protocol};
}

NcclCall tree_call(std::int64_t bytes, Protocol protocol) {
  return {.size = {bytes}, .algorithm = NcclAlgorithm::tree, .protocol = protocol};
}

Bytes channel_bytes(const Plan& plan, const DataPartition& partition, std::uint32_t channel) {
  Bytes bytes;
  for (std::uint32_t loop = 0; loop < partition.loops(channel); ++loop) {
    bytes += partition.chunk_bytes(channel, loop, {0, plan.schedule(channel).chunks()});
  }
  return bytes;
}

// All-reduce moves 2 bytes per byte, LL counts four times: cells of 32 KiB / 8 = 4 KiB, 256 of
// them. ceil(256 / 24) = 11 cells each: 23 channels x 11, the last has the 3 that are left.
TEST(NcclBinding, channels_fill_in_order_with_cells) {
  const Plan plan = ring(8, 24);
  const DataPartition partition = DataPartition::nccl(plan, ring_call(mib, Protocol::ll));
  ASSERT_EQ(partition.channels(), 24U);
  for (std::uint32_t channel = 0; channel < 23; ++channel) {
    EXPECT_EQ(channel_bytes(plan, partition, channel), Bytes{44 * kib});
  }
  EXPECT_EQ(channel_bytes(plan, partition, 23), Bytes{12 * kib});
}

// 64 KiB with Simple: cells of 32 KiB / 2 = 16 KiB, so that 4 of 24 channels get one each.
TEST(NcclBinding, small_calls_touch_few_channels) {
  const Plan plan = ring(8, 24);
  EXPECT_EQ(DataPartition::nccl(plan, ring_call(64 * kib, Protocol::simple)).channels(), 4U);
  EXPECT_EQ(DataPartition::nccl(plan, ring_call(4, Protocol::simple)).channels(), 1U);
}

// The cells of 2.23 to 2.28 are half as large, those of 2.22 512 / 2 = 256 bytes: then 64 KiB are
// 256 cells, ceil(256 / 24) = 11 each, again on 24 channels. 2.20 cuts evenly into 24 ranges of
// ceil(65536 / 24 / 16) * 16 = 2736 bytes.
TEST(NcclBinding, cells_depend_on_the_version) {
  const Plan plan = ring(8, 24);
  NcclCall call = ring_call(64 * kib, Protocol::simple);
  call.version = {2, 28};
  EXPECT_EQ(DataPartition::nccl(plan, call).channels(), 8U);
  call.version = {2, 22};
  EXPECT_EQ(DataPartition::nccl(plan, call).channels(), 24U);
  EXPECT_EQ(channel_bytes(plan, DataPartition::nccl(plan, call), 0), 11 * Bytes{256});
  call.version = {2, 20};
  EXPECT_EQ(channel_bytes(plan, DataPartition::nccl(plan, call), 0), Bytes{2736});
  call.version = {2, 17};
  EXPECT_THROW(DataPartition::nccl(plan, call), InputError);
}

// One channel, 4 ranks, 2 MiB chunks: 20 MiB are two full loops of 8 MiB and a last one whose
// chunks are 1 MiB. Each travels as two slices, of which 4 may be under way.
TEST(NcclBinding, the_last_loop_is_cut_evenly) {
  const DataPartition partition =
      DataPartition::nccl(ring(4, 1), ring_call(20 * mib, Protocol::simple));
  EXPECT_EQ(partition.loops(0), 3U);
  EXPECT_EQ(partition.chunk_bytes(0, 1, {3, 1}), Bytes{2 * mib});
  EXPECT_EQ(partition.chunk_bytes(0, 2, {0, 1}), Bytes{mib});
  EXPECT_EQ(partition.chunking().slices, 2U);
  EXPECT_EQ(partition.chunking().credits, 4U);
  EXPECT_EQ(partition.slice_bytes(Bytes{mib}, 1), Bytes{mib / 2});
}

// 100 bytes on 4 ranks: chunks of ceil(25 / 16) * 16 = 32, so 32, 32, 32 and 4.
TEST(NcclBinding, chunks_of_the_last_loop_are_multiples_of_16_bytes) {
  const DataPartition partition = DataPartition::nccl(ring(4, 1), ring_call(100, Protocol::ll));
  EXPECT_EQ(partition.loops(0), 1U);
  EXPECT_EQ(partition.chunk_bytes(0, 0, {2, 1}), Bytes{32});
  EXPECT_EQ(partition.chunk_bytes(0, 0, {3, 1}), Bytes{4});
}

// A slice has at least 32 KiB: of 48 KiB the second gets 16 KiB, of 20 KiB nothing. Half of 100,004
// bytes is rounded up to 16 elements of 4 bytes: 50,048.
TEST(NcclBinding, slices_have_a_least_size) {
  const DataPartition partition = DataPartition::nccl(ring(4, 1), ring_call(mib, Protocol::simple));
  EXPECT_EQ(partition.slice_bytes(Bytes{48 * kib}, 0), Bytes{32 * kib});
  EXPECT_EQ(partition.slice_bytes(Bytes{48 * kib}, 1), Bytes{16 * kib});
  EXPECT_EQ(partition.slice_bytes(Bytes{20 * kib}, 1), Bytes{0});
  EXPECT_EQ(partition.slice_bytes(Bytes{100004}, 0), Bytes{50048});
}

// LL carries 32 KiB of data in a step of 64 KiB; LL128 576,000 of 614,400.
TEST(NcclBinding, a_chunk_of_ll_and_ll128_is_the_data_of_one_step) {
  EXPECT_EQ(
      DataPartition::nccl(ring(2, 1), ring_call(64 * mib, Protocol::ll)).chunking().largest_chunk,
      Bytes{32 * kib});
  const DataPartition ll128 = DataPartition::nccl(ring(2, 1), ring_call(64 * mib, Protocol::ll128));
  EXPECT_EQ(ll128.chunking().largest_chunk, Bytes{576000});
  EXPECT_EQ(ll128.chunking().slices, 1U);
  EXPECT_EQ(ll128.chunking().credits, 8U);
}

// A buffer of 8 MiB has steps of 1 MiB, so chunks of 4 MiB; of 1 MB steps of 125,000 bytes, which 4
// make 500,000, rounded down to 976 x 512.
TEST(NcclBinding, buffers_can_be_set) {
  NcclCall call = ring_call(64 * mib, Protocol::simple);
  call.buffers.simple.count = 8 * mib;
  EXPECT_EQ(DataPartition::nccl(ring(2, 1), call).chunking().largest_chunk, Bytes{4 * mib});
  call.buffers.simple.count = 1000000;
  EXPECT_EQ(DataPartition::nccl(ring(2, 1), call).chunking().largest_chunk, 976 * Bytes{512});
}

// Tree with Simple: 512 KiB at a time, and a share below that is passed on whole.
TEST(NcclBinding, a_tree_streams_single_steps) {
  const Plan plan = plan_of(Collective::all_reduce, NcclAlgorithm::tree, 8, 1);
  const DataPartition large = DataPartition::nccl(plan, tree_call(1200 * kib, Protocol::simple));
  EXPECT_EQ(large.loops(0), 3U);
  EXPECT_EQ(large.chunk_bytes(0, 0, {0, 1}), Bytes{512 * kib});
  EXPECT_EQ(large.chunk_bytes(0, 2, {0, 1}), Bytes{176 * kib});
  EXPECT_EQ(large.chunking().slices, 1U);
  const DataPartition small = DataPartition::nccl(plan, tree_call(400 * kib, Protocol::simple));
  EXPECT_EQ(small.loops(0), 1U);
  EXPECT_EQ(small.chunk_bytes(0, 0, {0, 1}), Bytes{400 * kib});
}

// 8 ranks on one node: q = 1 + 0 + 0.8 = 1.8. Halved while X / c < 64 q / 8 = 14.4 above 128 KiB,
// then while X / c < 3.6 above 32 KiB. X = 1 MiB: 576,000 -> 288,000 -> 144,000 -> 72,000 (X / c =
// 14 is still too few, but 72,000 is below 128 KiB); enough for the second. 72,000 rounds down to
// 37 x 1920. X = 64 MiB: 116 chunks, as is. X = 64 KiB: 72,000 -> 36,000 -> 18,000 = 9 x 1920.
TEST(NcclBinding, a_tree_with_ll128_shrinks_its_chunks) {
  const Plan plan = plan_of(Collective::all_reduce, NcclAlgorithm::tree, 8, 1);
  const auto chunk = [&](std::int64_t size) {
    return DataPartition::nccl(plan, tree_call(size, Protocol::ll128))
        .chunking()
        .largest_chunk.count;
  };
  EXPECT_EQ(chunk(mib), 37 * 1920);
  EXPECT_EQ(chunk(64 * mib), 576000);
  EXPECT_EQ(chunk(64 * kib), 9 * 1920);
}

// 2.19, 8 ranks on one node: d = 7. X = 1 MiB: 512 KiB and 256 KiB are less than 56 to the channel:
// 128 KiB; 8 of them are less than 28: 64 KiB; 16 are not less than 7. Later versions do not
// shrink.
TEST(NcclBinding, a_tree_with_simple_shrank_its_chunks_once) {
  const Plan plan = plan_of(Collective::all_reduce, NcclAlgorithm::tree, 8, 1);
  NcclCall call = tree_call(mib, Protocol::simple);
  call.version = {2, 19};
  EXPECT_EQ(DataPartition::nccl(plan, call).chunking().largest_chunk, Bytes{64 * kib});
  call.version = {2, 20};
  EXPECT_EQ(DataPartition::nccl(plan, call).chunking().largest_chunk, Bytes{512 * kib});
}

// 2.19 goes round: on 2 channels and 4 ranks a loop of LL is 8 x 32 KiB. 300,000 bytes leave 37,856
// for the second, 4,732 per chunk, rounded up to 512 threads x 8 = 8,192. Chunk j of channel i lies
// at (2 j + i) x 8,192: chunks 0 of both, 1 of both and 5,088 bytes of chunk 2 of channel 0.
TEST(NcclBinding, old_versions_go_round_the_channels) {
  NcclCall call = ring_call(300000, Protocol::ll);
  call.version = {2, 19};
  call.threads = 512;
  const DataPartition partition = DataPartition::nccl(ring(4, 2), call);
  EXPECT_EQ(partition.loops(0), 2U);
  EXPECT_EQ(partition.loops(1), 2U);
  EXPECT_EQ(partition.chunk_bytes(1, 0, {3, 1}), Bytes{32 * kib});
  EXPECT_EQ(partition.chunk_bytes(0, 1, {1, 1}), Bytes{8192});
  EXPECT_EQ(partition.chunk_bytes(0, 1, {2, 1}), Bytes{5088});
  EXPECT_EQ(partition.chunk_bytes(1, 1, {2, 1}), Bytes{0});
}

// 8 ranks, 1 GiB: 128 MiB a message, in 4 parts of 32 MiB, 64 chunks of 512 KiB each. Without 60
// loops a part has 4 of them left, and so has the message's last part.
TEST(NcclBinding, messages_go_without_loops) {
  const Plan plan =
      make_nccl_point_to_point_plan(Collective::all_to_all, uniform_placement(8, 8), 32, 4);
  NcclCall call = ring_call(1024 * mib, Protocol::simple);
  call.buffers.point_to_point_chunk = Bytes{512 * kib};
  const DataPartition whole = DataPartition::nccl(plan, call);
  ASSERT_EQ(whole.loops(0), 64U);
  const DataPartition shorter = whole.without_loops(60);
  EXPECT_EQ(shorter.loops(0), 4U);
  for (std::uint32_t part = 0; part < 4; ++part) {
    EXPECT_EQ(shorter.chunk_bytes(0, 3, {part, 1}), Bytes{512 * kib});
    EXPECT_EQ(shorter.chunk_bytes(0, 4, {part, 1}), Bytes{0});
  }
}

// nccl-tests' size of an all-gather is all that a rank receives: 64 MiB on 8 ranks are 8 MiB each.
// Traffic is 8 per byte: cells of 4 KiB, 2,048 of them, ceil(2048 / 3) = 683 on the first channel.
// Every one of the 8 chunks of a loop is 2 MiB: 2,797,568 bytes take two loops.
TEST(NcclBinding, an_all_gather_cuts_what_one_rank_gives) {
  const Plan plan = plan_of(Collective::all_gather, NcclAlgorithm::ring, 8, 3);
  const DataPartition partition = DataPartition::nccl(plan, ring_call(64 * mib, Protocol::simple));
  EXPECT_EQ(partition.loops(0), 2U);
  EXPECT_EQ(partition.chunk_bytes(0, 0, {5, 1}), Bytes{2 * mib});
  EXPECT_EQ(partition.chunk_bytes(0, 1, {5, 1}), 683 * Bytes{4096} - Bytes{2 * mib});
}

// A broadcast is a pipeline of single steps.
TEST(NcclBinding, a_broadcast_streams_single_steps) {
  const Plan plan = plan_of(Collective::broadcast, NcclAlgorithm::ring, 4, 1);
  const DataPartition partition = DataPartition::nccl(plan, ring_call(mib, Protocol::simple));
  EXPECT_EQ(partition.loops(0), 2U);
  EXPECT_EQ(partition.chunk_bytes(0, 0, {0, 1}), Bytes{512 * kib});
  EXPECT_EQ(partition.chunking().slices, 1U);
  EXPECT_EQ(partition.chunking().credits, 8U);
}

TEST(NcclBinding, an_empty_call_uses_no_channel) {
  for (const int minor : {18, 20, 30}) {
    NcclCall call = ring_call(0, Protocol::simple);
    call.version = {2, minor};
    EXPECT_EQ(DataPartition::nccl(ring(4, 2), call).channels(), 0U);
  }
}

// Nothing is lost and nothing doubled: the chunks are the buffer, where it is the same data for
// everybody, and N parts of it where every rank has its own; the slices are the chunk.
TEST(NcclBinding, pieces_add_up) {
  struct Kind {
    Collective collective;
    NcclAlgorithm algorithm;
  };
  constexpr std::array kinds{Kind{Collective::all_reduce, NcclAlgorithm::ring},
                             Kind{Collective::all_reduce, NcclAlgorithm::tree},
                             Kind{Collective::all_gather, NcclAlgorithm::ring},
                             Kind{Collective::reduce_scatter, NcclAlgorithm::ring},
                             Kind{Collective::broadcast, NcclAlgorithm::ring},
                             Kind{Collective::reduce, NcclAlgorithm::ring}};
  std::mt19937 random(1);
  const auto draw = [&](std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random);
  };
  for (int round = 0; round < 3000; ++round) {
    const Kind kind = kinds.at(static_cast<std::size_t>(round) % kinds.size());
    const auto ranks = static_cast<Rank>(draw(1, 17));
    const auto channels = static_cast<std::uint32_t>(draw(1, 24));
    const Plan plan = plan_of(kind.collective, kind.algorithm, ranks, channels);
    const std::int64_t element = std::int64_t{1} << draw(0, 3);
    const NcclCall call{.size = {element * draw(0, std::int64_t{1} << draw(0, 24))},
                        .element_size = {element},
                        .algorithm = kind.algorithm,
                        .protocol = static_cast<Protocol>(draw(0, 2)),
                        .nodes = static_cast<std::uint32_t>(draw(1, ranks)),
                        .version = {2, static_cast<int>(draw(18, 30))}};
    const DataPartition partition = DataPartition::nccl(plan, call);
    ASSERT_LE(partition.channels(), channels);
    Bytes whole;
    for (std::uint32_t channel = 0; channel < partition.channels(); ++channel) {
      for (std::uint32_t loop = 0; loop < partition.loops(channel); ++loop) {
        for (std::uint32_t chunk = 0; chunk < plan.schedule(channel).chunks(); ++chunk) {
          const Bytes bytes = partition.chunk_bytes(channel, loop, {chunk, 1});
          EXPECT_LE(bytes, partition.chunking().largest_chunk);
          EXPECT_EQ(bytes.count % element, 0);
          Bytes slices;
          for (std::uint32_t slice = 0; slice < partition.chunking().slices; ++slice) {
            slices += partition.slice_bytes(bytes, slice);
          }
          EXPECT_EQ(slices, bytes);
          whole += bytes;
        }
      }
    }
    const bool own_parts = blocks(kind.collective, ranks) > 1;
    const Bytes per_rank = bytes_per_rank(kind.collective, ranks, call.size, call.element_size);
    ASSERT_EQ(whole, (own_parts ? ranks : 1) * per_rank)
        << to_string(kind.collective) << " " << to_string(kind.algorithm) << " on " << ranks;
    if (!own_parts) {
      ASSERT_EQ(whole, call.size);
    }
  }
}

}  // namespace
}  // namespace collsim
