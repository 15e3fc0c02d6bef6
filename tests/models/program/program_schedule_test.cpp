// Small programs whose times are worked out by hand. A call takes 100 us per MB, and no latency
// unless a test says so. In the drawings a column is 100 us; digits and letters are ops, dots are
// waits.

#include "models/program/program_schedule.h"

#include <gtest/gtest.h>

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/program/call_program_yaml.h"
#include "sim/base/input_error.h"
#include "sim/base/text_file.h"
#include "sim/execution/machine_events.h"

namespace collsim {
namespace {

/// 100 us per MB.
constexpr double bytes_per_second = 1e10;

/// Calls that take a latency and their bytes at one rate. Inside a node, where there is a
/// `beside`, several at once move at so much of it.
class EvenCosts : public CallCosts {
 public:
  explicit EvenCosts(Seconds latency = {}, std::uint32_t channels = 0,
                     std::optional<double> beside = {})
      : latency_(latency), channels_(channels), beside_(beside) {}

  CallCost cost_of(const ProgramCommunicator& /*communicator*/, const ProgramCall& call) override {
    const Seconds moves{static_cast<double>(call.bytes.count) / bytes_per_second};
    CallCost cost{latency_ + moves, latency_, 0, channels_};
    if (beside_) cost.in_node = 0;
    return cost;
  }
  std::vector<double> rates_in_node(std::span<const std::uint32_t> calls) override {
    return std::vector<double>(calls.size(), calls.size() > 1 ? *beside_ : 1);
  }

 private:
  Seconds latency_;
  std::uint32_t channels_;
  std::optional<double> beside_;
};

CallProgram program_of(const std::string& groups,
                       const std::string& communicators = "all: \"0..1\"", int ranks = 2) {
  const std::string text = "collsim: program/1\nranks: " + std::to_string(ranks) +
                           "\ncommunicators: { " + communicators + " }\ngroups:\n" + groups;
  return read_call_program(read_yaml({"program.yaml", text}, "program"));
}

ProgramSchedule run(const CallProgram& program, const GpuSharing& sharing = {}) {
  EvenCosts costs;
  return schedule_program(program, costs, sharing);
}

double exposed_us(const GroupSchedule& group, const std::string& name) {
  const auto found = group.exposed.find(name);
  return found == group.exposed.end() ? 0 : in_microseconds(found->second);
}

// ff
//   rrr    the call comes after the kernels: all of it is exposed
TEST(ProgramSchedule, exposes_all_of_a_call_that_comes_after_the_kernels) {
  const ProgramSchedule schedule = run(program_of(R"(
  all: { ranks: "0..1", ops: [
    { compute: 200 us, name: f }, { all_reduce: 3 MB, on: all } ] }
)"));
  EXPECT_NEAR(in_microseconds(schedule.time), 500, 1e-6);
  EXPECT_NEAR(exposed_us(schedule.groups[0], "all"), 300, 1e-6);
  EXPECT_NEAR(in_microseconds(schedule.groups[0].computes), 200, 1e-6);
}

// ff ggg o
//   rrrr     the call hides behind g but for its last column
TEST(ProgramSchedule, exposes_what_outlasts_the_kernels_beside_it) {
  const ProgramSchedule schedule = run(program_of(R"(
  all: { ranks: "0..1", ops: [
    { compute: 200 us, name: f },
    { all_reduce: 4 MB, on: all, stream: calls, after: f, name: r },
    { compute: 300 us, name: g },
    { compute: 100 us, after: r } ] }
)"));
  EXPECT_NEAR(in_microseconds(schedule.time), 700, 1e-6);
  EXPECT_NEAR(exposed_us(schedule.groups[0], "all"), 100, 1e-6);
}

// group a: ff rr      group a waits for b, which is no exposed communication but a wait
// group b: fffff rr
TEST(ProgramSchedule, counts_waiting_for_a_late_rank_apart) {
  const ProgramSchedule schedule = run(program_of(R"(
  a: { ranks: 0, ops: [ { compute: 200 us }, { all_reduce: 2 MB, on: all } ] }
  b: { ranks: 1, ops: [ { compute: 500 us }, { all_reduce: 2 MB, on: all } ] }
)"));
  EXPECT_NEAR(in_microseconds(schedule.time), 700, 1e-6);
  EXPECT_NEAR(in_microseconds(schedule.groups[0].waits), 300, 1e-6);
  EXPECT_NEAR(exposed_us(schedule.groups[0], "all"), 200, 1e-6);
  EXPECT_NEAR(in_microseconds(schedule.groups[1].waits), 0, 1e-6);
}

// A call between kernels takes 100 us alone and is 1.3 times slower beside kernels, which are 1.25
// times slower beside it. Beside kernels of 200 us it takes 130, in which they do 104: it adds 26.
// Beside kernels of 40 us, which then take 50, it does 38.5: the other 61.5 add to 10.
TEST(ProgramSchedule, adds_of_calls_beside_kernels_what_both_lose) {
  CallProgram program = program_of(R"(
  all: { ranks: "0..1", ops: [ { compute: 1000 us } ] }
)");
  const GpuSharing sharing{
      .multiprocessors = 100, .kernels_beside_calls = 1.25, .calls_beside_kernels = 1.3};
  ProgramOp& op = program.groups.front().ops.front();
  op.inner = {{0, ProgramCallKind::all_gather, Bytes{1'000'000}}};
  const auto time_beside = [&](double microseconds) {
    op.inner.front().beside = Seconds{microseconds * 1e-6};
    EvenCosts costs({}, 1);
    return in_microseconds(schedule_program(program, costs, sharing).time);
  };
  EXPECT_NEAR(time_beside(0), 1100, 1e-6);
  EXPECT_NEAR(time_beside(200), 1026, 1e-6);
  EXPECT_NEAR(time_beside(40), 1010 + 100 - 50 / 1.3, 1e-6);
}

// GPipe, two stages, three microbatches; forward 100 us, backward 200 us, a send 100 us:
// a: 1 2 3 . . . . . 1 1 2 2 3 3
// b: . . 1 2 3 1 1 2 2 3 3
TEST(ProgramSchedule, runs_gpipe_on_two_stages) {
  const ProgramSchedule schedule = run(program_of(R"(
  a: { ranks: 0, ops: [
    { repeat: 3, ops: [ { compute: 100 us, name: f },
                        { send: 1 MB, to: b, on: all, stream: out, after: f } ] },
    { repeat: 3, ops: [ { receive: 1 MB, from: b, on: all, stream: in, name: g },
                        { compute: 200 us, after: g } ] } ] }
  b: { ranks: 1, ops: [
    { repeat: 3, ops: [ { receive: 1 MB, from: a, on: all, stream: in, name: x },
                        { compute: 100 us, after: x } ] },
    { repeat: 3, ops: [ { compute: 200 us, name: g },
                        { send: 1 MB, to: a, on: all, stream: out, after: g } ] } ] }
)"));
  EXPECT_NEAR(in_microseconds(schedule.groups[1].computes), 900, 1e-6);
  EXPECT_NEAR(in_microseconds(schedule.time), 1400, 1e-6);
}

// rrsss  two streams, one communicator: its second call begins when the first has ended
TEST(ProgramSchedule, runs_calls_of_a_communicator_one_after_the_other) {
  const ProgramSchedule schedule = run(program_of(R"(
  all: { ranks: "0..1", ops: [
    { all_reduce: 2 MB, on: all, stream: one, name: r },
    { all_gather: 3 MB, on: all, stream: two, name: s } ] }
)"));
  EXPECT_NEAR(in_microseconds(schedule.time), 500, 1e-6);
  EXPECT_NEAR(in_microseconds(schedule.groups[0].ops[1].begin), 0, 1e-6);
  EXPECT_NEAR(in_microseconds(schedule.groups[0].ops[1].moves), 200, 1e-6);
  EXPECT_NEAR(exposed_us(schedule.groups[0], "all"), 500, 1e-6);
}

// Two communicators, whose calls move at 5/8 of their rate beside each other.
// aaaa      alone 400 us each: 640 us
// bbbb
TEST(ProgramSchedule, slows_calls_of_a_node_that_move_at_once) {
  EvenCosts costs({}, 0, 0.625);
  const ProgramSchedule schedule = schedule_program(program_of(R"(
  all: { ranks: "0..1", ops: [
    { all_reduce: 4 MB, on: one, stream: a }, { all_reduce: 4 MB, on: two, stream: b } ] }
)",
                                                               "one: \"0..1\", two: \"0..1\""),
                                                    costs);
  EXPECT_NEAR(in_microseconds(schedule.time), 640, 1e-6);
}

// One call of 400 us, one of 100 us: both at 5/8 until the short one ends at 160 us, when the
// long one has 300 us left.
TEST(ProgramSchedule, lets_a_call_go_on_as_if_alone_when_another_ends) {
  EvenCosts costs({}, 0, 0.625);
  const ProgramSchedule schedule = schedule_program(program_of(R"(
  all: { ranks: "0..1", ops: [
    { all_reduce: 4 MB, on: one, stream: a }, { all_reduce: 1 MB, on: two, stream: b } ] }
)",
                                                               "one: \"0..1\", two: \"0..1\""),
                                                    costs);
  EXPECT_NEAR(in_microseconds(schedule.groups[0].ops[1].end), 160, 1e-6);
  EXPECT_NEAR(in_microseconds(schedule.time), 460, 1e-6);
}

// Calls of two groups that have no GPU in common may still share the node's memory: as above.
TEST(ProgramSchedule, slows_calls_of_other_groups_of_a_node) {
  EvenCosts costs({}, 0, 0.625);
  const ProgramSchedule schedule = schedule_program(program_of(R"(
  a: { ranks: "0..1", ops: [ { all_reduce: 4 MB, on: one } ] }
  b: { ranks: "2..3", ops: [ { all_reduce: 1 MB, on: two } ] }
)",
                                                               "one: \"0..1\", two: \"2..3\"", 4),
                                                    costs);
  EXPECT_NEAR(in_microseconds(schedule.groups[1].end), 160, 1e-6);
  EXPECT_NEAR(in_microseconds(schedule.time), 460, 1e-6);
}

// What follows a call is issued 50 us after it, unless it says what the host takes.
TEST(ProgramSchedule, launches_calls_one_after_the_other) {
  CallProgram program = program_of(R"(
  all: { ranks: "0..1", ops: [
    { all_reduce: 1 MB, on: one, stream: a }, { all_reduce: 1 MB, on: two, stream: b },
    { compute: 10 us, stream: c, host: 20 us }, { compute: 10 us, stream: d } ] }
)",
                                   "one: \"0..1\", two: \"0..1\"");
  launch_calls_apart(program, microseconds(50));
  const ProgramSchedule schedule = run(program);
  const double begins[] = {0, 50, 70, 70};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(in_microseconds(schedule.groups[0].ops[i].begin), begins[i], 1e-6) << i;
  }
}

// Pairs of one stage of a pipeline of two are beside each other, but not those of the other stage.
TEST(ProgramReader, counts_equal_communicators_of_the_same_groups) {
  CallProgram program = program_of(R"(
  a: { ranks: "0..3", ops: [ { all_reduce: 1 MB, on: first } ] }
  b: { ranks: "4..7", ops: [ { all_reduce: 1 MB, on: second } ] }
)",
                                   "first: [[0, 1], [2, 3]], second: [[4, 5], [6, 7]]", 8);
  count_alike(program, 8);
  EXPECT_EQ(program.communicators[0].beside, (std::vector<Rank>{0, 1, 2, 3}));
  EXPECT_EQ(program.communicators[1].beside, (std::vector<Rank>{4, 5, 6, 7}));
}

// A call keeps 25 of 100 multiprocessors for 300 us, in which kernels do 225 us of their 525 us;
// then 300 us are left: 600 us.
TEST(ProgramSchedule, takes_multiprocessors_from_kernels) {
  EvenCosts costs({}, 25);
  const ProgramSchedule schedule = schedule_program(program_of(R"(
  all: { ranks: "0..1", ops: [
    { all_reduce: 3 MB, on: all, stream: calls }, { compute: 525 us } ] }
)"),
                                                    costs, {.multiprocessors = 100});
  EXPECT_NEAR(in_microseconds(schedule.time), 600, 1e-6);
}

// Two kernels of 300 us, and one of 100 us that shares the GPU with the first until 200 us. Then
// 200 us are left of the first, so that the call, which comes at 200 us, begins at 400 us.
TEST(ProgramSchedule, makes_calls_wait_for_the_kernel_that_runs) {
  const CallProgram program = program_of(R"(
  all: { ranks: "0..1", ops: [
    { compute: 100 us, stream: other, name: early },
    { compute: 600 us, kernels: 2 },
    { all_reduce: 2 MB, on: all, stream: calls, after: early } ] }
)");
  const ProgramSchedule schedule = run(program, {.calls_wait_for_kernels = true});
  EXPECT_NEAR(in_microseconds(schedule.groups[0].ops[2].moves), 400, 1e-6);
  EXPECT_NEAR(in_microseconds(schedule.groups[0].ops[2].end), 600, 1e-6);
  EXPECT_NEAR(in_microseconds(run(program).groups[0].ops[2].end), 400, 1e-6);
}

// The host takes 150 us to issue each of three kernels of 100 us: they begin at 150, 300 and 450.
TEST(ProgramSchedule, waits_for_the_host) {
  const ProgramSchedule schedule = run(program_of(R"(
  all: { ranks: "0..1", ops: [ { repeat: 3, ops: [ { compute: 100 us, host: 150 us } ] } ] }
)"));
  EXPECT_NEAR(in_microseconds(schedule.time), 550, 1e-6);
  EXPECT_NEAR(in_microseconds(schedule.groups[0].waits), 250, 1e-6);
}

// A group of a send and a receive ends with both, and neither waits for the other's end.
TEST(ProgramSchedule, ends_a_group_of_calls_with_the_last) {
  const ProgramSchedule schedule = run(program_of(R"(
  a: { ranks: 0, ops: [
    { calls: [ { send: 1 MB, to: b, on: all }, { receive: 3 MB, from: b, on: all } ] },
    { compute: 100 us } ] }
  b: { ranks: 1, ops: [
    { calls: [ { send: 3 MB, to: a, on: all }, { receive: 1 MB, from: a, on: all } ] } ] }
)"));
  EXPECT_NEAR(in_microseconds(schedule.time), 400, 1e-6);
}

TEST(ProgramSchedule, says_who_waits_for_whom_in_a_program_that_hangs) {
  const CallProgram program = program_of(R"(
  a: { ranks: 0, ops: [ { send: 1 MB, to: b, on: all, name: first } ] }
  b: { ranks: 1, ops: [ { send: 1 MB, to: a, on: all, name: second } ] }
)");
  try {
    run(program);
    FAIL() << "it ended";
  } catch (const HangError& error) {
    EXPECT_EQ(std::string(error.what()),
              "the program hangs: 'a' waits in op 1 'first' (send on 'all'); 'b' waits in op 1 "
              "'second' (send on 'all')");
  }
}

TEST(ProgramSchedule, refuses_calls_that_disagree) {
  EXPECT_THROW(run(program_of(R"(
  a: { ranks: 0, ops: [ { all_reduce: 1 MB, on: all } ] }
  b: { ranks: 1, ops: [ { all_gather: 1 MB, on: all } ] }
)")),
               InputError);
}

TEST(ProgramReader, names_the_place_of_mistakes) {
  const auto message = [](const std::string& groups) {
    try {
      program_of(groups);
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string("none");
  };
  EXPECT_EQ(message("  a: { ranks: 0, ops: [ { compute: 1 us } ] }\n").substr(0, 48),
            "program.yaml:5:3: 1 of 2 ranks are in a group; a");
  EXPECT_EQ(
      message("  a: { ranks: \"0..1\", ops: [ { compute: 1 us, after: x } ] }\n").substr(0, 22),
      "program.yaml:5:54: the");
  EXPECT_EQ(message("  a: { ranks: \"0..1\", ops: [ { repeat: 3, ops: [] } ] }\n"),
            "program.yaml:5:48: no ops; one or more");
}

// aaaa bb      the host needs 200 us after a has ended until it has issued b, however early b came
TEST(ProgramSchedule, lets_the_host_wait_for_what_ran) {
  const ProgramSchedule schedule = run(program_of(R"(
  all: { ranks: "0..1", ops: [
    { compute: 400 us, name: a, stream: one },
    { compute: 100 us, host: 50 us, stream: one },
    { compute: 200 us, stream: two, host_after: a, host: 200 us } ] })"));
  EXPECT_NEAR(in_microseconds(schedule.groups[0].ops[1].begin), 400, 1e-6);
  EXPECT_NEAR(in_microseconds(schedule.groups[0].ops[2].begin), 600, 1e-6);
  EXPECT_NEAR(in_microseconds(schedule.time), 800, 1e-6);
}

// Two streams with a kernel of 100 us each: they share the GPU unless their times were measured
// beside each other.
TEST(ProgramSchedule, leaves_measured_kernels_as_long_as_they_were) {
  CallProgram program = program_of(R"(
  all: { ranks: "0..1", ops: [
    { compute: 100 us, stream: one }, { compute: 100 us, stream: two } ] })");
  EXPECT_NEAR(in_microseconds(run(program).time), 200, 1e-6);
  program.measured = true;
  EXPECT_NEAR(in_microseconds(run(program).time), 100, 1e-6);
}

// A kernel of 600 us was measured beside a call that kept 50 of 100 multiprocessors, which made it
// take twice as long. Now the call keeps 25, which makes it take 4/3: for 300 us it runs at 1.5
// times its rate, and 150 us are left.
TEST(ProgramSchedule, gives_measured_kernels_the_multiprocessors_that_calls_leave) {
  const std::string text = R"(
  all: { ranks: "0..1", ops: [
    { all_reduce: 3 MB, on: all, stream: calls, channels: 50 }, { compute: 600 us } ] })";
  CallProgram program = program_of(text);
  program.measured = true;
  EvenCosts costs({}, 25);
  const GpuSharing sharing{.multiprocessors = 100};
  EXPECT_NEAR(in_microseconds(schedule_program(program, costs, sharing).time), 450, 1e-6);
  EvenCosts same({}, 50);
  EXPECT_NEAR(in_microseconds(schedule_program(program, same, sharing).time), 600, 1e-6);
}

// Beside a call of 10 channels a kernel of 300 us takes 1.6 times as long at least: in 300 us it
// does 187.5 us, and 112.5 us are left.
TEST(ProgramSchedule, breaks_up_the_waves_of_kernels_beside_the_smallest_call) {
  EvenCosts costs({}, 10);
  const ProgramSchedule schedule =
      schedule_program(program_of(R"(
  all: { ranks: "0..1", ops: [
    { all_reduce: 3 MB, on: all, stream: calls }, { compute: 300 us } ] }
)"),
                       costs, {.multiprocessors = 100, .kernels_beside_calls = 1.6});
  EXPECT_NEAR(in_microseconds(schedule.time), 412.5, 1e-6);
}

}  // namespace
}  // namespace collsim
