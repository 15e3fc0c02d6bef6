// collsim moe: what is printed, the busiest port of a hot expert, bad input.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/base/text_file.h"
#include "tests/support/temporary_file.h"
#include "tests/tools/command_outcome.h"
#include "tools/collsim/core/subcommand.h"

namespace collsim::command {
namespace {

nlohmann::json rows_of_exchange(std::vector<std::string> args) {
  args.insert(args.begin(), "moe");
  args.insert(args.end(), {"--format", "json"});
  return nlohmann::json::parse(output_of(args)).at("rows");
}

TEST(MoeCommand, answers_for_dispatch_and_combine) {
  const auto rows = rows_of_exchange({"dgx-h100", "--tokens", "8,4096"});
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_EQ(rows[0].at("call"), "moe_dispatch");
  EXPECT_EQ(rows[3].at("call"), "moe_combine");
  EXPECT_LT(rows[0].at("time_us"), rows[1].at("time_us"));
}

TEST(MoeCommand, is_what_run_and_explain_say) {
  const std::vector<std::string> question{"dgx-h100", "-c", "moe_dispatch", "--tokens", "64"};
  const auto with = [&](const std::string& name, const std::vector<std::string>& more = {}) {
    std::vector<std::string> args{name};
    args.insert(args.end(), question.begin(), question.end());
    args.insert(args.end(), more.begin(), more.end());
    return output_of(args);
  };
  EXPECT_EQ(with("run"), with("moe"));
  EXPECT_EQ(with("explain"), with("moe", {"--explain"}));
}

/// The first expert is on rank 0, so what comes in there is the busiest.
TEST(MoeCommand, names_the_port_of_a_hot_expert) {
  const auto rows = rows_of_exchange({"dgx-h100-x4", "-c", "moe_dispatch", "--kernels",
                                      "deepep-low-latency", "--skew", "hot:100"});
  const std::string port = rows[0].at("busiest_port");
  EXPECT_TRUE(port.ends_with("node0/nic0") || port.ends_with("node0/gpu0") ||
              port.ends_with("node0/pcie0"))
      << port;
  EXPECT_GT(rows[0].at("time_us"), rows[0].at("even_us"));
}

/// Equal sizes are no skew; one rank that gets all is one.
TEST(MoeCommand, weighs_a_matrix_against_equal_sizes) {
  const test::TemporaryFile even("even.csv", "1M,1M\n1M,1M\n");
  const test::TemporaryFile skewed("skewed.csv", "2 MiB,2 MiB\n0,0\n");
  const test::TemporaryFile flat("flat.csv", "1 MiB,1 MiB\n1 MiB,1 MiB\n");
  const std::vector<std::string> call{"dgx-h100", "-n", "2", "-c", "all_to_all_v", "--matrix"};
  const auto of = [&](const std::string& file) {
    std::vector<std::string> args = call;
    args.push_back(file);
    return rows_of_exchange(args)[0];
  };
  EXPECT_DOUBLE_EQ(of(flat.path().string()).at("time_us"), of(flat.path().string()).at("even_us"));
  EXPECT_GT(of(skewed.path().string()).at("time_us"), of(skewed.path().string()).at("even_us"));
  EXPECT_EQ(
      run({"moe", "dgx-h100", "-n", "2", "-c", "all_to_all_v", "--matrix", even.path().string()})
          .status,
      exit_bad_input);  // "1M" is no unit of bytes
}

/// Machines and ranks are named as in `run`.
TEST(MoeCommand, takes_the_options_of_machines) {
  const auto ranks_of = [](const std::vector<std::string>& options) {
    std::vector<std::string> args{"dgx-h100", "-c", "moe_dispatch", "--tokens", "8"};
    args.insert(args.end(), options.begin(), options.end());
    return rows_of_exchange(args)[0].at("ranks").get<int>();
  };
  EXPECT_EQ(ranks_of({"--nodes", "2"}), 16);
  EXPECT_EQ(ranks_of({"--nodes", "3", "--fabric", "efa-400g"}), 24);
  EXPECT_EQ(ranks_of({"--nodes", "2", "--ranks-per-node", "4"}), 8);
  EXPECT_EQ(ranks_of({"--rank-list", "0,2,4..6"}), 5);
  // NCCL's variables are of NCCL's calls.
  EXPECT_EQ(run({"moe", "dgx-h100", "--env", "NCCL_ALGO=Ring"}).status, exit_bad_input);
  EXPECT_EQ(run({"moe", "dgx-h100", "-c", "all_to_all_v", "-b", "1M", "--tokens", "8"}).status,
            exit_bad_input);
  const auto sized = [](const std::vector<std::string>& options) {
    std::vector<std::string> args{"dgx-h100", "-c", "all_to_all_v", "-b", "64M"};
    args.insert(args.end(), options.begin(), options.end());
    return rows_of_exchange(args)[0].at("time_us").get<double>();
  };
  EXPECT_GT(sized({"--env", "NCCL_P2P_DISABLE=1"}), 2 * sized({}));
}

TEST(MoeCommand, says_what_is_taken_over_from_other_machines) {
  const auto there = rows_of_exchange({"dgx-h100-x2", "-c", "moe_dispatch"})[0];
  const auto here = rows_of_exchange({"aws-p6-b300-x2", "-c", "moe_dispatch"})[0];
  EXPECT_EQ(there.at("taken_over"), "");
  EXPECT_EQ(here.at("taken_over"), "B300, not B200; network efa, not one host; 16 ranks, not 8");
  EXPECT_GT(here.at("typical_error"), 2 * there.at("typical_error").get<double>());
}

TEST(MoeCommand, refuses_bad_input) {
  const auto status = [](std::vector<std::string> args) {
    args.insert(args.begin(), "moe");
    const Outcome outcome = run(args);
    EXPECT_TRUE(outcome.out.empty());
    return outcome.status;
  };
  EXPECT_EQ(status({}), exit_bad_input);
  EXPECT_EQ(status({"dgx-h100", "-c", "moe_dispath"}), exit_bad_input);
  EXPECT_EQ(status({"dgx-h100", "--kernels", "x"}), exit_bad_input);
  EXPECT_EQ(status({"dgx-h100", "--tokens", "0"}), exit_bad_input);
  EXPECT_EQ(status({"dgx-h100", "--top-k", "300"}), exit_bad_input);
  EXPECT_EQ(status({"dgx-h100", "-c", "moe_prepare"}), exit_bad_input);
  EXPECT_EQ(status({"dgx-h100-x4", "--kernels", "nvlink-one-sided"}), exit_bad_input);
  EXPECT_EQ(status({"dgx-h100", "-c", "all_to_all_v"}), exit_bad_input);
  EXPECT_EQ(status({"dgx-h100", "-c", "all_to_all_v", "-b", "2T"}), exit_bad_input);
  EXPECT_EQ(status({"dgx-h100", "-c", "moe_dispatch,all_to_all_v"}), exit_bad_input);
  EXPECT_EQ(status({"dgx-h100-x16384"}), exit_bad_input);
}

/// A bar for each row, with what the skew adds as a part of its own.
TEST(MoeCommand, draws_where_the_time_goes) {
  const test::TemporaryFile drawing("exchange.svg", "");
  output_of({"moe", "dgx-h100-x4", "-c", "moe_dispatch", "--tokens", "8,128", "--skew", "hot:20",
             "--svg", drawing.path().string()});
  const std::string svg = read_text_file(drawing.path(), "a drawing").content;
  EXPECT_NE(svg.find("moe_dispatch, 128 tokens"), std::string::npos);
  EXPECT_NE(svg.find("what the skew adds"), std::string::npos);
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
  EXPECT_EQ(run({"moe", "dgx-h100", "--svg", "/no/such/folder/x.svg"}).status, exit_bad_input);
}

/// Thousands of ranks are alike or refused.
TEST(MoeCommand, takes_thousands_of_ranks_that_are_alike) {
  const auto rows = rows_of_exchange({"dgx-h100-x512", "-n", "1024", "--experts", "1024", "-c",
                                      "moe_dispatch", "--tokens", "128"});
  EXPECT_GT(rows[0].at("time_us"), rows[0].at("launch_us"));
  const std::vector<std::string> refused{"moe",       "dgx-h100-x512", "-n",     "1024",
                                         "--experts", "1024",          "--skew", "hot:4"};
  EXPECT_EQ(run(refused).status, exit_bad_input);
  EXPECT_NE(run(refused).err.find("not alike"), std::string::npos);
  EXPECT_EQ(
      run({"moe", "dgx-h100-x512", "-n", "1024", "-c", "all_to_all_v", "--size", "1M"}).status,
      exit_bad_input);
}

}  // namespace
}  // namespace collsim::command
