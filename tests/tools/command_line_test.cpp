// What a person may type: bare names, sizes, nccl-tests' letters, and slips.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/base/input_error.h"
#include "tests/tools/command_outcome.h"
#include "tools/collsim/core/options.h"
#include "tools/collsim/core/size_option.h"
#include "tools/collsim/core/subcommand.h"

namespace collsim::command {
namespace {

using Args = std::vector<std::string>;

class CommandLine : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::current_path(COLLSIM_SOURCE_DIR); }
};

void expect_message(const Args& args, const std::string& message) {
  const Outcome outcome = run(args);
  EXPECT_EQ(outcome.status, exit_bad_input) << message;
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  EXPECT_NE(outcome.err.find(message), std::string::npos) << outcome.err;
}

TEST_F(CommandLine, slips_get_the_name_that_was_meant) {
  expect_message({"rnu"}, "did you mean 'run'?");
  expect_message({"topo", "sho"}, "did you mean 'show'?");
  expect_message({"run", "hgx-h20"}, "did you mean 'hgx-h200'?");
  expect_message({"run", "-t", "hgx-h20"}, "did you mean 'hgx-h200'?");
  expect_message({"choose", "hgx-h20"}, "did you mean 'hgx-h200'?");
  expect_message({"run", "incident-slow-prt"}, "did you mean 'incident-slow-port'?");
  expect_message({"run", "switch-8", "-a", "rign"}, "did you mean 'ring'?");
  expect_message({"run", "switch-8", "-c", "allreduce"}, "did you mean 'all_reduce'?");
  expect_message({"steps", "-c", "alltoall"}, "did you mean 'all_to_all'?");
  expect_message({"run", "switch-8", "--rank", "4"}, "did you mean '--ranks'?");
  expect_message({"run", "switch-8", "--calibration", "h10"}, "did you mean 'h100'?");
}

TEST_F(CommandLine, a_bare_name_is_a_machine_or_a_scenario) {
  for (const std::string subcommand : {"run", "estimate", "explain", "crossover", "faults"}) {
    Args size{"-b", "1K", "--format", "json"};
    const bool takes_sweep = subcommand != "explain" && subcommand != "faults";
    if (takes_sweep) size.insert(size.end(), {"-e", "1K"});
    Args bare{subcommand, "hgx-h200-4"};
    Args by_letter{subcommand, "-t", "hgx-h200-4"};
    Args by_path{subcommand, "topologies/hgx-h200-4.yaml"};
    for (Args* args : {&bare, &by_letter, &by_path}) {
      args->insert(args->end(), size.begin(), size.end());
    }
    const Outcome outcome = run(bare);
    EXPECT_EQ(outcome.status, exit_ok) << outcome.err;
    EXPECT_EQ(outcome.out, run(by_letter).out) << subcommand;
    EXPECT_EQ(outcome.out, run(by_path).out) << subcommand;
  }
  EXPECT_EQ(run({"run", "incident-slow-port-small", "-b", "8", "-e", "8"}).out,
            run({"run", "scenarios/incident-slow-port-small.yaml", "-b", "8", "-e", "8"}).out);
  expect_message({"run", "hgx-h200", "-t", "hgx-h200-4"}, "two machines");
}

TEST_F(CommandLine, t_is_the_machine_wherever_one_is_needed) {
  for (const Args& words : {Args{"choose"}, Args{"topo", "show"}, Args{"topo", "export"},
                            Args{"check", "--orders", "1", "-c", "broadcast"}}) {
    Args bare = words;
    bare.emplace_back("hgx-h200-4");
    Args by_letter = words;
    by_letter.insert(by_letter.end(), {"-t", "hgx-h200-4"});
    const Outcome outcome = run(bare);
    EXPECT_EQ(outcome.status, exit_ok) << outcome.err;
    EXPECT_EQ(outcome.out, run(by_letter).out);
  }
}

TEST_F(CommandLine, c_is_the_collective_wherever_there_is_one) {
  EXPECT_NE(run({"steps", "-c", "broadcast"}).out.find("broadcast: 4 ranks"), std::string::npos);
  EXPECT_NE(run({"check", "-c", "scatter", "-n", "2", "--orders", "1"}).out.find("proved"),
            std::string::npos);
}

TEST_F(CommandLine, options_of_nccl_tests_that_mean_something_else_are_explained) {
  expect_message({"run", "hgx-h200", "-g", "8"}, "-g is nccl-tests' GPUs of a thread; here -n");
  expect_message({"run", "hgx-h200", "-w", "5"}, "-w is nccl-tests' warm-up iterations; ");
  expect_message({"run", "hgx-h200", "--warmup_iters", "5"}, "--warmup_iters is nccl-tests' ");
  expect_message({"run", "hgx-h200", "-G", "1"}, "here --graph");
  expect_message({"run", "hgx-h200", "-c", "1"}, "-c 1 is nccl-tests' check of results; here -c");
  expect_message({"run", "-t", "1"}, "-t 1 is nccl-tests' threads of a process; here -n");
  expect_message({"run", "hgx-h200", "-a", "1"}, "-a 1 is nccl-tests' average");
  expect_message({"run", "hgx-h200", "-p", "1"}, "-p 1 is nccl-tests' parallel initialisation");
  expect_message({"validate", "recordings/h200.csv", "-g", "8"}, "-g is nccl-tests'");
  expect_message({"run", "hgx-h200", "-n", "20"}, "1 to 8 ranks");
}

// From 1 MiB in steps of 1.5 MiB: 1, 2.5 and 4 MiB.
TEST_F(CommandLine, i_is_the_step_between_sizes) {
  const Outcome outcome =
      run({"run", "switch-8", "-b", "1M", "-e", "4M", "-i", "1.5m", "--format", "json"});
  std::vector<std::int64_t> sizes;
  for (const auto& row : nlohmann::json::parse(outcome.out)) sizes.push_back(row["size_bytes"]);
  EXPECT_EQ(sizes, (std::vector<std::int64_t>{1048576, 2621440, 4194304}));
  expect_message({"run", "switch-8", "-b", "8", "-e", "1G", "-i", "1"}, "--stepbytes: 1");
  expect_message({"run", "switch-8", "-b", "8", "-e", "1G", "-i", "0"}, "--stepbytes: 0");
  expect_message({"run", "switch-8", "-i", "1M", "-f", "2"}, "both -i and -f");
}

TEST(Sizes, take_fractions_and_letters_of_either_case) {
  EXPECT_EQ(parse_size("x", "100k").count, 100 * 1024);
  EXPECT_EQ(parse_size("x", "1.5M").count, 1572864);
  EXPECT_EQ(parse_size("x", "0.5g").count, 536870912);
  EXPECT_EQ(parse_size("x", "8").count, 8);
  EXPECT_EQ(parse_size("x", "1 MB").count, 1'000'000);
  EXPECT_EQ(parse_size("x", "1.5 KiB").count, 1536);
  EXPECT_EQ(parse_size("x", "1024T").count, std::int64_t{1} << 50);
}

TEST(Sizes, are_whole_bytes_and_not_negative) {
  for (const char* wrong : {"1.3", "0.0001k", "-1", "-0", "1e3", "1.5.2M", "M", "", "8X", "nan",
                            "inf", "0x10", "1025T", "1.5MM", " 8"}) {
    EXPECT_THROW(parse_size("x", wrong), InputError) << wrong;
  }
}

}  // namespace
}  // namespace collsim::command
