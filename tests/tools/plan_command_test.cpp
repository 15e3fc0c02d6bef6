// The subcommand's words: what it reads, what it prints, what it refuses.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/base/input_error.h"
#include "tests/support/temporary_file.h"
#include "tests/tools/command_outcome.h"
#include "tools/collsim/subcommand.h"

namespace collsim::command {
namespace {

Outcome plan(const std::vector<std::string>& args) {
  return run(run_plan, args);
}

nlohmann::json rows_of(std::vector<std::string> args) {
  args.insert(args.end(), {"--estimate", "--format", "json"});
  return nlohmann::json::parse(plan(args).out).at("rows");
}

std::string error_of(const std::vector<std::string>& args) {
  try {
    plan(args);
  } catch (const InputError& error) {
    return error.what();
  }
  return "none";
}

TEST(PlanCommand, finds_templates_of_ones_own) {
  // In the current folder, and in its folder nodes as beside a topology.
  const test::TemporaryFile file("mine.yaml", "collsim: node/1\nextends: dgx-h100\n");
  const auto folder = file.path().parent_path();
  std::filesystem::create_directories(folder / "nodes");
  std::ofstream(folder / "nodes/ours.yaml") << "collsim: node/1\nextends: dgx-h100\n";
  for (const std::string name : {"mine", "ours"}) {
    const Outcome outcome = run_shell("cd '" + folder.string() + "' && " COLLSIM_COMMAND " plan " +
                                      name + " --nodes 2 --fabric ndr-fat-tree -b 1M --estimate");
    EXPECT_EQ(outcome.status, exit_ok) << outcome.out;
    EXPECT_NE(outcome.out.find("# A " + name), std::string::npos) << outcome.out;
  }
}

TEST(PlanCommand, takes_ranges_in_powers_of_two_and_lists) {
  // 3, 6, and the end of the range itself; the lists are joined, sorted, and each count is once.
  const auto rows = rows_of({"dgx-h100", "-b", "1M", "--nodes", "3..8,2,6"});
  std::vector<int> nodes;
  for (const auto& row : rows) nodes.push_back(row.at("nodes").get<int>());
  EXPECT_EQ(nodes, (std::vector<int>{2, 3, 6, 8}));
}

TEST(PlanCommand, takes_a_fabric_with_its_transport_by_either_option) {
  // TCP over 100 Gb/s takes the same time where it is the fabric that was named and where it is the
  // change: the second row.
  const std::vector<std::string> common{"dgx-h100", "--nodes", "2", "-b", "1G"};
  std::vector<std::string> named = common;
  named.insert(named.end(), {"--fabric", "ethernet-100g"});
  std::vector<std::string> set = common;
  set.insert(set.end(), {"--set", "fabric=ethernet-100g"});
  const auto unchanged = rows_of(common);
  EXPECT_EQ(rows_of(named).at(0).at("time_ms"), rows_of(set).at(1).at("time_ms"));
  EXPECT_NE(rows_of(named).at(0).at("time_ms"), unchanged.at(0).at("time_ms"));
}

TEST(PlanCommand, rounds_gpus_up_to_nodes) {
  // Nodes of 8: 12 GPUs are 2 nodes, as 16 are.
  const auto rows = rows_of({"dgx-h100", "-b", "1M", "--gpus", "8,12,16"});
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].at("gpus"), 8);
  EXPECT_EQ(rows[1].at("gpus"), 16);
}

TEST(PlanCommand, has_a_row_for_each_machine_change_and_size) {
  // 2 machines x (unchanged and 2 changes) x 2 counts x 2 sizes.
  const auto rows = rows_of({"dgx-a100,dgx-h100", "--nodes", "2,4", "-b", "1M,1G", "--set",
                             "nic=100Gb/s", "--set", "nics=2"});
  EXPECT_EQ(rows.size(), 24U);
}

TEST(PlanCommand, ends_with_1_where_nothing_meets_the_target) {
  const std::vector<std::string> question{"dgx-h100", "--nodes", "2", "-b", "1G", "--target-time"};
  const auto answer = [&](const char* time) {
    std::vector<std::string> args = question;
    args.emplace_back(time);
    return plan(args);
  };
  // 1 GB over 400 GB/s is more than 2 ms.
  const Outcome no = answer("1ms");
  EXPECT_EQ(no.status, exit_answer_is_no);
  EXPECT_NE(no.out.find("# nothing meets the target\n"), std::string::npos);
  EXPECT_EQ(answer("1s").status, exit_ok);
}

TEST(PlanCommand, says_the_same_in_all_formats) {
  const std::vector<std::string> question{"dgx-h100", "--nodes", "1,2", "-b", "64M", "--format"};
  const auto answer = [&](const char* format) {
    std::vector<std::string> args = question;
    args.emplace_back(format);
    return plan(args).out;
  };
  const std::string csv = answer("csv");
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 3);  // with the header
  const std::string table = answer("table");
  EXPECT_NE(table.find("   A     1 "), std::string::npos) << table;
  EXPECT_NE(table.find("   A     2 "), std::string::npos) << table;
  EXPECT_EQ(nlohmann::json::parse(answer("json")).at("rows").size(), 2U);
}

// As `collsim run` does of the same machine and settings, each sentence once.
TEST(PlanCommand, prints_warnings) {
  const Outcome outcome =
      plan({"dgx-h100", "-b", "1M", "--nodes", "1,2", "--estimate", "--env", "NCCL_TIMEOUT=1"});
  const Outcome of_run = run(run_estimate, {"dgx-h100", "-b", "1M", "--env", "NCCL_TIMEOUT=1"});
  EXPECT_NE(of_run.err.find("collsim: warning: "), std::string::npos) << of_run.err;
  EXPECT_EQ(outcome.err, of_run.err);
}

TEST(PlanCommand, refuses_what_it_cannot_plan) {
  EXPECT_NE(error_of({"-b", "1M"}).find("no machine"), std::string::npos);
  EXPECT_NE(error_of({"dgx-h100"}).find("nothing to move"), std::string::npos);
  EXPECT_NE(error_of({"no-such-machine", "-b", "1M"}).find("no-such-machine"), std::string::npos);
  const std::vector<std::vector<std::string>> wrong{
      {"--nodes", "0"},          {"--nodes", "8..4"},       {"--nodes", "2", "--gpus", "16"},
      {"--set", "nic"},          {"--set", "speed=2"},      {"--scaling", "linear"},
      {"--cost", "steal"},       {"--target-share", "10%"}, {"--compute-time", "1s,2s"},
      {"--model", "no-such"},    {"--env", "NCCL_ALGO"},    {"--parameters", "many"},
      {"--target-time", "fast"}, {"--format", "xml"},       {"--prices", "no-such-file.yaml"},
  };
  for (std::vector<std::string> args : wrong) {
    const std::string option = args.front();
    args.insert(args.end(), {"dgx-h100", "-b", "1M"});
    EXPECT_NE(error_of(args), "none") << option << ' ' << args[1];
  }
}

}  // namespace
}  // namespace collsim::command
