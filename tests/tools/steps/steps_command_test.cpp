// `collsim steps`: numbers in the buffers, simulated calls, timelines, formats.

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "sim/base/input_error.h"
#include "tests/tools/command_outcome.h"
#include "tools/collsim/core/subcommand.h"

namespace collsim::command {
namespace {

using nlohmann::json;

json lesson(std::vector<std::string> args) {
  args.insert(args.begin(), "steps");
  args.insert(args.end(), {"--format", "json"});
  return json::parse(output_of(args)).at(0);
}

void expect_text(const std::string& text, std::string_view part) {
  EXPECT_NE(text.find(part), std::string::npos) << part << "\nis not in\n" << text;
}

// Rank r has r + 1. In step 1 chunk 0 goes from 1 to 2: 3 + 2; in step 2 on to 0: 1 + 5.
TEST(StepsCommand, values_show_how_a_ring_adds) {
  const std::string text = output_of({"steps", "-n", "3", "--values"});
  expect_text(text, "   1 -> 2   chunk 0  3 + 2 = 5\n");
  expect_text(text, "   2 -> 0   chunk 0  1 + 5 = 6\n");
  expect_text(text, "   0 -> 1   chunk 0  copy 6\n");
  expect_text(text, "rank 2  5*       3        3\n");
  expect_text(text, "Checked: ranks hold what all_reduce promises: the sum of 1 to 3 is 6.\n");
}

// A parent of two adds one after the other: 3 + 2, then 5 + 4.
TEST(StepsCommand, values_show_how_a_tree_adds) {
  const std::string text = output_of({"steps", "-a", "tree", "-n", "4", "--values", "--step", "1"});
  expect_text(text, "   1 -> 2   chunk 0  3 + 2 = 5\n   3 -> 2   chunk 0  5 + 4 = 9\n");
}

// 1 MiB at 50 GB/s is 20.97 us, and a step 21.97 us; 6 steps are 131.8 us. The timeline says who
// does what: 72 columns for each of 8 ranks, leaves first.
TEST(StepsCommand, two_numbers_give_a_timeline) {
  const std::string text = output_of(
      {"steps", "-a", "tree", "-n", "8", "--alpha", "1us", "--bandwidth", "50GB/s", "-b", "1M"});
  const std::string wait(22, 'W');
  expect_text(text, "us a column\nW waits, S sends, R reduces, C copies, . idle\n");
  expect_text(text, "\nrank 1  SSSSSSSSSSSSSS" + wait);
  expect_text(text, "step after step\nT = ");
  std::istringstream lines(text.substr(text.find("\ntimeline, ")));
  int rows = 0;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("rank ")) continue;
    ++rows;
    EXPECT_EQ(line.size(), 80U) << line;
  }
  EXPECT_EQ(rows, 8);
}

// The model of lock steps and the simulation agree for a ring: nobody has to wait for two.
TEST(StepsCommand, a_ring_takes_as_long_in_lock_step) {
  const std::string text =
      output_of({"steps", "-n", "4", "--alpha", "1us", "--bandwidth", "1GB/s", "-b", "1M"});
  expect_text(text, "= 1.57886 ms, step after step\nT = 1.57886 ms, if every rank");
}

// send_recv has N blocks of S: a step is the time of S, not of S/N.
TEST(StepsCommand, a_message_of_send_recv_is_all_of_the_buffer) {
  const std::string text = output_of({"steps", "-c", "send_recv", "-n", "4", "--alpha", "1us",
                                      "--bandwidth", "1GB/s", "-b", "1M"});
  expect_text(text, "T = 1 alpha + 1 S/B = 1 us + 1.04858 ms");
  expect_text(text, "T = 1.04958 ms, if every rank");
}

// switch-8: 1 us and 50 GB/s; 1 MiB / 8 takes 2.62 us.
TEST(StepsCommand, a_machine_gives_messages_links_and_times) {
  const std::string text = output_of({"steps", "switch-8", "-a", "ring", "-b", "1M"});
  expect_text(text, "ring all_reduce: 8 ranks, 8 chunks\n");
  expect_text(text, "takes 50.70 us.\n");  // 14 * 3.62144
  expect_text(text, "The first 64 of 112 messages are shown. --messages, --step and --time choose");
  expect_text(text, "step 2 of 14: reduce-scatter, 3.62 to 7.24 us\n");
  expect_text(text, "   0 -> 1   6       131072      3.62     2.62      7.24  1.00 rank 7\n");
  expect_text(text, "  0 -> 1   node0/gpu0 > switch0 > node1/gpu0\n");
  expect_text(text, "Each rank sends 2(N-1)/N S = 7/4 S in 2(N-1) = 14 steps.\n");
}

// What `run` predicts for the call is what is shown.
TEST(StepsCommand, takes_as_long_as_run_says) {
  for (const std::vector<std::string>& call :
       {std::vector<std::string>{"-t", "hgx-h200", "-a", "ring", "-b", "1M"},
        {"-t", "hgx-h200", "-b", "64K", "--env", "NCCL_PROTO=Simple"},
        {"-t", "hgx-h200", "-a", "nvls", "-b", "4M"},
        {"-t", "dgx-h100-x4", "--ranks-per-node", "1", "-c", "all_to_all", "-b", "1M"}}) {
    std::vector<std::string> run_args{"run"};
    run_args.insert(run_args.end(), call.begin(), call.end());
    run_args.insert(run_args.end(), {"--format", "json"});
    const json answer = json::parse(output_of(run_args)).at(0);
    const json shown = lesson(call);
    EXPECT_NEAR(shown.at("time_us").get<double>(), answer.at("time_us").get<double>(),
                1e-6 * answer.at("time_us").get<double>())
        << call[1];
    EXPECT_EQ(shown.at("protocol"), answer.at("protocol"));
  }
}

TEST(StepsCommand, steps_time_and_messages_choose_what_is_shown) {
  const auto shown = [](std::vector<std::string> args) {
    args.insert(args.begin(), {"switch-8", "-a", "ring", "-b", "1M"});
    return lesson(args).at("messages_shown").get<int>();
  };
  EXPECT_EQ(shown({}), 112);
  EXPECT_EQ(shown({"--messages", "5"}), 5);
  EXPECT_EQ(shown({"--step", "2,4..5"}), 24);
  // A step begins every 3.62 us: steps 2 and 3 between 3 and 8 us.
  EXPECT_EQ(shown({"--time", "3us..8us"}), 16);
  EXPECT_EQ(shown({"--time", "3us..8us", "--step", "3"}), 8);
}

// Channels have rings of their own; all bytes of the call are those of its channels.
TEST(StepsCommand, channels_share_the_call) {
  const std::vector<std::string> call{"hgx-h200", "-n", "4", "-a", "ring", "-b", "1M"};
  const int channels = lesson(call).at("channels").get<int>();
  std::int64_t bytes = 0;
  for (int channel = 0; channel < channels; ++channel) {
    auto args = call;
    args.insert(args.end(), {"--channel", std::to_string(channel)});
    const json shown = lesson(args);
    for (const json& step : shown.at("steps")) {
      for (const json& message : step.at("messages")) bytes += message.at("bytes").get<int>();
    }
  }
  EXPECT_EQ(bytes, 4 * 3 * (1 << 20) / 2);  // 4 ranks send 2 (N-1)/N S each
}

TEST(StepsCommand, json_has_steps_messages_and_holdings) {
  const json plan = lesson({"-n", "3", "--values"});
  EXPECT_EQ(plan.at("algorithm"), "ring");
  EXPECT_EQ(plan.at("traffic").at("sent_buffers").at(0).get<double>(), 4.0 / 3);
  EXPECT_EQ(plan.at("holdings").at(1).at(2), "1");
  const json& step = plan.at("steps").at(0);
  EXPECT_EQ(step.at("phase"), "reduce-scatter");
  EXPECT_EQ(step.at("messages").at(1), json({{"from", 1},
                                             {"to", 2},
                                             {"chunk", 0},
                                             {"chunks", 1},
                                             {"reduce", true},
                                             {"had", {3}},
                                             {"came", {2}}}));
  EXPECT_EQ(step.at("holdings").at(2).at(0), "1,2");
  EXPECT_EQ(step.at("values").at(2), json::array({5, 3, 3}));
  const json call = lesson({"switch-8", "-a", "ring", "-b", "1M"});
  const json& message = call.at("steps").at(1).at("messages").at(0);
  EXPECT_EQ(message.at("links"),
            json::array({"node0/gpu0 -> switch0 (network)", "switch0 -> node1/gpu0 (network)"}));
  EXPECT_EQ(message.at("waited_for"), "rank 7");
  EXPECT_NEAR(message.at("begin_us").get<double>(), 3.62144, 1e-6);
  EXPECT_EQ(call.at("timeline").at("rows").size(), 8U);
  EXPECT_EQ(call.at("machine"), "8 one-GPU nodes on a switch");
}

/// Every table has a line of dashes below its head and as many cells in all rows.
void expect_tables(const std::string& text) {
  std::istringstream lines(text);
  std::ptrdiff_t cells = 0;
  int row = 0;
  int tables = 0;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("|")) {
      row = 0;
      continue;
    }
    const std::ptrdiff_t bars = std::count(line.begin(), line.end(), '|');
    if (row == 0) {
      cells = bars;
      ++tables;
    }
    EXPECT_EQ(bars, cells) << line;
    EXPECT_EQ(line.starts_with("|---|"), row == 1) << line;
    ++row;
  }
  EXPECT_GT(tables, 2);
}

TEST(StepsCommand, markdown_has_tables) {
  const std::string text = output_of({"steps", "-n", "3", "--format", "markdown"});
  expect_text(text, "## ring all_reduce: 3 ranks, 3 chunks\n");
  expect_text(text, "### Step 1 of 4: reduce-scatter\n\n| from | to | chunk | what |\n|---|");
  expect_text(text, "| rank 2 | **a1+a2** | a2 | a2 |\n");
  expect_tables(text);
  const std::string call =
      output_of({"steps", "switch-8", "-a", "ring", "-b", "1M", "--format", "markdown"});
  expect_text(call, "| 0 | 1 | node0/gpu0 → switch0 → node1/gpu0 |\n");
  expect_text(call, "```text\n");
  expect_tables(call);
}

// NCCL's plans add up right, too (else exit code 3), and send what their formulas say: of p ranks
// in a node everybody hands S to the switch, and is the head of one of p stripes.
TEST(StepsCommand, nccl_plans_have_formulas_and_right_values) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases{
      {{"-a", "nvls", "-n", "8"}, "Each rank sends (1 + 1/N) S = 9/8 S in 4 steps."},
      {{"-a", "nvls", "-n", "8", "--nodes", "2"},
       "Each rank sends (1 + 2/p) S = 3/2 S in 6 steps."},
      {{"-a", "nvls", "-n", "8", "-c", "all_gather"}, "Each rank sends S/N = 1/8 S in 2 steps."},
      {{"-a", "nvls", "-n", "8", "-c", "reduce_scatter"}, "Each rank sends S in 2 steps."},
      {{"-a", "collnet_direct", "-n", "8", "--nodes", "2"},
       "Each rank sends (2 - 1/p) S = 7/4 S in 4 steps."},
      {{"-a", "pat", "-n", "8", "-c", "all_gather"}, "Each rank sends (N-1)/N S = 7/8 S in "},
      {{"-a", "pat", "-n", "7", "-c", "reduce_scatter"}, "Each rank sends (N-1)/N S = 6/7 S in "},
      // No formula: the counted figures.
      {{"-a", "nvls_tree", "-n", "8", "--nodes", "4"}, "send "},
      {{"-a", "collnet_chain", "-n", "8", "--nodes", "2"}, "send "}};
  for (const auto& [args, formula] : cases) {
    std::vector<std::string> all{"steps", "--values"};
    all.insert(all.end(), args.begin(), args.end());
    const std::string text = output_of(all);
    expect_text(text, formula);
    expect_text(text, "\nChecked: ranks hold what ");
  }
}

TEST(StepsCommand, values_of_simulated_calls_are_right) {
  for (const char* collective : {"all_reduce", "all_gather", "reduce_scatter", "broadcast",
                                 "reduce", "send_recv", "all_to_all", "gather", "scatter"}) {
    for (const char* machine : {"hgx-h200-4", "dgx-h100-x4"}) {
      expect_text(
          output_of({"steps", machine, "-c", collective, "-n", "4", "-b", "64K", "--values"}),
          "\nChecked: ranks hold what ");
    }
  }
}

TEST(StepsCommand, a_call_fits_eighty_columns) {
  const std::vector<std::vector<std::string>> calls{
      {"hgx-h200", "-a", "ring", "-b", "1M"},
      {"hgx-h200", "-a", "tree", "-b", "4M", "--step", "1"},
      {"hgx-h200", "-a", "ring", "-p", "simple", "-b", "64M", "--values"},
      {"hgx-h200", "-a", "nvls", "-b", "1M", "--values"},
      {"one-gpu-ethernet-5g", "-b", "16M"},
      {"rtx3090-8", "-b", "1M"},
      {"dgx-h100-x4", "-n", "16", "-b", "1M"},
      {"dgx-h100-x4", "--ranks-per-node", "1", "-c", "all_to_all", "-b", "1M"}};
  for (auto args : calls) {
    const std::string machine = args.front();
    args.insert(args.begin(), "steps");
    std::istringstream lines(output_of(args));
    for (std::string line; std::getline(lines, line);) {
      EXPECT_LE(line.size(), 80U) << machine << "\n" << line;
    }
  }
}

TEST(StepsCommand, bad_input_gets_one_error) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases{
      {{"-n", "65"}, "--ranks: 65 is out of range; 1 to 64"},
      {{"dgx-h100-x16", "-b", "1M"}, "128 ranks are too many to show step by step; at most 64"},
      {{"hgx-h200", "-n", "1", "-b", "1M"}, "one rank sends nothing"},
      {{"hgx-h200"}, "steps: no size; -b SIZE"},
      {{"hgx-h200", "-b", "1M", "--nodes", "2"}, "no network between them"},
      {{"hgx-h200", "-b", "1M", "--alpha", "1us", "--bandwidth", "1GB/s"}, "both a machine and"},
      {{"hgx-h200", "-b", "1M", "--channel", "64"}, "--channel: 64 of "},
      {{"hgx-h200", "-b", "1M", "--step", "15"}, "there is no step 15; 1 to 14"},
      {{"hgx-h200", "-b", "1M", "--step", "two"}, "--step"},
      {{"hgx-h200", "-b", "1M", "--time", "5us"}, "two times, such as 10us..25us"},
      {{"hgx-h200", "-b", "1M", "--time", "9us..5us"}, "ends before it begins"},
      {{"hgx-h200", "-b", "1M", "--time", "1s..2s"}, "--time: the call ends after"},
      {{"hgx-h200", "-b", "64G"}, "a trace of about"},
      {{"-p", "ll"}, "--protocol is not heeded by steps without a machine"},
      {{"--env", "NCCL_ALGO=Ring"}, "--env is not heeded by steps without a machine"},
      {{"--messages", "3"}, "--messages is not heeded by steps without a machine"},
      {{"--time", "1us..2us"}, "--time without times"},
      {{"-c", "barrier", "--values"}, "--values with a barrier"},
      {{"--format", "csv"}, "there is no 'csv'; text, markdown or json"},
      {{"--nodes", "2", "--ranks-per-node", "2"}, "both --nodes and --ranks-per-node"}};
  for (const auto& [args, message] : cases) {
    std::vector<std::string> all{"steps"};
    all.insert(all.end(), args.begin(), args.end());
    const Outcome outcome = run(all);
    EXPECT_EQ(outcome.status, exit_bad_input) << message;
    EXPECT_EQ(outcome.out, "") << message;
    expect_text(outcome.err, message);
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  }
}

// A switch has a port for each rank. Of N = 8 ranks each hands in S, gets the sum of its eighth,
// hands that back and gets S: 2 + 2/8 = 2.25 S/B one after the other, and 1 + 1/8 each way where
// pieces follow each other. 8 MiB at 50 GB/s are 167.77 us. At 16 ranks 2.125 and 1.0625. The
// switch as one port would carry N times as much: 18 and 34.
TEST(StepsCommand, a_switch_has_a_port_for_each_rank) {
  const auto of = [](const char* algorithm, const char* ranks, const char* per_node) {
    return output_of({"steps", "-a", algorithm, "-n", ranks, "--ranks-per-node", per_node,
                      "--alpha", "1us", "--bandwidth", "50GB/s", "-b", "8M"});
  };
  const std::string eight = of("nvls", "8", "8");
  expect_text(eight, "T = 4 alpha + 2.25 S/B = 4 us + 377.487 us = 381.487 us, step after step\n");
  expect_text(eight, "\nT = 381.487 us, if every rank goes on as soon as it can\n");
  expect_text(eight, "\nT goes towards 4 alpha + 1.125 S/B = 192.744 us if many pieces follow");
  const std::string sixteen = of("nvls", "16", "16");
  expect_text(sixteen, "T = 4 alpha + 2.125 S/B = ");
  expect_text(sixteen, "\nT goes towards 4 alpha + 1.0625 S/B = ");
  // Two nodes of four: a chain up to the head, the network's switch, and back: 2 * 3 hops of S
  // inside nodes and one into and one out of the switch.
  expect_text(of("collnet_chain", "8", "4"), "T = 8 alpha + 8 S/B = ");
  // To the heads 3/4 S, into the network S/4 and out of it, 3/4 S back.
  expect_text(of("collnet_direct", "8", "4"), "T = 4 alpha + 2 S/B = ");
  EXPECT_EQ(of("ring", "8", "1").find("goes towards"), std::string::npos);
}

// The same as numbers: 2.25 S/B + 4 us, and 1.125 S/B + 4 us.
TEST(StepsCommand, json_says_what_a_pipeline_comes_to) {
  const json nvls =
      lesson({"-a", "nvls", "-n", "8", "--alpha", "1us", "--bandwidth", "50GB/s", "-b", "8M"});
  EXPECT_NEAR(nvls["time_us"].get<double>(), 381.487, 1e-3);
  EXPECT_NEAR(nvls["pipelined_us"].get<double>(), 192.744, 1e-3);
}

}  // namespace
}  // namespace collsim::command
