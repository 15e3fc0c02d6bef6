// How NCCL cuts calls of NVLS, NVLSTree, CollNet and PAT. Expectations follow the rules in NCCL's
// src/enqueue.cc by hand.

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>

#include "sim/execution/data_partition.h"
#include "sim/nccl/nccl_chunking.h"
#include "sim/nccl/nccl_plan.h"
#include "tests/support/nccl_channels.h"

namespace collsim {
namespace {

constexpr std::int64_t kib = 1 << 10;
constexpr std::int64_t mib = 1 << 20;
constexpr std::uint32_t channels = 16;

/// On `nodes` nodes of 8 with 8 stripes; the chunk in KiB of a call of so many MiB.
std::int64_t chunk_kib(NcclAlgorithm algorithm, std::uint32_t nodes, std::int64_t size,
                       std::int64_t nvls_chunk = 128 * kib) {
  NcclCall call;
  call.size.count = size * mib;
  call.algorithm = algorithm;
  call.nodes = nodes;
  call.stripes = 8;
  call.buffers.nvls_chunk.count = nvls_chunk;
  return chunk_nccl_call(Collective::all_reduce, 8 * nodes, channels, call).chunk.count / kib;
}

// 16 channels x 8 stripes = 128 chunks at once. 64 KiB below 64 x 128 x 128 KiB = 1 GiB, 32 below 8
// x 128 x 64 KiB = 64 MiB, 16 below 2 x 128 x 32 KiB = 8 MiB.
TEST(NcclChunking, nvls_chunks_shrink_with_the_call) {
  const auto chunk = [](std::int64_t size) { return chunk_kib(NcclAlgorithm::nvls, 1, size); };
  EXPECT_EQ(chunk(1024), 128);
  EXPECT_EQ(chunk(1023), 64);
  EXPECT_EQ(chunk(64), 64);
  EXPECT_EQ(chunk(63), 32);
  EXPECT_EQ(chunk(8), 32);
  EXPECT_EQ(chunk(7), 16);
  EXPECT_EQ(chunk(0), 16);
}

// 64 KiB below 4 x 128 x 128 KiB = 64 MiB, 32 below 128 x 64 KiB = 8 MiB; where 64 KiB is the most,
// below 32 MiB and 4 MiB it is not less than that, until 32 KiB below 8 MiB.
TEST(NcclChunking, nvls_tree_chunks_shrink_with_the_call) {
  const auto chunk = [](std::int64_t size) { return chunk_kib(NcclAlgorithm::nvls_tree, 4, size); };
  EXPECT_EQ(chunk(64), 128);
  EXPECT_EQ(chunk(63), 64);
  EXPECT_EQ(chunk(8), 64);
  EXPECT_EQ(chunk(7), 32);
  EXPECT_EQ(chunk_kib(NcclAlgorithm::nvls_tree, 4, 1024, 64 * kib), 64);
  EXPECT_EQ(chunk_kib(NcclAlgorithm::nvls_tree, 4, 8, 64 * kib), 64);
  EXPECT_EQ(chunk_kib(NcclAlgorithm::nvls_tree, 4, 7, 64 * kib), 32);
}

// CollNetDirect has depth 2 with several stripes. 256 MiB leave 2 MiB to a stripe of a channel: 4
// chunks of 512 KiB are below 2 x 64, so down to 128 KiB, of which 16 are not below 2 x 8. Of 128
// MiB 8 are: 64 KiB. CollNetChain's depth is 8: of 64 MiB a channel has 4 MiB, 32 of 128 KiB are
// below 8 x 8, 64 of 64 KiB are not.
TEST(NcclChunking, collnet_chunks_shrink_until_the_pipeline_is_full) {
  EXPECT_EQ(chunk_kib(NcclAlgorithm::collnet_direct, 4, 256), 128);
  EXPECT_EQ(chunk_kib(NcclAlgorithm::collnet_direct, 4, 128), 64);
  EXPECT_EQ(chunk_kib(NcclAlgorithm::collnet_chain, 4, 128), 128);
  EXPECT_EQ(chunk_kib(NcclAlgorithm::collnet_chain, 4, 64), 64);
  EXPECT_EQ(chunk_kib(NcclAlgorithm::collnet_chain, 4, 0), 32);
}

// 2 channels: all_gather halves 512 KiB while 2 x 32 chunks are more than the call, so below 32
// MiB; reduce_scatter below 16 MiB; not below 64 KiB.
TEST(NcclChunking, pat_chunks_shrink_with_the_call) {
  const auto chunk = [](Collective collective, std::int64_t size) {
    NcclCall call;
    call.size.count = size;
    call.algorithm = NcclAlgorithm::pat;
    call.nodes = 4;
    return chunk_nccl_call(collective, 4, 2, call).chunk.count / kib;
  };
  EXPECT_EQ(chunk(Collective::all_gather, 32 * mib), 512);
  EXPECT_EQ(chunk(Collective::all_gather, 32 * mib - 4), 256);
  EXPECT_EQ(chunk(Collective::all_gather, mib), 64);
  EXPECT_EQ(chunk(Collective::reduce_scatter, 16 * mib), 512);
  EXPECT_EQ(chunk(Collective::reduce_scatter, 16 * mib - 4), 256);
}

// 100,000 bytes in 4 stripes on one channel: chunks of 16 KiB, so that a loop covers 65,536. The
// other 34,464 bytes are 8,616 a stripe, rounded up to 16: 8,624, and 8,592 for the last.
TEST(NcclChunking, a_last_loop_is_evened_out_over_stripes) {
  const Plan plan =
      make_nccl_plan(Collective::all_reduce, NcclAlgorithm::nvls, test::node_channels(1, 4, 1), 1);
  NcclCall call;
  call.size.count = 100000;
  call.algorithm = NcclAlgorithm::nvls;
  call.stripes = 4;
  const DataPartition partition = DataPartition::nccl(plan, call);
  ASSERT_EQ(partition.loops(0), 2U);
  EXPECT_EQ(partition.chunk_bytes(0, 0, {3, 1}), Bytes{16 * kib});
  EXPECT_EQ(partition.chunk_bytes(0, 1, {0, 1}), Bytes{8624});
  EXPECT_EQ(partition.chunk_bytes(0, 1, {3, 1}), Bytes{8592});
}

}  // namespace
}  // namespace collsim
