// What can be asked: which GPUs, which type and operation, the machine in two numbers.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/tools/command_outcome.h"
#include "tools/collsim/core/subcommand.h"

namespace collsim::command {
namespace {

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

// 8 ranks on 2 nodes of 4: 3 + 1 steps of reduce-scatter and as many of all-gather, 2(N-1)/N S =
// 7/4 MiB through every port: 8 us + 1.75 * 1,048,576 B / 50 GB/s = 44.70016 us.
TEST(TwoNumbers, have_nodes_of_ranks) {
  const std::vector<std::string> machine{"--alpha", "1us", "--bandwidth", "50GB/s",
                                         "-n",      "8",   "-a",          "hierarchical",
                                         "-b",      "1M",  "-e",          "1M"};
  const std::vector<std::vector<std::string>> nodes{{"--ranks-per-node", "4"}, {"--nodes", "2"}};
  for (const char* subcommand : {"run", "estimate"}) {
    for (const auto& each : nodes) {
      std::vector<std::string> args{subcommand};
      args.insert(args.end(), machine.begin(), machine.end());
      args.insert(args.end(), each.begin(), each.end());
      EXPECT_NEAR(rows(args).at(0).at("time_us").get<double>(), 44.70016, 1e-6) << subcommand;
    }
  }
  const std::vector<std::string> ring{"run", "--alpha", "1us", "--bandwidth", "50GB/s", "-n", "8",
                                      "-a",  "ring",    "-b",  "1M",          "-e",     "1M"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), ring.begin(), ring.end());
    return more;
  };
  // The last node has what is left: a ring does not care.
  EXPECT_NEAR(rows(with({"--ranks-per-node", "3"})).at(0).at("time_us").get<double>(), 50.70016,
              1e-6);
  expect_refused(with({"--nodes", "3"}), "8 ranks do not fill 3 nodes equally");
  expect_refused(with({"--nodes", "2", "--ranks-per-node", "4"}), "both --nodes and");
  expect_refused({"run", "hgx-h200", "--nodes", "2"}, "no network between them");
}

// Protocols, thread blocks and launches are priced by a calibration, which the textbook's machine
// has not: its user is told. Where they are priced, or nothing of the kind is asked for, nobody is.
TEST(Settings, that_cost_nothing_are_said) {
  const auto warning = [](std::vector<std::string> more) {
    more.insert(more.begin(), {"run", "-b", "1M", "-e", "1M"});
    const Outcome outcome = run(more);
    EXPECT_EQ(outcome.status, exit_ok) << outcome.err;
    return outcome.err;
  };
  const std::string text = "calibration ideal prices links alone, so that ";
  const std::vector<std::string> two{"--alpha", "1us", "--bandwidth", "50GB/s", "-n", "8"};
  const auto of_two = [&](std::vector<std::string> more) {
    more.insert(more.begin(), two.begin(), two.end());
    return warning(more);
  };
  EXPECT_NE(of_two({"-a", "ring", "-p", "ll"}).find(text + "protocol LL costs nothing here"),
            std::string::npos);
  EXPECT_NE(of_two({"-a", "ring", "-p", "ll128", "--channels", "4"})
                .find(text + "protocol LL128, 4 channels cost nothing here"),
            std::string::npos);
  EXPECT_NE(warning({"-t", "hgx-h200", "--calibration", "ideal", "-a", "ring", "--graph", "--env",
                     "NCCL_NTHREADS=64"})
                .find(text + "a CUDA graph, NCCL_NTHREADS=64 cost nothing here"),
            std::string::npos);
  EXPECT_NE(warning({"-t", "hgx-h200", "--calibration", "ideal", "-a", "ring", "-p", "ll"})
                .find(text + "protocol LL costs nothing here"),
            std::string::npos);
  EXPECT_EQ(of_two({"-a", "ring", "-p", "simple"}), "");
  EXPECT_EQ(of_two({"-a", "ring"}), "");
  EXPECT_EQ(warning({"-t", "hgx-h200", "-a", "ring", "-p", "ll"}), "");
}

TEST(TwoNumbers, are_refused_where_one_is_missing_or_a_machine_is_there) {
  expect_refused({"run", "--alpha", "1us", "-n", "4"}, "--alpha without --bandwidth");
  expect_refused({"run", "--bandwidth", "1GB/s", "-n", "4"}, "--bandwidth without --alpha");
  expect_refused({"run", "--alpha", "1us", "--bandwidth", "1GB/s"}, "without --ranks");
  expect_refused({"run", "--alpha", "1", "--bandwidth", "1GB/s", "-n", "4"}, "--alpha");
  expect_refused({"run", "--alpha", "1us", "--bandwidth", "0GB/s", "-n", "4"}, "--bandwidth");
  expect_refused({"run", "--alpha", "1us", "--bandwidth", "1GB/s", "-n", "4", "-t", "switch-8"},
                 "both a machine and --alpha");
  expect_refused({"run", "switch-8", "--alpha", "1us", "--bandwidth", "1GB/s", "-n", "4"},
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
  // Other GPUs of each node, and more on one than on the other.
  for (const char* const list : {"0,1,10,11", "0..7,8"}) {
    const Outcome outcome =
        run({"run", "-t", "dgx-h100-x4", "--rank-list", list, "-b", "1M", "-e", "1M"});
    EXPECT_EQ(outcome.status, exit_ok) << outcome.err;
  }
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

// 2(N-1) alpha = 126 us; 2(N-1)/N S/B = 1.96875 * 1048576 B / 50 GB/s = 41.28768 us.
TEST(TwoNumbers, estimate_prints_the_closed_form_with_the_numbers_put_in) {
  const Outcome outcome = run({"estimate", "--alpha", "1us", "--bandwidth", "50GB/s", "--ranks",
                               "64", "-a", "ring", "-b", "1M", "-e", "1M"});
  EXPECT_NE(outcome.out.find("2(N-1) alpha + 2(N-1)/N S/B"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("126 alpha + 1.96875 S/B"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("126 us + 41.2"), std::string::npos) << outcome.out;
}

// The double tree of 64 ranks, 2 MiB: 12 us + 11 * 2097152 B / 50 GB/s = 473.37344 us, by both.
TEST(TwoNumbers, give_the_same_double_tree_by_estimate_and_by_run) {
  for (const char* subcommand : {"run", "estimate"}) {
    const auto answer = rows({subcommand, "--alpha", "1us", "--bandwidth", "50GB/s", "--ranks",
                              "64", "-a", "double_binary_tree", "-b", "2M", "-e", "2M"});
    EXPECT_NEAR(answer.at(0).at("time_us").get<double>(), 473.37344, 1e-6) << subcommand;
  }
}

// A pipelined tree shares its ports in ways that no form follows: it is simulated, and says so.
TEST(TwoNumbers, an_estimate_that_is_not_exact_says_so) {
  const Outcome outcome = run({"estimate", "--alpha", "1us", "--bandwidth", "50GB/s", "--ranks",
                               "8", "-a", "tree", "--chunk", "64K", "-b", "1M", "-e", "1M"});
  EXPECT_NE(outcome.out.find("sim: simulated"), std::string::npos) << outcome.out;
}

// Ring of 4, 1 MiB at 1 GB/s: 6 steps of 1 us + 262.144 us.
TEST(TwoNumbers, steps_show_the_time_of_every_step) {
  const Outcome outcome = run({"steps", "--alpha", "1us", "--bandwidth", "1GB/s", "--ranks", "4",
                               "-a", "ring", "-b", "1M"});
  EXPECT_EQ(outcome.status, exit_ok) << outcome.err;
  EXPECT_NE(outcome.out.find("step 1 of 6: reduce-scatter: 1 us + 262.1"), std::string::npos);
  EXPECT_NE(outcome.out.find("T = 6 alpha + 1.5 S/B = 6 us + 1.57"), std::string::npos)
      << outcome.out;
  expect_refused({"steps", "--alpha", "1us", "-n", "4"}, "--alpha without --bandwidth");
}

// Ring: 14 us + 1.75 S/B; recursive halving and doubling: 6 us + 1.75 S/B: never slower on 2^k
// ranks. All to all: 1 us + 7 S/B: equal to the ring where 13 us = 5.25 S/B, at 50 GB/s 123,810 B.
TEST(Crossovers, of_a_textbooks_algorithms_are_those_of_their_forms) {
  const auto answer =
      rows({"crossover", "--alpha", "1us", "--bandwidth", "50GB/s", "--ranks", "8", "-a",
            "ring,recursive_halving_doubling,one_shot", "-b", "1K", "-e", "1M"});
  const auto& pairs = answer.at(0).at("pairs");
  ASSERT_EQ(pairs.size(), 3U);
  EXPECT_EQ(pairs.at(0).at("simulated").at("before"), "recursive_halving_doubling");
  EXPECT_TRUE(pairs.at(0).at("simulated").at("size_bytes").is_null());
  for (const char* way : {"simulated", "estimate"}) {
    EXPECT_EQ(pairs.at(1).at(way).at("before"), "one_shot") << way;
    EXPECT_NEAR(pairs.at(1).at(way).at("size_bytes").get<double>(), 123810, 1500) << way;
    EXPECT_EQ(pairs.at(1).at(way).at("after"), "ring") << way;
  }
}

TEST(Crossovers, compare_all_algorithms_that_are_named_and_no_others) {
  const auto answer =
      rows({"crossover", "-t", "hgx-h200", "-a", "ring,tree", "-b", "1K", "-e", "64K"});
  const auto& pairs = answer.at(0).at("pairs");
  ASSERT_EQ(pairs.size(), 4U);  // tree, ring; ll, ll128; ll, simple; ll128, simple
  EXPECT_EQ(pairs.at(0).at("first"), "tree");
  EXPECT_EQ(pairs.at(0).at("second"), "ring");
}

// A call cannot end before its last rank has begun.
TEST(Crossovers, are_those_of_the_faulty_machine) {
  const auto answer = rows({"crossover", "-t", "hgx-h200", "-a", "ring,tree", "-b", "64K", "-e",
                            "64K", "--fault", "rank: 3, late: 1 ms"});
  EXPECT_GE(answer.at(0).at("following_nccl").at("choice_us").get<double>(), 1000);
}

// What cannot run, or be compared, is an error that says why.
TEST(Crossovers, of_what_cannot_run_are_refused) {
  expect_refused({"crossover", "-t", "pcie-8", "-a", "ring,nvls"}, "NVSwitch");
  expect_refused({"crossover", "-t", "hgx-h200", "-a", "nvls"}, "nothing to compare");
  expect_refused({"crossover", "-t", "hgx-h200", "-a", "ring,hierarchical"}, "textbook");
}

TEST(ForcedAlgorithms, that_cannot_run_are_refused_by_every_subcommand) {
  for (const char* subcommand : {"run", "estimate", "explain", "faults", "crossover"}) {
    expect_refused({subcommand, "-t", "pcie-8", "-a", "nvls", "-b", "1M"}, "NVSwitch");
  }
  expect_refused({"choose", "pcie-8", "--env", "NCCL_ALGO=NVLS"}, "NVSwitch");
}

// 24 channels; every rank of the chain hears from its neighbours, so from two: 48 connections of
// 512 KiB + 4,915,200 B + 4 MiB = 9,633,792 B.
TEST(BufferMemory, is_what_explain_says_of_a_communicator) {
  const auto answer = rows({"explain", "-t", "hgx-h200", "-b", "1M"});
  const auto& memory = answer.at(0).at("buffer_memory");
  EXPECT_EQ(memory.at("channels"), 24);
  EXPECT_EQ(memory.at("connections"), 48);
  EXPECT_EQ(memory.at("bytes_per_gpu"), 48 * 9'633'792);
  const auto smaller =
      rows({"explain", "-t", "hgx-h200", "-b", "1M", "--env", "NCCL_BUFFSIZE=2097152"});
  EXPECT_EQ(smaller.at(0).at("buffer_memory").at("bytes_per_gpu"), 48 * (9'633'792 - 2'097'152));
  EXPECT_NE(run({"explain", "-t", "hgx-h200", "-b", "1M"}).out.find("buffers of the communicator"),
            std::string::npos);
}

}  // namespace
}  // namespace collsim::command
