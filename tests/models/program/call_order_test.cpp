// Programs that cannot hang, and such that do.

#include "models/program/call_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

#include "models/program/call_program_yaml.h"
#include "sim/base/text_file.h"

namespace collsim {
namespace {

using Random = std::mt19937;

std::uint32_t below(Random& random, std::size_t limit) {
  return static_cast<std::uint32_t>(random() % limit);
}

/// A program in which all groups issue their calls in one order, which all agree on: each call of
/// the order is issued by all groups of its communicator. One stream a communicator.
CallProgram ordered_program(Random& random) {
  CallProgram program;
  const std::uint32_t groups = 2 + below(random, 5);
  for (std::uint32_t i = 0; i < groups; ++i) program.groups.push_back({"", {i}, {}, {}});
  const std::uint32_t communicators = 2 + below(random, 4);
  for (std::uint32_t c = 0; c < communicators; ++c) {
    std::vector<std::uint32_t> members(groups);
    for (std::uint32_t i = 0; i < groups; ++i) members[i] = i;
    std::shuffle(members.begin(), members.end(), random);
    members.resize(2 + below(random, groups - 1));
    program.communicators.push_back({"", members, members, 1});
  }
  for (RankGroup& group : program.groups) {
    for (std::uint32_t c = 0; c < communicators; ++c) group.streams.emplace_back("s");
  }
  const std::uint32_t calls = 4 + below(random, 12);
  for (std::uint32_t i = 0; i < calls; ++i) {
    const std::uint32_t communicator = below(random, communicators);
    for (const std::uint32_t member : program.communicators[communicator].groups) {
      ProgramOp op;
      op.stream = communicator;
      op.calls = {{communicator, ProgramCallKind::all_reduce, Bytes{1024}}};
      program.groups[member].ops.push_back(op);
    }
  }
  return program;
}

TEST(CallOrder, says_that_ordered_programs_cannot_hang) {
  Random random(1);
  for (int i = 0; i < 10'000; ++i) {
    const CallOrderVerdict verdict = check_call_order(ordered_program(random));
    ASSERT_FALSE(verdict.hangs || verdict.hangs_one_at_a_time) << i << ": " << verdict.why;
  }
}

/// Swaps two neighbouring calls of one group that are of communicators with another group in common
/// which issues them one after the other, too: that group and this wait for each other then.
bool plant_disorder(CallProgram& program, Random& random) {
  const std::uint32_t first = below(random, program.groups.size());
  auto& ops = program.groups[first].ops;
  for (std::size_t i = 0; i + 1 < ops.size(); ++i) {
    const std::uint32_t one = ops[i].calls.front().communicator;
    const std::uint32_t other = ops[i + 1].calls.front().communicator;
    if (one == other) continue;
    const auto& members = program.communicators[other].groups;
    for (const std::uint32_t group : program.communicators[one].groups) {
      if (group == first || std::find(members.begin(), members.end(), group) == members.end()) {
        continue;
      }
      std::swap(ops[i], ops[i + 1]);
      return true;
    }
  }
  return false;
}

TEST(CallOrder, finds_every_planted_disorder) {
  Random random(2);
  int planted = 0;
  while (planted < 1'000) {
    CallProgram program = ordered_program(random);
    if (!plant_disorder(program, random)) continue;
    ++planted;
    const CallOrderVerdict verdict = check_call_order(program);
    EXPECT_FALSE(verdict.hangs);  // each communicator has a stream of its own
    ASSERT_TRUE(verdict.hangs_one_at_a_time) << planted;
  }
}

// c waits for a, which waits for b and b for a: c is no part of the cycle.
TEST(CallOrder, names_the_shortest_cycle) {
  const CallProgram program = read_call_program(read_yaml({"program.yaml", R"(collsim: program/1
ranks: 3
communicators: { pair: "0..1", twin: "0..1", all: "0..2" }
groups:
  a: { ranks: 0, ops: [ { all_reduce: 1 MB, on: pair }, { all_reduce: 1 MB, on: twin },
                        { all_reduce: 1 MB, on: all } ] }
  b: { ranks: 1, ops: [ { all_reduce: 1 MB, on: twin }, { all_reduce: 1 MB, on: pair },
                        { all_reduce: 1 MB, on: all } ] }
  c: { ranks: 2, ops: [ { all_reduce: 1 MB, on: all } ] }
)"},
                                                          "program"));
  const CallOrderVerdict verdict = check_call_order(program);
  EXPECT_TRUE(verdict.hangs);
  EXPECT_EQ(verdict.why,
            "the program hangs: 'a' waits in op 1 (all_reduce on 'pair'); 'b' waits in op 1 "
            "(all_reduce on 'twin')");
}

}  // namespace
}  // namespace collsim
