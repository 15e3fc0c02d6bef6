// What can be asked: which GPUs, which type and operation, the machine in two numbers.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tools/collsim/subcommand.h"

namespace collsim::command {
namespace {

struct Outcome {
  int status;
  std::string out;
  std::string err;
};

Outcome run(const std::vector<std::string>& args) {
  std::ostringstream out;
  std::ostringstream err;
  const int status = run_command(args, out, err);
  return {status, out.str(), err.str()};
}

nlohmann::json rows(std::vector<std::string> args) {
  args.insert(args.end(), {"--format", "json"});
  const Outcome outcome = run(args);
  EXPECT_EQ(outcome.status, exit_ok) << outcome.err;
  return nlohmann::json::parse(outcome.out);
}

void expect_refused(const std::vector<std::string>& args, const std::string& why) {
  const Outcome outcome = run(args);
  EXPECT_EQ(outcome.status, exit_bad_input) << why;
  EXPECT_TRUE(outcome.out.empty()) << outcome.out;
  EXPECT_NE(outcome.err.find(why), std::string::npos) << outcome.err;
}

// 64 ranks, 1 us and 50 GB/s, 1 MiB: 126 hops of 1 us + 16384 B / 50 GB/s = 167.28768 us.
TEST(TwoNumbers, make_a_machine_for_run_and_estimate) {
  for (const char* subcommand : {"run", "estimate"}) {
    const auto answer = rows({subcommand, "--alpha", "1us", "--bandwidth", "50GB/s", "--ranks",
                              "64", "-a", "ring", "-b", "1M", "-e", "1M"});
    EXPECT_NEAR(answer.at(0).at("time_us").get<double>(), 167.28768, 1e-9) << subcommand;
    EXPECT_EQ(answer.at(0).at("schedule"), "textbook");
  }
}

TEST(TwoNumbers, are_refused_where_one_is_missing_or_a_machine_is_there) {
  expect_refused({"run", "--alpha", "1us", "-n", "4"}, "--alpha without --bandwidth");
  expect_refused({"run", "--bandwidth", "1GB/s", "-n", "4"}, "--bandwidth without --alpha");
  expect_refused({"run", "--alpha", "1us", "--bandwidth", "1GB/s"}, "without --ranks");
  expect_refused({"run", "--alpha", "1", "--bandwidth", "1GB/s", "-n", "4"}, "--alpha");
  expect_refused({"run", "--alpha", "1us", "--bandwidth", "0GB/s", "-n", "4"}, "--bandwidth");
  expect_refused({"run", "--alpha", "1us", "--bandwidth", "1GB/s", "-n", "4", "-t", "switch-8"},
                 "both a machine and --alpha");
}

TEST(RanksPerNode, beyond_what_nodes_have_are_refused) {
  expect_refused({"run", "-t", "dgx-h100-x4", "--ranks-per-node", "9", "-b", "1M"},
                 "whose nodes have 8 GPUs");
}

// GPUs 0 and 4 of a DGX-1 have no NVLink between them, 0 and 3 have two.
TEST(RankList, says_which_gpus_take_part) {
  const auto time = [](const std::string& list) {
    return rows({"run", "-t", "dgx-1-v100", "--rank-list", list, "-b", "64M", "-e", "64M"})
        .at(0)
        .at("time_us")
        .get<double>();
  };
  EXPECT_GT(time("0,5"), 1.2 * time("0,3"));
  EXPECT_EQ(time("node0/gpu0,node0/gpu3"), time("0,3"));
  EXPECT_EQ(time("3,0"), time("0,3"));
  EXPECT_EQ(time("0..7"), time("7,6,5,4,3,2,1,0"));
  expect_refused({"run", "-t", "hgx-h200", "--rank-list", "0,8"}, "rank-list");
  expect_refused({"run", "-t", "hgx-h200", "--rank-list", "0,1,0"}, "twice");
  expect_refused({"run", "-t", "hgx-h200", "--rank-list", "0,gpu9"}, "no GPU 'gpu9'");
  expect_refused({"run", "-t", "hgx-h200", "--rank-list", "0,1", "-n", "2"}, "both --rank-list");
  expect_refused({"run", "-t", "dgx-h100-x4", "--rank-list", "0,1,10,11"}, "the same GPUs");
}

// A textbook's ring over a switch with two ranks per node: neighbours in other nodes make four
// network hops out of two.
TEST(RankList, orders_a_textbooks_ring) {
  const auto time = [](const std::string& list) {
    return rows({"run", "-t", "dgx-h100-x4", "--schedule", "textbook", "-a", "ring", "--rank-list",
                 list, "-b", "64K", "-e", "64K"})
        .at(0)
        .at("time_us")
        .get<double>();
  };
  EXPECT_GT(time("0,8,1,9"), time("0,1,8,9"));
}

// NVSwitches combine floats by sum only (NCCL src/include/nvls.h), so that a maximum goes round a
// ring; halves they can.
TEST(Reductions, decide_what_nccl_can_run) {
  const auto answer = rows({"run", "-t", "hgx-h200", "-b", "64M", "-e", "64M", "--op", "max"});
  EXPECT_EQ(answer.at(0).at("algorithm"), "ring");
  EXPECT_EQ(answer.at(0).at("redop"), "max");
  const auto halves = rows(
      {"run", "-t", "hgx-h200", "-b", "64M", "-e", "64M", "--op", "max", "--datatype", "bf16"});
  EXPECT_EQ(halves.at(0).at("algorithm"), "nvls");
  EXPECT_EQ(halves.at(0).at("type"), "bfloat16");
  EXPECT_EQ(halves.at(0).at("count"), 32 << 20);
  expect_refused({"run", "-t", "hgx-h200", "-a", "nvls", "--op", "max", "-b", "1M"},
                 "sum of float");
  expect_refused({"run", "-t", "hgx-h200", "--datatype", "quad", "-b", "1M"}, "bfloat16");
  expect_refused({"run", "-t", "hgx-h200", "--op", "xor", "-b", "1M"}, "prod");
}

// nccl-tests cuts a size down to whole elements: 100 bytes are 12 doubles.
TEST(Reductions, sizes_are_whole_elements) {
  const auto answer =
      rows({"run", "-t", "switch-8", "--datatype", "double", "-b", "100", "-e", "100"});
  EXPECT_EQ(answer.at(0).at("size_bytes"), 96);
  EXPECT_EQ(answer.at(0).at("count"), 12);
}

}  // namespace
}  // namespace collsim::command
