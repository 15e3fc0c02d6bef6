// Questions that nobody could wait for are refused, and the time limit ends whatever takes long.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sim/base/text_file.h"
#include "tests/support/temporary_file.h"
#include "tests/tools/command_outcome.h"
#include "tools/collsim/core/subcommand.h"

namespace collsim::command {
namespace {

const std::string program = COLLSIM_COMMAND;

void expect_refusal(const std::vector<std::string>& args, const std::string& message) {
  const Outcome outcome = run(args);
  EXPECT_EQ(outcome.status, exit_bad_input) << args.front();
  EXPECT_NE(outcome.err.find(message), std::string::npos) << outcome.err;
}

// ln(1 GiB / 8) / ln(1.0000001) is 1.9e8 sizes.
TEST(Limits, of_the_number_of_sizes) {
  expect_refusal({"run", "hgx-h200", "-f", "1.0000001"},
                 "--stepfactor: 1.0000001 from 8 to 1073741824 gives about 187");
  expect_refusal({"run", "hgx-h200", "-b", "0", "-e", "1G", "-i", "1"}, "--stepbytes: 1 from 0");
  EXPECT_EQ(run({"estimate", "switch-8", "-b", "8", "-e", "16", "-f", "1.001"}).status, exit_ok);
}

// A chunk is one element at least: 2^50 / 64 / 4 = 4.4e12 chunks, which no 32 bits count.
TEST(Limits, of_the_number_of_chunks) {
  for (const char* command : {"run", "estimate", "explain"}) {
    expect_refusal({command, "switch-64", "-a", "ring", "--chunk", "1", "-b", "1024T"},
                   "1 PiB in chunks of 1 B are 4.4e+12 chunks one after the other");
  }
}

TEST(Limits, of_the_points_of_a_sweep) {
  const test::TemporaryFile scenario("s.yaml",
                                     "collsim: scenario/1\n"
                                     "topology: switch-8\n"
                                     "collective: all_reduce\n"
                                     "sweep:\n"
                                     "  - seed: { from: 1, to: 2000, step: 1 }\n"
                                     "  - size: { from: 4, to: 8000, step: 4 }\n");
  expect_refusal({"sweep", scenario.path().string()}, "more than 1000000 points");
}

TEST(Limits, of_the_counts_of_a_crossover) {
  expect_refusal({"crossover", "dgx-h100-x2048", "--over-ranks", "2..2048"},
                 "--over-ranks: 2047 counts");
}

// Sends between all pairs of 131,072 GPUs are 1.7e10 connections of 1,300 bytes.
TEST(Limits, of_memory_hold_for_every_subcommand) {
  for (const std::string& call : {std::string("explain"), std::string("run --exact"),
                                  std::string("faults"), std::string("trace --output /dev/null"),
                                  std::string("view --output /dev/null"), std::string("steps")}) {
    const Outcome outcome = run_shell(
        fmt::format("ulimit -v 8000000; timeout 60 {} {} -t dgx-h100-x16384 -c all_to_all -b 1G",
                    program, call));
    EXPECT_EQ(outcome.status, exit_bad_input) << call << outcome.out;
    const bool said = outcome.out.find("of memory") != std::string::npos ||
                      outcome.out.find("too many to show") != std::string::npos;
    EXPECT_TRUE(said) << call << outcome.out;
  }
}

// Messages between neighbours, or from and to a root, are few: they fit, whatever the ranks.
TEST(Limits, of_memory_do_not_keep_few_messages_from_whole_machines) {
  for (const char* collective : {"send_recv", "gather"}) {
    const Outcome outcome = run_shell(fmt::format(
        "ulimit -v 1000000; timeout 60 {} explain -t dgx-h100-x2048 -c {} -b 1M > /dev/null",
        program, collective));
    EXPECT_EQ(outcome.status, exit_ok) << collective << outcome.out;
  }
}

/// How calls with `@` for a file's name end that run at once, each with what it has printed.
std::vector<std::string> endings_of(const std::vector<std::string>& calls,
                                    const std::string& file) {
  std::string line;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    std::string call = calls[i];
    call.replace(call.find('@'), 1, file);
    line += fmt::format("(timeout 60 {} {}; echo exit $?) > {}.{} 2>&1 & ", program, call, file, i);
  }
  run_shell(line + "wait");
  std::vector<std::string> endings;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    endings.push_back(read_text_file(file + "." + std::to_string(i), "a text").content);
  }
  return endings;
}

// No small cluster is like 4,096 ranks of which one is late, and even 16 MiB of theirs take too
// long.
TEST(Limits, what_no_part_can_tell_is_an_estimate_and_says_so) {
  const std::string answer = output_of({"run", "dgx-h100-x512", "-b", "1G", "-e", "1G", "--fault",
                                        "rank: 3, late: 1 ms", "--format", "csv"});
  EXPECT_NE(answer.find(",est,0,0,"), std::string::npos) << answer;
}

// Nobody ever writes to the pipe: its reader waits for good. What ends is the limit, and a second
// for those who end by themselves.
TEST(TimeLimit, ends_whatever_takes_the_time) {
  const test::TemporaryFile file("f", "");
  const std::string fifo = file.path().string() + ".fifo";
  ASSERT_EQ(run_shell("mkfifo " + fifo).status, 0);
  std::vector<std::string> calls{"validate @ -t hgx-h200",
                                 "diagnose @",
                                 "hang @",
                                 "calibrate @ -t hgx-h200 -o /dev/null",
                                 "run @",
                                 "estimate @",
                                 "explain @",
                                 "plan @ -b 1M",
                                 "sweep @",
                                 "choose @",
                                 "crossover @",
                                 "faults @ -b 8",
                                 "advise hgx-h200 --settings @",
                                 "topo show @",
                                 "topo import @",
                                 "check @",
                                 "trace @ -b 8 --output /dev/null",
                                 "view @ -b 8 --output /dev/null",
                                 "steps @ -b 8"};
  for (std::string& call : calls) call += " --time-limit 0.1";
  for (const std::string& ending : endings_of(calls, fifo)) {
    EXPECT_EQ(ending,
              "collsim: --time-limit: 0.1 s are over; a longer limit, or less to answer: fewer "
              "ranks, sizes, machines or rows\nexit 2\n");
  }
}

TEST(TimeLimit, is_an_option_of_every_subcommand) {
  for (const Subcommand& subcommand : subcommands()) {
    if (subcommand.name == "topo") continue;  // of its actions
    const Outcome outcome = run({subcommand.name, "--help"});
    EXPECT_NE(outcome.out.find("--time-limit"), std::string::npos) << subcommand.name;
  }
  expect_refusal({"list", "--time-limit", "0"}, "--time-limit 0; a number of seconds above 0");
  EXPECT_EQ(run({"list", "--time-limit", "60"}).status, exit_ok);
}

}  // namespace
}  // namespace collsim::command
