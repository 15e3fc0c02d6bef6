// Steps of traces as programs: what comes after what, whom the host waits for, what calls become.

#include "tools/collsim/replay/trace_program.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sim/base/input_error.h"
#include "tests/support/temporary_file.h"
#include "tools/collsim/replay/trace_replay.h"

namespace collsim {
namespace {

using test::TemporaryFile;

/// What the host does: a name, when, how long.
std::string host(const std::string& name, int begin, int duration, int correlation = 0) {
  return fmt::format(R"({{"ph": "X", "cat": "cuda_runtime", "name": "{}", "tid": 1, "ts": {},)"
                     R"( "dur": {}, "args": {{"correlation": {}}}}},)",
                     name, begin, duration, correlation);
}

std::string kernel(const std::string& name, int stream, int begin, int duration, int correlation,
                   const std::string& words = "") {
  return fmt::format(R"({{"ph": "X", "cat": "kernel", "name": "{}", "ts": {}, "dur": {}, "args":)"
                     R"( {{"stream": {}, "correlation": {}{}}}}},)",
                     name, begin, duration, stream, correlation, words);
}

const std::string sum_words =
    R"(, "Collective name": "allreduce", "In msg nelems": 100, "Out msg nelems": 100,)"
    R"( "Group size": 2, "dtype": "Float", "Process Group Name": "dp",)"
    R"( "Process Group Ranks": "[0, 1]")";
const std::string sum_kernel = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)";

RankTrace trace_of(int rank, std::string events) {
  events.pop_back();
  const TemporaryFile file(
      "trace.json",
      fmt::format(R"({{"distributedInfo": {{"rank": {}, "world_size": 2}}, "traceEvents": [{}]}})",
                  rank, events));
  return read_job_trace(file.path().string());
}

// Times from the first kernel on. The host issues a, the sum, b and d at once. The sum waits for a,
// which was issued last, and d for the sum. The host issues e late, waits for its end at 315, and
// needs 16 more for f.
//
// stream 7  a 0..100  b 102..152           d 203..213   e 305..315   f 331..335
// stream 17            sum 101..201
std::string one_rank() {
  return host("cudaLaunchKernel", 0, 2, 1) + kernel("a", 7, 5, 100, 1) +
         host("cudaEventRecord", 10, 1) + host("cudaStreamWaitEvent", 12, 1) +
         host("cuLaunchKernelEx", 14, 2, 2) + kernel(sum_kernel, 17, 106, 100, 2, sum_words) +
         host("cudaLaunchKernel", 20, 2, 3) + kernel("b", 7, 107, 50, 3) +
         host("cudaStreamWaitEvent", 30, 1) + host("cudaLaunchKernel", 31, 2, 4) +
         kernel("d", 7, 208, 10, 4) + host("cudaLaunchKernel", 300, 2, 5) +
         kernel("e", 7, 310, 10, 5) + host("cudaDeviceSynchronize", 303, 18) +
         host("cudaLaunchKernel", 330, 2, 6) + kernel("f", 7, 336, 4, 6);
}

/// Calls that all take one time.
class OneCost : public CallCosts {
 public:
  explicit OneCost(double us) : us_(us) {}
  CallCost cost_of(const ProgramCommunicator& /*communicator*/,
                   const ProgramCall& /*call*/) override {
    return {microseconds(us_), microseconds(us_), 0, 0};
  }

 private:
  double us_;
};

TEST(TraceProgram, keeps_what_came_after_what) {
  const TracedStep step =
      program_of_step({trace_of(0, one_rank()), trace_of(1, one_rank())}, of_last_step);
  ASSERT_EQ(step.program.groups.size(), 2U);
  const std::vector<ProgramOp>& ops = step.program.groups[1].ops;
  ASSERT_EQ(ops.size(), 6U);
  EXPECT_NEAR(in_microseconds(ops[0].compute), 100, 1e-6);
  ASSERT_EQ(ops[1].calls.size(), 1U);
  EXPECT_EQ(ops[1].calls[0].kind, ProgramCallKind::all_reduce);
  EXPECT_EQ(ops[1].calls[0].bytes.count, 400);
  EXPECT_EQ(ops[1].after, std::vector<std::uint32_t>{0});
  EXPECT_NEAR(in_microseconds(ops[2].compute), 52, 1e-6);  // with the queue's gap
  EXPECT_EQ(ops[3].after, std::vector<std::uint32_t>{1});
  EXPECT_NEAR(in_microseconds(ops[3].compute), 12, 1e-6);
  EXPECT_EQ(ops[5].host_after, std::vector<std::uint32_t>{4});
  EXPECT_NEAR(in_microseconds(ops[5].host), 16, 1e-6);
  EXPECT_NEAR(step.time_us, 335, 1e-6);
  EXPECT_EQ(step.program.communicators[0].ranks, (std::vector<Rank>{0, 1}));
}

// With a call of 100 us all is as traced but for gaps. With 200 us, d runs 300..312, e 312..322,
// and f after the host's 16 us, 338..342.
TEST(TraceProgram, replays_with_other_calls) {
  const TracedStep step =
      program_of_step({trace_of(0, one_rank()), trace_of(1, one_rank())}, of_last_step);
  OneCost same(100);
  EXPECT_NEAR(replay_step(step, same, {}).time_us, 335, 1e-6);
  OneCost slower(200);
  const ReplayedStep replayed = replay_step(step, slower, {});
  EXPECT_NEAR(replayed.time_us, 342, 1e-6);
  // The sum runs 100..300, b hides 100..152 of it.
  EXPECT_NEAR(replayed.ranks[0].exposed_us, 148, 1e-6);
  EXPECT_NEAR(replayed.ranks[0].traced.exposed_us, 50, 1);  // 157 to 206
  ASSERT_EQ(replayed.classes.size(), 1U);
  EXPECT_EQ(replayed.classes[0].count, 2U);
  EXPECT_NEAR(replayed.classes[0].traced_us, 100, 1e-6);
  EXPECT_NEAR(replayed.classes[0].replayed_us, 200, 1e-6);
}

TEST(TraceProgram, takes_a_rank_without_a_trace_to_be_like_the_first) {
  const TracedStep step = program_of_step({trace_of(0, one_rank())}, 0);
  EXPECT_EQ(step.absent, 1U);
  ASSERT_EQ(step.program.groups.size(), 1U);
  EXPECT_EQ(step.program.groups[0].ranks, (std::vector<Rank>{0, 1}));
  OneCost same(100);
  EXPECT_NEAR(replay_step(step, same, {}).time_us, 335, 1e-6);
}

TEST(TraceProgram, puts_messages_of_one_kernel_into_one_group) {
  const auto words = [](const std::string& operation, const std::string& peer) {
    return fmt::format(
        R"({{"ph": "X", "cat": "cpu_op", "name": "record_param_comms", "tid": 1, "ts": 3, "dur": 1,)"
        R"( "args": {{"External id": 7, "Collective name": "{}", "{}": {}, "In msg nelems": 10,)"
        R"( "Out msg nelems": 10, "dtype": "Half", "Group size": 2, "Process Group Name": "pp",)"
        R"( "Process Group Ranks": "[0, 1]"}}}},)",
        operation, peer, peer == "Dst Rank" ? 1 : 0);
  };
  const std::string launch = host("cuLaunchKernelEx", 5, 2, 1);
  const std::string message = kernel("ncclDevKernel_SendRecv(x)", 17, 20, 30, 1);
  const TracedStep step =
      program_of_step({trace_of(0, words("send", "Dst Rank") + launch + message),
                       trace_of(1, words("recv", "Src Rank") + launch + message)},
                      0);
  const ProgramCall& send = step.program.groups[0].ops[0].calls.at(0);
  EXPECT_EQ(send.kind, ProgramCallKind::send);
  EXPECT_EQ(send.peer, 1U);
  EXPECT_EQ(send.bytes.count, 20);
  EXPECT_EQ(step.program.groups[1].ops[0].calls.at(0).kind, ProgramCallKind::receive);
  EXPECT_EQ(step.kept_calls, 0U);
}

// Kernels of DeepEP say nothing of who sends what.
TEST(TraceProgram, keeps_calls_that_nothing_describes) {
  const TracedStep step = program_of_step(
      {trace_of(0, kernel("void deep_ep::internode::dispatch<false, 8>(int4*)", 5, 3, 40, 1))}, 0);
  EXPECT_EQ(step.kept_calls, 1U);
  EXPECT_NEAR(in_microseconds(step.program.groups[0].ops[0].compute), 40, 1e-6);
}

TEST(TraceProgram, refuses_steps_that_are_not_there) {
  EXPECT_THROW(program_of_step({trace_of(0, one_rank())}, 1), InputError);
  EXPECT_THROW(program_of_step({}, 0), InputError);
  EXPECT_THROW(program_of_step({trace_of(0, host("cudaDeviceSynchronize", 1, 2))}, 0), InputError);
  EXPECT_THROW(program_of_step({trace_of(200'000, one_rank())}, 0), InputError);
}

// Rank 1 lacks the sum: rank 0 would wait for it for ever.
TEST(TraceProgram, refuses_traces_whose_ranks_disagree) {
  const std::string twice = one_rank() + host("cuLaunchKernelEx", 400, 2, 7) +
                            kernel(sum_kernel, 17, 420, 100, 7, sum_words);
  const TracedStep step = program_of_step({trace_of(0, twice), trace_of(1, one_rank())}, 0);
  OneCost cost(100);
  EXPECT_THROW(replay_step(step, cost, {}), InputError);
}

}  // namespace
}  // namespace collsim
