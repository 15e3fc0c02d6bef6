#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "sim/algorithms/registry.h"
#include "sim/plan/checker.h"
#include "sim/plan/schedule_builder.h"

namespace collsim {
namespace {

Plan plan_of(ScheduleBuilder builder) {
  Plan plan;
  plan.algorithm = "by hand";
  plan.schedules.push_back(std::move(builder).build());
  plan.schedule_of_channel = {0};
  return plan;
}

CheckOptions once() {
  CheckOptions options;
  options.credits = {1};
  options.orders = 1;
  options.loops = 1;
  return options;
}

/// Two ranks, one chunk: 1 gives to 0, 0 gives the sum back. `extra` may add to it.
template <typename Extra>
Plan pair_plan(Extra&& extra) {
  ScheduleBuilder builder(2, 1);
  builder.reduce(1, 0, {0, 1});
  builder.step();
  builder.copy(0, 1, {0, 1});
  builder.step();
  extra(builder);
  return plan_of(std::move(builder));
}

TEST(CheckerReports, nothing_for_a_right_plan) {
  const CheckReport report = check(pair_plan([](ScheduleBuilder&) {}), once());
  EXPECT_TRUE(report.ok());
  EXPECT_EQ(report.runs, 1U);
  EXPECT_EQ(report.messages, 2U);
}

TEST(CheckerReports, a_missing_contribution_with_its_place) {
  ScheduleBuilder builder(2, 1);
  builder.reduce(1, 0, {0, 1});  // and nothing comes back
  const CheckReport report = check(plan_of(std::move(builder)), once());
  ASSERT_EQ(report.violation_count, 1U);
  const Violation& violation = report.violations.front();
  EXPECT_EQ(violation.kind, ViolationKind::missing_contribution);
  EXPECT_EQ(violation.rank, 1U);
  EXPECT_EQ(violation.text,
            "missing contribution: rank 1, channel 0, chunk 0 of loop 0 ends without the "
            "contribution of rank 0");
}

TEST(CheckerReports, a_doubled_contribution_at_the_primitive_that_adds_it) {
  // After the all-reduce rank 1 gives its (complete) chunk once more.
  const CheckReport report = check(pair_plan([](ScheduleBuilder& b) {
                                     b.reduce(1, 0, {0, 1});
                                   }),
                                   once());
  ASSERT_EQ(report.violation_count, 1U);
  const Violation& violation = report.violations.front();
  EXPECT_EQ(violation.kind, ViolationKind::doubled_contribution);
  EXPECT_EQ(violation.rank, 0U);
  EXPECT_EQ(violation.step, 1U);  // its second primitive
  EXPECT_EQ(violation.text,
            "doubled contribution: rank 0, channel 0, lane 0, step 1 of loop 0 (recv_reduce_copy "
            "chunk 0) adds the contribution of rank 0 to chunk 0, which has it already");
}

// One missing while another is doubled: a sum of all contributions of weight 1 could not tell.
TEST(CheckerReports, a_missing_contribution_that_a_doubled_one_makes_up_for) {
  ScheduleBuilder builder(3, 1);
  builder.reduce(1, 0, {0, 1});
  builder.step();
  builder.reduce(1, 0, {0, 1});  // should be 2
  builder.step();
  builder.copy(0, 1, {0, 1});
  builder.copy(0, 2, {0, 1});
  const CheckReport report = check(plan_of(std::move(builder)), once());
  // Doubled at rank 0; rank 2's part then lacks at all three.
  std::vector<ViolationKind> kinds;
  for (const Violation& violation : report.violations) kinds.push_back(violation.kind);
  EXPECT_EQ(kinds, (std::vector{
                       ViolationKind::doubled_contribution, ViolationKind::missing_contribution,
                       ViolationKind::missing_contribution, ViolationKind::missing_contribution}));
}

TEST(CheckerReports, a_copy_of_what_is_there_already) {
  const CheckReport report = check(pair_plan([](ScheduleBuilder& b) {
                                     b.copy(0, 1, {0, 1});
                                   }),
                                   once());
  ASSERT_EQ(report.violation_count, 1U);
  EXPECT_EQ(report.violations.front().kind, ViolationKind::redundant_copy);
  EXPECT_EQ(report.violations.front().rank, 1U);
}

TEST(CheckerReports, a_send_that_meets_a_receive_of_other_chunks) {
  // 0 sends chunks 0 and 1; rank 1's receives are swapped by hand.
  ScheduleBuilder builder(2, 2);
  builder.reduce(0, 1, {0, 1});
  builder.step();
  builder.reduce(0, 1, {1, 1});
  Plan plan = plan_of(std::move(builder));
  const auto program = plan.schedule(0).program(1, 0);
  plan.schedules[0] = plan.schedule(0).with_program(1, 0, {program[1], program[0]});
  const CheckReport report = check(plan, once());
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.violations.front().text,
            "wrong chunks: rank 1, channel 0, lane 0, step 0 of loop 0 (recv_reduce_copy chunk 1) "
            "receives chunk 0 of loop 0 from rank 0");
}

TEST(CheckerReports, a_message_that_nobody_receives) {
  ScheduleBuilder builder(2, 1);
  builder.reduce(0, 1, {0, 1});
  Plan plan = plan_of(std::move(builder));
  plan.schedules[0] = plan.schedule(0).with_program(1, 0, {});
  const CheckReport report = check(plan, once());
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.violations.front().text,
            "unreceived message: rank 1, channel 0, never receives chunk 0 of loop 0 that rank 0 "
            "sends");
}

TEST(CheckerReports, a_deadlock_with_its_cycle) {
  // An exchange in which both receive before they send.
  ScheduleBuilder builder(3, 1);
  builder.reduce(0, 1, {0, 1});
  builder.reduce(1, 0, {0, 1});
  builder.reduce(0, 2, {0, 1});  // rank 2 waits as well, but is not on the cycle
  Plan plan = plan_of(std::move(builder));
  for (const Rank rank : {0U, 1U}) {
    const auto program = plan.schedule(0).program(rank, 0);
    plan.schedules[0] = plan.schedule(0).with_program(rank, 0, {program[1], program[0]});
  }
  const CheckReport report = check(plan, once());
  ASSERT_EQ(report.violation_count, 1U);
  EXPECT_EQ(
      report.violations.front().text,
      "deadlock: rank 0, channel 0, lane 0, step 0 of loop 0 (recv_reduce_copy chunk 0) waits "
      "for a message from rank 1; rank 1, channel 0, lane 0, step 0 of loop 0 "
      "(recv_reduce_copy chunk 0) waits for a message from rank 0; and so on round the "
      "cycle");
}

// A ring whose primitives forward without storing keeps the message's slot until it has sent on:
// with one credit all wait for their next rank's slot. Two credits are enough.
TEST(CheckerReports, a_deadlock_that_depends_on_the_credits) {
  Plan plan = make_plan(Collective::all_reduce, "ring", uniform_placement(3));
  for (Rank rank = 0; rank < 3; ++rank) {
    const auto program = plan.schedule(0).program(rank, 0);
    std::vector<Primitive> changed(program.begin(), program.end());
    ASSERT_EQ(changed[1].kind, PrimitiveKind::recv_reduce_copy_send);
    changed[1].kind = PrimitiveKind::recv_reduce_send;
    plan.schedules[0] = plan.schedule(0).with_program(rank, 0, changed);
  }
  CheckOptions options = once();
  const CheckReport stuck = check(plan, options);
  ASSERT_FALSE(stuck.ok());
  EXPECT_EQ(stuck.violations.front().kind, ViolationKind::deadlock);
  EXPECT_NE(stuck.violations.front().text.find("waits for a credit of rank"), std::string::npos);
  options.credits = {2};
  EXPECT_TRUE(check(plan, options).ok());
}

TEST(CheckerReports, waiting_for_a_program_that_is_over) {
  ScheduleBuilder builder(2, 1);
  builder.reduce(0, 1, {0, 1});
  Plan plan = plan_of(std::move(builder));
  plan.schedules[0] = plan.schedule(0).with_program(0, 0, {});
  const CheckReport report = check(plan, once());
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(
      report.violations.front().text,
      "deadlock: rank 1, channel 0, lane 0, step 0 of loop 0 (recv_reduce_copy chunk 0) waits "
      "for a message from rank 0, whose program has none left to give");
}

TEST(CheckerReports, a_connection_that_two_lanes_use) {
  // Rank 0's only send stands in both of its programs.
  ScheduleBuilder builder(2, 1);
  builder.reduce(0, 1, {0, 1});
  builder.lane(1);
  builder.reduce(0, 1, {0, 1});
  Plan plan = plan_of(std::move(builder));
  const auto program = plan.schedule(0).program(0, 0);
  plan.schedules[0] =
      plan.schedule(0).with_program(0, 1, std::vector<Primitive>(program.begin(), program.end()));
  const CheckReport report = check(plan, once());
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.violations.front().text,
            "shared connection: rank 0, channel 0, uses its connection 0 -> 1 from lanes 0 and 1");
}

TEST(CheckerReports, names_the_first_channel_of_a_wrong_schedule) {
  Plan plan = make_plan(Collective::all_reduce, "tree", uniform_placement(2), 3);
  plan.schedules.push_back(plan.schedule(0).with_program(1, 0, {}));
  plan.schedule_of_channel = {0, 0, 1};
  const CheckReport report = check(plan, once());
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.schedules, 2U);
  EXPECT_EQ(report.violations.front().channel, 2U);
}

TEST(CheckerReports, describes_few_and_counts_all) {
  // Ranks 0 to 9 with nothing to do at all: 10 ranks lack 9 contributions in one chunk each.
  ScheduleBuilder builder(10, 1);
  CheckOptions options = once();
  options.max_violations = 3;
  const CheckReport report = check(plan_of(std::move(builder)), options);
  EXPECT_EQ(report.violations.size(), 3U);
  EXPECT_EQ(report.violation_count, 10U);
}

TEST(CheckerReports, the_same_for_the_same_seed) {
  Plan plan = make_plan(Collective::all_reduce, "double_binary_tree", uniform_placement(7));
  plan.schedules[0] = plan.schedule(0).with_program(3, 0, {});
  const CheckReport first = check(plan);
  const CheckReport second = check(plan);
  ASSERT_EQ(first.violations.size(), second.violations.size());
  for (std::size_t i = 0; i < first.violations.size(); ++i) {
    EXPECT_EQ(first.violations[i].text, second.violations[i].text);
  }
}

}  // namespace
}  // namespace collsim
