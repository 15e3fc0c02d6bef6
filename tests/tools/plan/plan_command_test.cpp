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
#include "tests/support/test_data.h"
#include "tests/tools/command_outcome.h"
#include "tools/collsim/core/subcommand.h"

namespace collsim::command {
namespace {

Outcome plan(const std::vector<std::string>& args) {
  return run(plan_subcommand.run, args);
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

TEST(PlanCommand, plans_for_steps) {
  const ShippedData shipped;
  const std::vector<std::string> asked{"train",   "dgx-h100",  "--nodes",        "1,2",
                                       "--model", "llama2-7b", "--global-batch", "64"};
  std::vector<std::string> args = asked;
  args.insert(args.end(), {"--tokens-total", "1B"});
  const Outcome outcome = plan(args);
  EXPECT_EQ(outcome.status, exit_ok);
  EXPECT_EQ(outcome.out.rfind("Cheapest trains llama2-7b on ", 0), 0U) << outcome.out;
  args.insert(args.end(), {"--deadline", "1s"});
  EXPECT_EQ(plan(args).status, exit_answer_is_no);
  args = asked;
  args.insert(args.end(), {"--deadline", "1d"});
  EXPECT_NE(error_of(args).find("--deadline without --tokens-total"), std::string::npos);
  args = asked;
  args.insert(args.end(), {"--mtbf", "soon"});
  EXPECT_NE(error_of(args).find("--mtbf: 'soon'"), std::string::npos);
}

TEST(PlanCommand, plans_for_steps_on_listed_nodes_and_with_faults) {
  const ShippedData shipped;
  const std::vector<std::string> asked{"train",          "dgx-h100-x16", "--model",  "llama2-7b",
                                       "--global-batch", "64",           "--format", "json"};
  const auto rows = [&](const std::vector<std::string>& more) {
    std::vector<std::string> args = asked;
    args.insert(args.end(), more.begin(), more.end());
    return nlohmann::json::parse(plan(args).out);
  };
  const auto listed =
      rows({"--placement", "list:node[0,4,8,12]", "--fault", "link: node4/nic0, bandwidth: 10%"});
  ASSERT_EQ(listed.size(), 2U);
  EXPECT_EQ(listed[0]["nodes"], 4);
  EXPECT_EQ(listed[0]["gpus"], 32);
  EXPECT_TRUE(listed[0]["slower"].is_null());
  EXPECT_GT(listed[1]["slower"], 0);
  const auto packed = rows({"--nodes", "4"});
  EXPECT_EQ(packed[0]["cost_per_hour"], listed[0]["cost_per_hour"]);
  std::vector<std::string> args = asked;
  args.insert(args.end(), {"--placement", "list:node[0,4]", "--nodes", "4"});
  EXPECT_NE(error_of(args).find("4 nodes, of which the list has 2"), std::string::npos);
  EXPECT_NE(error_of({"dgx-h100", "-b", "1M", "--fault", "link: node0/nic0, dead: true"})
                .find("unknown option '--fault'"),
            std::string::npos);
}

// The same for what a step moves, which four nodes on four leaves of a thin fabric do not do
// faster.
TEST(PlanCommand, plans_for_listed_nodes) {
  const ShippedData shipped;
  const auto rows = rows_of({"dgx-h100", "--nodes", "4", "--fabric", "ndr-fat-tree-4-1", "-b", "1G",
                             "--set", "placement=list:node0,node4,node8,node12"});
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[1]["gpus"], 32);
  EXPECT_GE(rows[1]["time_ms"].get<double>(), rows[0]["time_ms"].get<double>());
}

// A token of llama3-70b takes 2 * 80 + 1 all-reduces of batch * 8192 * 2 bytes and an all-gather of
// the logits, which both columns have.
TEST(PlanCommand, plans_for_decoding) {
  const ShippedData shipped;
  const std::vector<std::string> asked{
      "serve", "dgx-h100,dgx-a100", "--model", "llama3-70b", "--tp",
      "1,2,8", "--batch",           "1,32",    "--format",   "json"};
  const auto rows = nlohmann::json::parse(plan(asked).out);
  ASSERT_EQ(rows.size(), 12U);
  int quickest = 0;
  for (const auto& row : rows) {
    EXPECT_EQ(row.at("size_bytes"), 2 * 8192 * row.at("batch").get<int>());
    EXPECT_NEAR(row.at("token_us").get<double>(),
                row.at("communication_us").get<double>() + row.at("kernels_us").get<double>(),
                1e-6 * row.at("token_us").get<double>());
    if (row.at("mark") == "best") ++quickest;
    if (row.at("tp") == 1) {
      EXPECT_EQ(row.at("communication_us"), 0);
      EXPECT_TRUE(row.at("kernel").is_null());
      EXPECT_EQ(row.at("fits"), false) << "141 GB of weights";
      continue;
    }
    const double call = row.at("call_us").get<double>();
    EXPECT_GT(row.at("communication_us").get<double>(), 161 * call);
    EXPECT_LT(row.at("communication_us").get<double>(), 161 * call + 400);
    EXPECT_LT(row.at("communication_us").get<double>(), row.at("by_nccl_us").get<double>());
  }
  EXPECT_EQ(quickest, 2) << "one of each batch";
}

TEST(PlanCommand, says_which_questions_of_decoding_have_no_answer) {
  const ShippedData shipped;
  EXPECT_NE(error_of({"serve", "dgx-h100"}).find("no model"), std::string::npos);
  EXPECT_NE(error_of({"serve", "dgx-h100", "--model", "llama3-70b", "--tp", "3"}).find("decode"),
            std::string::npos);
  EXPECT_NE(error_of({"serve", "dgx-h100", "--model", "llama3-70b", "--kernels", "llama"})
                .find("'llama'"),
            std::string::npos);
  const Outcome some =
      plan({"serve", "dgx-h100", "--model", "llama3-70b", "--tp", "8,16", "--batch", "1"});
  EXPECT_EQ(some.status, exit_ok);
  EXPECT_NE(some.err.find("too few for --tp 16"), std::string::npos);
}

// NICs of half the rate: 4,096 tokens take twice as long on the ports; inside a node nothing
// changes.
TEST(PlanCommand, plans_for_exchanges) {
  const ShippedData shipped;
  const auto rows = nlohmann::json::parse(plan({"moe", "dgx-h100", "--ep", "8,32", "--tokens",
                                                "4096", "--set", "nic=200Gb/s", "--format", "json"})
                                              .out);
  ASSERT_EQ(rows.size(), 4U);
  const auto& inside = rows.at(0);
  const auto& between = rows.at(1);
  EXPECT_EQ(inside.at("nodes"), 1);
  EXPECT_EQ(between.at("nodes"), 4);
  EXPECT_NEAR(rows.at(2).at("layer_us").get<double>(), inside.at("layer_us").get<double>(), 1e-6);
  EXPECT_NEAR(rows.at(3).at("ports_us").get<double>() / between.at("ports_us").get<double>(), 2,
              0.02);
  EXPECT_EQ(between.at("mark"), "best");
  EXPECT_EQ(rows.at(3).at("mark"), "");
  EXPECT_NEAR(between.at("tokens_per_s").get<double>() * between.at("layer_us").get<double>(),
              4096e6, 1e3);
  EXPECT_NE(error_of({"moe", "l40s-8", "--ep", "8"}).find("NVLink"), std::string::npos);
  EXPECT_NE(error_of({"moe", "dgx-h100", "--ep", "1"}).find("--ep"), std::string::npos);
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
  const std::vector<std::string> request{"dgx-h100", "--nodes", "2", "-b", "1G", "--target-time"};
  const auto answer = [&](const char* time) {
    std::vector<std::string> args = request;
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
  const std::vector<std::string> request{"dgx-h100", "--nodes", "1,2", "-b", "64M", "--format"};
  const auto answer = [&](const char* format) {
    std::vector<std::string> args = request;
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
  const Outcome of_run =
      run(estimate_subcommand.run, {"dgx-h100", "-b", "1M", "--env", "NCCL_TIMEOUT=1"});
  EXPECT_NE(of_run.err.find("collsim: warning: "), std::string::npos) << of_run.err;
  EXPECT_EQ(outcome.err, of_run.err);
}

// What another machine computes changes nothing about what is communicated: 138 GB on 32 nodes.
TEST(PlanCommand, times_do_not_depend_on_what_else_is_asked) {
  const auto times_with = [](const std::string& compute) {
    const Outcome outcome = plan({"dgx-h100,dgx-b200", "--gpus", "256", "--model", "llama-2-70b",
                                  "--compute-time", compute, "--format", "json"});
    std::vector<double> times;
    const nlohmann::json json = nlohmann::json::parse(outcome.out);
    for (const auto& row : json.at("rows")) times.push_back(row.at("time_ms").get<double>());
    return times;
  };
  const std::vector<double> times = times_with("10s,5s");
  ASSERT_EQ(times.size(), 2U);
  EXPECT_EQ(times, times_with("10s,4.4s"));
}

/// With every sentence in one line.
std::string unwrapped(const std::string& text) {
  const std::string wrap = "\n#   ";
  std::string joined;
  std::size_t begin = 0;
  for (auto at = text.find(wrap); at != std::string::npos; at = text.find(wrap, begin)) {
    joined.append(text, begin, at - begin).push_back(' ');
    begin = at + wrap.size();
  }
  return joined.append(text, begin);
}

// Cables that are a little slower at the same price: within the error, and so in words, json, csv
// and on the page.
TEST(PlanCommand, says_what_cannot_be_told_apart) {
  const std::vector<std::string> request{
      "dgx-h100", "--nodes", "2", "-b", "64M", "--set", "latency=0.7us", "--estimate", "--format"};
  const auto answer = [&](const char* format) {
    std::vector<std::string> args = request;
    args.emplace_back(format);
    return plan(args).out;
  };
  const std::string table = answer("table");
  EXPECT_NE(
      unwrapped(table).find("# cannot be told apart from the best, A at 2 nodes: B at 2 nodes\n"),
      std::string::npos)
      << table;
  EXPECT_NE(table.find("  tie  est"), std::string::npos) << table;
  EXPECT_NE(unwrapped(table).find("cannot be told apart, their error"), std::string::npos) << table;
  const nlohmann::json json = nlohmann::json::parse(answer("json"));
  EXPECT_TRUE(json.at("rows")[1].at("ties_with_cheapest"));
  EXPECT_EQ(json.at("rows")[1].at("mark"), "tie");
  EXPECT_TRUE(json.at("upgrades")[0].at("tie"));
  EXPECT_NE(answer("html").find("cannot be told apart from the best"), std::string::npos);
  EXPECT_NE(answer("csv").find(",tie,est,"), std::string::npos);
}

// The column by which the best is chosen is there however wide the others are.
TEST(PlanCommand, shows_what_the_best_is_chosen_by) {
  const std::vector<std::string> request{"dgx-h100",   "--nodes",        "2", "-b", "64M",
                                         "--estimate", "--compute-time", "1s"};
  EXPECT_NE(plan(request).out.find(" work "), std::string::npos);
  std::vector<std::string> with_target = request;
  with_target.insert(with_target.end(), {"--target-share", "10%"});
  EXPECT_NE(plan(with_target).out.find(" cost "), std::string::npos);
}

TEST(PlanCommand, says_what_it_assumed_between_nodes) {
  const Outcome outcome = plan({"dgx-h100", "--nodes", "2", "-b", "64M", "--estimate", "--set",
                                "oversubscription=2", "--set", "nics=4"});
  EXPECT_NE(outcome.out.find("# A dgx-h100: fat tree, rail optimised, 1:1"), std::string::npos)
      << outcome.out;
  EXPECT_NE(unwrapped(outcome.out).find("; no call crosses the spines\n"), std::string::npos)
      << outcome.out;
}

// 2.10 for each of 16 GPUs, whatever the shipped file says.
TEST(PlanCommand, takes_prices_by_an_option) {
  const auto rows = rows_of({"dgx-h100", "--nodes", "2", "-b", "1M", "--price", "H100=2.10"});
  EXPECT_NEAR(rows.at(0).at("cost_per_hour").get<double>(), 33.6, 1e-9);
  const auto of_vendor = rows_of(
      {"dgx-h100", "--nodes", "2", "-b", "1M", "--price", "B200=3,H100=2.10", "--vendor", "oci"});
  EXPECT_EQ(of_vendor.at(0).at("cost_per_hour"), rows.at(0).at("cost_per_hour"));
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
      {"--price", "H100"},       {"--price", "X1=2"},       {"--price", "H100=0"},
  };
  for (std::vector<std::string> args : wrong) {
    const std::string option = args.front();
    args.insert(args.end(), {"dgx-h100", "-b", "1M"});
    EXPECT_NE(error_of(args), "none") << option << ' ' << args[1];
  }
}

}  // namespace
}  // namespace collsim::command
