// Traces of PyTorch's profiler: what is read of them, what is refused, who waits for whom.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "sim/base/input_error.h"
#include "tests/support/temporary_file.h"
#include "tools/collsim/traces/job_trace.h"
#include "tools/collsim/traces/trace_summary.h"

namespace collsim {
namespace {

using test::TemporaryFile;

RankTrace kineto_of(const std::string& text) {
  const TemporaryFile file("trace.json", text);
  return read_job_trace(file.path().string());
}

std::string refusal_of(const std::string& text) {
  try {
    kineto_of(text);
  } catch (const InputError& error) {
    return error.what();
  }
  return "taken";
}

std::string kernel(const std::string& name, int begin, int duration, const std::string& more) {
  return fmt::format(R"({{"ph": "X", "cat": "kernel", "name": "{}", "ts": {}, "dur": {},)"
                     R"( "args": {{"grid": [8, 1, 1]{}}}}})",
                     name, begin, duration, more);
}

std::string trace_of(int rank, const std::string& events) {
  return fmt::format(
      R"({{"distributedInfo": {{"rank": {}, "world_size": 2}}, "traceEvents": [{}]}})", rank,
      events);
}

const std::string reduction =
    R"(, "Collective name": "allreduce", "In msg nelems": 100, "Out msg nelems": 100,)"
    R"( "Group size": 2, "dtype": "Float", "Process Group Name": "dp")";

TEST(Kineto, reads_calls_of_a_published_trace) {
  const RankTrace trace =
      read_job_trace(COLLSIM_SOURCE_DIR "/tests/data/kineto/hta-alexnet-rank0.json.gz");
  EXPECT_EQ(trace.rank, 0);
  EXPECT_EQ(trace.world_size, 2);
  EXPECT_EQ(trace.steps.size(), 3U);
  // Each of three steps broadcasts two buffers and reduces five buckets.
  ASSERT_EQ(trace.calls.size(), 21U);
  std::size_t reductions = 0;
  for (const TracedCall& call : trace.calls) {
    if (call.operation != "allreduce") continue;
    ++reductions;
    EXPECT_EQ(call.ranks, 2);
    EXPECT_EQ(call.channels, 8);
    EXPECT_EQ(call.type, "Float");
  }
  EXPECT_EQ(reductions, 15U);
}

TEST(Kineto, finds_the_words_of_a_kernel_at_its_launch) {
  const std::string words =
      R"({"ph": "X", "cat": "cpu_op", "name": "record_param_comms", "ts": 1, "dur": 1, "args":)"
      R"( {"External id": 7, "Collective name": "allreduce", "In msg nelems": 10, "Out msg nelems":)"
      R"( 10, "dtype": "BFloat16", "Group size": 4, "Process Group Name": "tp"}},)"
      R"({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernelExC", "ts": 2, "dur": 1,)"
      R"( "args": {"External id": 7, "correlation": 9}},)";
  const RankTrace trace =
      kineto_of(trace_of(1, words + kernel("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(x)", 5, 3,
                                           R"(, "correlation": 9)")));
  ASSERT_EQ(trace.calls.size(), 1U);
  EXPECT_EQ(trace.rank, 1);
  EXPECT_EQ(trace.calls[0].communicator, "tp");
  EXPECT_EQ(trace.calls[0].bytes, 20);  // ten of two bytes
  EXPECT_EQ(trace.calls[0].ranks, 4);
}

TEST(Kineto, names_a_call_by_its_kernel_where_nothing_else_does) {
  const RankTrace trace = kineto_of(trace_of(0, kernel("ncclDevKernel_SendRecv(x)", 5, 3, "")));
  ASSERT_EQ(trace.calls.size(), 1U);
  EXPECT_EQ(trace.calls[0].operation, "SendRecv");
  EXPECT_EQ(trace.calls[0].bytes, 0);
}

TEST(Kineto, takes_kernels_of_expert_parallelism_for_calls) {
  const RankTrace trace =
      kineto_of(trace_of(0, kernel("void deep_ep::internode::dispatch<false, 8>(int4*)", 5, 3, "") +
                                "," + kernel("void step::internal::gemm(x)", 9, 3, "")));
  ASSERT_EQ(trace.calls.size(), 1U);
  EXPECT_EQ(trace.calls[0].operation, "dispatch");
  EXPECT_EQ(trace.compute.size(), 1U);
}

TEST(Kineto, refuses_what_is_no_trace) {
  EXPECT_NE(refusal_of("").find("not JSON"), std::string::npos);
  EXPECT_NE(refusal_of("{}").find("no traceEvents"), std::string::npos);
  EXPECT_NE(refusal_of("{\"traceEvents\": [\n{]}").find("trace.json:2: not JSON"),
            std::string::npos);
  EXPECT_NE(refusal_of(trace_of(0, kernel("k", 0, -5, ""))).find("dur: -5"), std::string::npos);
  EXPECT_NE(refusal_of(trace_of(-1, "")).find("rank: -1"), std::string::npos);
  EXPECT_NE(refusal_of(std::string(100, '[')).find("nested too deep"), std::string::npos);
  // The first bytes of gzip's format without the rest.
  EXPECT_NE(refusal_of("\x1f\x8b\x08").find("trace.json"), std::string::npos);
  EXPECT_THROW(read_job_trace("no-such-file.json"), InputError);
}

// rank 0  compute [0, 10)   call [5          25)
// rank 1                    call      [15    25)   by a clock that is 1000 ahead
// Rank 0 waits 10 for rank 1. The transfer takes 10. Of rank 0's call, 5 are hidden and 15 exposed.
TEST(TraceSummary, tells_waiting_from_the_transfer) {
  const std::string name = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)";
  const TraceSummary summary = summarize(
      {kineto_of(trace_of(1, kernel(name, 1015, 10, reduction))),
       kineto_of(trace_of(0, kernel("gemm", 0, 10, "") + "," + kernel(name, 5, 20, reduction)))});
  ASSERT_EQ(summary.ranks.size(), 2U);
  EXPECT_DOUBLE_EQ(summary.ranks[0].compute_us, 10);
  EXPECT_DOUBLE_EQ(summary.ranks[0].exposed_us, 15);
  EXPECT_DOUBLE_EQ(summary.ranks[0].span_us, 25);
  EXPECT_EQ(summary.ranks[0].came_last, 0U);
  EXPECT_EQ(summary.ranks[1].came_last, 1U);
  EXPECT_DOUBLE_EQ(summary.ranks[0].waited_us, 10);
  EXPECT_DOUBLE_EQ(summary.ranks[1].waited_us, 0);
  ASSERT_EQ(summary.classes.size(), 1U);
  EXPECT_EQ(summary.classes[0].count, 2U);
  EXPECT_DOUBLE_EQ(summary.classes[0].time_us, 15);  // the middle of 20 and 10
  EXPECT_DOUBLE_EQ(summary.classes[0].transfer_us, 10);
  EXPECT_DOUBLE_EQ(summary.classes[0].wait_us, 5);                // the mean of 10 and 0
  EXPECT_DOUBLE_EQ(busbw_factor(summary.classes[0].example), 1);  // 2 (n - 1) / n of two
}

TEST(TraceSummary, refuses_two_traces_of_one_rank) {
  EXPECT_THROW(summarize({kineto_of(trace_of(3, "")), kineto_of(trace_of(3, ""))}), InputError);
}

}  // namespace
}  // namespace collsim
