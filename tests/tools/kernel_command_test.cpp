// Questions about peer kernels and registered buffers, by every command that takes them.

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

nlohmann::json rows_of(const std::vector<std::string>& args) {
  std::vector<std::string> all = args;
  all.insert(all.end(), {"--format", "json"});
  return nlohmann::json::parse(output_of(all));
}

TEST(KernelCommands, run_and_estimate_agree) {
  const std::vector<std::string> question{"dgx-h100", "--kernels", "vllm", "--graph", "-b",
                                          "4K",       "-e",        "4M",   "-f",      "4"};
  std::vector<std::string> run_args{"run"};
  run_args.insert(run_args.end(), question.begin(), question.end());
  std::vector<std::string> estimate_args{"estimate"};
  estimate_args.insert(estimate_args.end(), question.begin(), question.end());
  const auto simulated = rows_of(run_args);
  const auto estimated = rows_of(estimate_args);
  ASSERT_EQ(simulated.size(), 6U);
  for (std::size_t i = 0; i < simulated.size(); ++i) {
    const double time = simulated.at(i).at("time_us").get<double>();
    EXPECT_NEAR(estimated.at(i).at("time_us").get<double>() / time, 1, 0.05) << i;
    EXPECT_EQ(simulated.at(i).at("algorithm"), estimated.at(i).at("algorithm"));
  }
  EXPECT_EQ(simulated.front().at("algorithm"), "one_shot");
  EXPECT_EQ(simulated.back().at("algorithm"), "multimem_two_shot");
}

TEST(KernelCommands, explain_says_what_runs_and_why) {
  const auto explained =
      rows_of({"explain", "dgx-h100", "--kernels", "vllm:0.14", "-b", "256K", "--graph"});
  EXPECT_EQ(explained.at("choice"), "vllm 0.14 runs two_shot below 8 MiB on 8 ranks");
  int running = 0;
  for (const auto& kernel : explained.at("kernels")) {
    if (!kernel.at("runs").get<bool>()) continue;
    ++running;
    EXPECT_EQ(kernel.at("kernel"), "two_shot");
    EXPECT_EQ(kernel.at("launch_us"), 0);
  }
  EXPECT_EQ(running, 1);
}

// One shot carries (N-1) S, two shots 2(N-1)/N S: the more ranks, the sooner two are faster.
TEST(KernelCommands, crossover_has_a_row_for_each_count) {
  const std::vector<std::string> question{
      "crossover", "dgx-h100", "-a", "one_shot,two_shot,nccl", "--graph", "--over-ranks", "2,4,8"};
  const auto rows = rows_of(question);
  // The last way of each count is NCCL, which large buffers take, and it begins where another one
  // ends.
  for (const int ranks : {2, 4, 8}) {
    nlohmann::json last;
    for (const auto& row : rows) {
      if (row.at("nranks") == ranks) last = row;
    }
    EXPECT_GT(last.at("from_bytes").get<double>(), 0) << ranks;
  }
  const test::TemporaryFile thresholds("thresholds.py", "");
  std::vector<std::string> code = question;
  code.insert(code.end(), {"--export-thresholds", thresholds.path().string()});
  output_of(code);
  EXPECT_NE(read_text_file(thresholds.path(), "a file").content.find("    8: [("),
            std::string::npos);
  const test::TemporaryFile page("kernels.html", "");
  std::vector<std::string> html = question;
  html.insert(html.end(), {"--html", page.path().string()});
  EXPECT_NE(output_of(html).find("ranks  fastest"), std::string::npos);  // the table as well
  const std::string written = read_text_file(page.path(), "a file").content;
  EXPECT_NE(written.find("Fastest small all_reduce"), std::string::npos);
  EXPECT_NE(written.find("two_shot"), std::string::npos);
  std::vector<std::string> map = question;
  map.emplace_back("--map");
  EXPECT_NE(output_of(map).find("#   "), std::string::npos);
}

TEST(KernelCommands, refuse_what_does_not_fit_together) {
  const auto status = [](const std::vector<std::string>& args) { return run(args).status; };
  EXPECT_EQ(status({"run", "dgx-h100", "--kernels", "llama"}), exit_bad_input);
  EXPECT_EQ(status({"run", "dgx-h100", "--kernels", "vllm", "-a", "ring"}), exit_bad_input);
  EXPECT_EQ(status({"run", "dgx-h100", "--kernels", "vllm", "-c", "all_gather"}), exit_bad_input);
  EXPECT_EQ(status({"run", "dgx-h100", "--kernels", "vllm", "--registered"}), exit_bad_input);
  EXPECT_EQ(status({"run", "dgx-h100-x4", "--kernels", "vllm", "-b", "1M", "-e", "1M"}),
            exit_bad_input);
  EXPECT_EQ(status({"explain", "dgx-h100", "--kernels", "vllm"}), exit_bad_input);
  EXPECT_EQ(status({"crossover", "dgx-h100", "--export-thresholds", "/dev/stdout"}),
            exit_bad_input);
}

TEST(RegisteredCommands, say_which_kernel_runs) {
  const auto explained = rows_of({"explain", "hgx-h200", "--registered", "-b", "1M", "-n", "4",
                                  "--env", "NCCL_NVLS_ENABLE=0", "--nccl-version", "2.28.9"});
  EXPECT_EQ(explained.at("kernel"), "AllReduce_RSxLD_AGxST");
  EXPECT_EQ(explained.at("thread_blocks"), 6);
  EXPECT_EQ(explained.at("candidates").size(), 2U);
  // Recorded: 16.9 us (recordings/h200x4/symmetric.yaml).
  EXPECT_NEAR(explained.at("time_us").get<double>(), 16.9, 2);
  const auto rows = rows_of({"run", "hgx-h200", "--registered", "-b", "1K", "-e", "1K", "-n", "4",
                             "--env", "NCCL_NVLS_ENABLE=0"});
  EXPECT_EQ(rows.at(0).at("algorithm"), "AllReduce_AGxLL_R");
}

// What changes the choice is no warning; the others still are.
TEST(RegisteredCommands, warn_only_of_variables_that_they_do_not_heed) {
  for (const char* const command : {"explain", "run"}) {
    std::vector<std::string> args{command, "hgx-h200", "--registered", "-b", "64K", "-n", "4"};
    if (args.front() == "run") args.insert(args.end(), {"-e", "64K"});
    for (const char* const variable :
         {"NCCL_SYM_KERNEL=AllReduce_AGxLL_R", "NCCL_SYM_CTAS=4", "NCCL_CTA_POLICY=2",
          "NCCL_WIN_ENABLE=1", "NCCL_LOCAL_REGISTER=1"}) {
      args.insert(args.end(), {"--env", variable});
    }
    const Outcome outcome = run(args);
    EXPECT_EQ(outcome.status, exit_ok);
    EXPECT_EQ(outcome.err.find("NCCL_SYM"), std::string::npos) << outcome.err;
    EXPECT_EQ(outcome.err.find("NCCL_CTA_POLICY"), std::string::npos) << outcome.err;
    EXPECT_EQ(outcome.err.find("NCCL_WIN_ENABLE"), std::string::npos) << outcome.err;
    EXPECT_NE(outcome.err.find("NCCL_LOCAL_REGISTER"), std::string::npos) << outcome.err;
  }
}

// Recorded: 48.7 us on two ranks (recordings/h200x4/symmetric.yaml).
TEST(RegisteredCommands, know_copy_engines) {
  const auto rows = rows_of({"estimate", "hgx-h200", "-c", "all_gather", "--registered", "-b",
                             "16M", "-e", "16M", "-n", "2", "--env", "NCCL_CTA_POLICY=2"});
  EXPECT_EQ(rows.at(0).at("algorithm"), "copy_engines");
  EXPECT_EQ(rows.at(0).at("channels"), 0);
  EXPECT_NEAR(rows.at(0).at("time_us").get<double>(), 48.7, 5);
}

// Of eight H100 NVLS has 16 thread blocks, and 4 on registered buffers.
TEST(RegisteredCommands, explain_says_what_user_buffers_save) {
  const auto explained = [](const std::vector<std::string>& more) {
    std::vector<std::string> args{"explain", "dgx-h100", "-b", "256M", "--user-buffers"};
    args.insert(args.end(), more.begin(), more.end());
    return rows_of(args).at(0).at("user_buffers");
  };
  EXPECT_EQ(explained({"-a", "nvls"}).at("thread_blocks"), 4);
  EXPECT_EQ(explained({"-a", "ring", "-p", "ll128"}).at("applies"), false);
  EXPECT_EQ(explained({"-a", "nvls", "--env", "NCCL_LOCAL_REGISTER=0"}).at("applies"), false);
  EXPECT_TRUE(explained({"-c", "all_to_all"}).is_null());
  EXPECT_EQ(run({"explain", "dgx-h100", "-b", "1M", "--registered", "--user-buffers"}).status,
            exit_bad_input);
  EXPECT_NE(output_of({"explain", "dgx-h100", "-b", "256M", "-a", "nvls", "--user-buffers"})
                .find("4 thread blocks in place of"),
            std::string::npos);
}

TEST(RegisteredCommands, choose_lists_symmetric_kernels) {
  const std::string chosen = output_of({"choose", "hgx-h200", "--registered"});
  EXPECT_NE(chosen.find("symmetric AllReduce: AllReduce_AGxLL"), std::string::npos);
  const std::string old =
      output_of({"choose", "hgx-h200", "--registered", "--nccl-version", "2.26"});
  EXPECT_NE(old.find("symmetric AllReduce: none, NCCL 2.26 has none"), std::string::npos);
  EXPECT_EQ(run({"choose", "hgx-h200", "--registered", "--env", "NCCL_SYM_KERNEL=Ring"}).status,
            exit_bad_input);
}

}  // namespace
}  // namespace collsim::command
