// collsim diagnose: verdicts, formats, exit codes, odd logs.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "models/recordings/recording.h"
#include "tests/support/temporary_file.h"
#include "tests/tools/command_outcome.h"
#include "tools/collsim/core/subcommand.h"

namespace collsim::command {
namespace {

Outcome diagnose(std::vector<std::string> args) {
  args.insert(args.begin(), "diagnose");
  return run(args);
}

/// A log of all_reduce on 8 x H200, NVLS off, whose times are those recorded times `factor`.
std::string log_of(double factor, const std::string& wrong = "0") {
  std::string text =
      "h:1:1 [0] NCCL INFO NCCL_NVLS_ENABLE set by environment to 0.\n"
      "# Collective test starting: all_reduce_perf\n# Using devices\n";
  for (int rank = 0; rank < 8; ++rank) {
    text += fmt::format("#  Rank {:2} Group  0 Pid 1 on host device {} [0x00] NVIDIA H200\n", rank,
                        rank);
  }
  text += "#       size         count      type   redop    root     time   algbw   busbw #wrong\n";
  // recordings/h200.csv, auto8
  const std::vector<std::pair<std::int64_t, double>> times{
      {1 << 20, 24.56}, {16 << 20, 115.2}, {64 << 20, 359.89}, {256 << 20, 1348.08}};
  for (const auto& [size, time] : times) {
    const double algbw = static_cast<double>(size) / (factor * time) * 1e-3;
    text += fmt::format("{} {} float sum -1 {:.2f} {:.2f} {:.2f} {}\n", size, size / 4,
                        factor * time, algbw, 1.75 * algbw, wrong);
  }
  return text;
}

std::size_t longest_line(const std::string& text) {
  std::istringstream lines(text);
  std::size_t longest = 0;
  for (std::string line; std::getline(lines, line);) longest = std::max(longest, line.size());
  return longest;
}

TEST(DiagnoseCommand, of_a_healthy_log_succeeds) {
  const test::TemporaryFile log("healthy.log", log_of(1));
  const Outcome outcome = diagnose({log.path().string()});
  EXPECT_EQ(outcome.status, exit_ok) << outcome.out << outcome.err;
  EXPECT_NE(outcome.out.find("verdict: healthy"), std::string::npos) << outcome.out;
  EXPECT_EQ(outcome.out.find("causes"), std::string::npos);
  EXPECT_NE(outcome.err.find("assuming hgx-h200"), std::string::npos);
}

// Three times as slow at every size.
TEST(DiagnoseCommand, of_a_low_log_ranks_causes) {
  const test::TemporaryFile log("low.log", log_of(3));
  const Outcome outcome = diagnose({log.path().string()});
  EXPECT_EQ(outcome.status, exit_answer_is_no);
  EXPECT_NE(outcome.out.find("verdict: low"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("causes, by likelihood"), std::string::npos);
  EXPECT_NE(outcome.out.find("check: "), std::string::npos);
  EXPECT_LE(longest_line(outcome.out), 80U) << outcome.out;
}

// Alone, without its causes and among others a log has one verdict, for one reason.
TEST(DiagnoseCommand, judges_a_log_alone_as_among_others) {
  const auto judged = [](std::vector<std::string> args) {
    args.insert(args.end(), {"--format", "json"});
    const auto log = nlohmann::json::parse(diagnose(args).out)["logs"][0];
    return log["verdict"].get<std::string>() + ": " + log["reason"].get<std::string>();
  };
  const test::TemporaryFile one("one.log", log_of(1.25));
  const test::TemporaryFile other("other.log", log_of(1.25));
  const std::string alone = judged({one.path().string()});
  EXPECT_EQ(judged({one.path().string(), "--no-causes"}), alone);
  EXPECT_EQ(judged({one.path().string(), other.path().string()}), alone);
}

TEST(DiagnoseCommand, says_the_verdict_alone_where_it_is_asked_to) {
  const test::TemporaryFile log("low.log", log_of(3));
  const Outcome outcome = diagnose({log.path().string(), "--no-causes"});
  EXPECT_EQ(outcome.status, exit_answer_is_no);
  EXPECT_NE(outcome.out.find("verdict: low"), std::string::npos) << outcome.out;
  EXPECT_EQ(outcome.out.find("causes"), std::string::npos) << outcome.out;
}

// A tenth of the time: beyond NVLink's rate.
TEST(DiagnoseCommand, of_an_impossible_log_says_so) {
  const test::TemporaryFile log("impossible.log", log_of(0.1));
  const Outcome outcome = diagnose({log.path().string()});
  EXPECT_EQ(outcome.status, exit_answer_is_no);
  EXPECT_NE(outcome.out.find("verdict: impossible"), std::string::npos) << outcome.out;
}

TEST(DiagnoseCommand, wrong_results_are_a_verdict_of_their_own) {
  const test::TemporaryFile log("wrong.log", log_of(1, "17"));
  const Outcome outcome = diagnose({log.path().string()});
  EXPECT_EQ(outcome.status, exit_answer_is_no);
  EXPECT_NE(outcome.out.find("verdict: wrong data"), std::string::npos) << outcome.out;
}

// The last row ends in the middle, and one before it has lost its columns.
TEST(DiagnoseCommand, reads_what_is_left_of_a_truncated_log) {
  std::string text = log_of(1);
  text.insert(text.find("16777216"), "8388608 2097152 float sum\n");
  text.resize(text.size() - 12);
  const test::TemporaryFile log("cut.log", text);
  const Outcome outcome = diagnose({log.path().string()});
  EXPECT_EQ(outcome.status, exit_ok) << outcome.out << outcome.err;
  EXPECT_NE(outcome.out.find("note: 1 rows of the table cannot be read"), std::string::npos)
      << outcome.out;
}

// NCCL's log in a file of its own belongs to every table.
TEST(DiagnoseCommand, holds_nccl_s_log_against_the_machine) {
  const test::TemporaryFile log("table.log", log_of(1));
  const test::TemporaryFile info("info.log",
                                 "h:1:1 [0] NCCL INFO Channel 00 : 0[0] -> 1[1] via SHM/direct\n"
                                 "h:1:1 [0] NCCL INFO 4 coll channels, 0 nvls channels\n");
  const Outcome outcome = diagnose({log.path().string(), info.path().string()});
  EXPECT_NE(outcome.out.find("log: 1 connections go through host memory"), std::string::npos)
      << outcome.out;
  EXPECT_NE(outcome.out.find("log: NCCL has 4 channels where 24 fit"), std::string::npos);
}

TEST(DiagnoseCommand, compares_several_logs) {
  const test::TemporaryFile good("good.log", log_of(1));
  const test::TemporaryFile bad("bad.log", log_of(3));
  const Outcome outcome = diagnose({good.path().string(), bad.path().string()});
  EXPECT_EQ(outcome.status, exit_answer_is_no);
  const auto summary = outcome.out.find("# all logs, the slowest first");
  ASSERT_NE(summary, std::string::npos);
  EXPECT_LT(outcome.out.find("bad.log", summary), outcome.out.find("good.log", summary));
}

TEST(DiagnoseCommand, writes_json) {
  const test::TemporaryFile log("low.log", log_of(3));
  const Outcome outcome = diagnose({log.path().string(), "--format", "json"});
  const auto root = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(root["verdict"], "low");
  const auto& first = root["logs"][0];
  ASSERT_EQ(first["sizes"].size(), 4U);
  const auto& size = first["sizes"][3];
  EXPECT_NEAR(size["ratio"].get<double>(),
              size["expected_us"].get<double>() / size["measured_us"].get<double>(), 1e-9);
  double sum =
      first["likelihood_of_none"].get<double>() + first["likelihood_of_healthy"].get<double>();
  for (const auto& group : first["causes"]) sum += group["likelihood"].get<double>();
  EXPECT_NEAR(sum, 1, 1e-9);
}

// Four sizes, all of them low.
TEST(DiagnoseCommand, writes_junit_and_prometheus) {
  const test::TemporaryFile log("low.log", log_of(3));
  const Outcome junit = diagnose({log.path().string(), "--format", "junit"});
  EXPECT_EQ(junit.status, exit_answer_is_no);
  EXPECT_NE(junit.out.find("<testsuite name=\"low.log\" tests=\"4\" failures=\"4\">"),
            std::string::npos)
      << junit.out;
  const Outcome prometheus = diagnose({log.path().string(), "--format", "prometheus"});
  EXPECT_NE(prometheus.out.find("# TYPE collsim_diagnose_busbw_ratio gauge\n"), std::string::npos);
  EXPECT_NE(prometheus.out.find(",verdict=\"low\"} 1\n"), std::string::npos) << prometheus.out;
}

TEST(DiagnoseCommand, refuses_what_it_cannot_read) {
  EXPECT_EQ(diagnose({}).status, exit_bad_input);
  EXPECT_EQ(diagnose({"no-such.log"}).status, exit_bad_input);
  const test::TemporaryFile log("healthy.log", log_of(1));
  EXPECT_EQ(diagnose({log.path().string(), "--format", "yaml"}).status, exit_bad_input);
  const test::TemporaryFile info("info.log", "h:1:1 [0] NCCL INFO Using network IB\n");
  EXPECT_EQ(diagnose({info.path().string()}).status, exit_ok) << "nothing odd in it";
}

// Without times: rings, channels, NICs and transports.
TEST(DiagnoseCommand, checks_nccl_s_log_alone) {
  const test::TemporaryFile info("info.log",
                                 "h:1:1 [0] NCCL INFO NCCL_P2P_LEVEL set by environment to LOC\n"
                                 "h:1:1 [0] NCCL INFO Channel 00/02 : 0 1 2 3\n"
                                 "h:1:1 [0] NCCL INFO Channel 00 : 0[0] -> 1[1] via SHM/direct\n");
  const Outcome outcome = diagnose({info.path().string()});
  EXPECT_EQ(outcome.status, exit_answer_is_no);
  EXPECT_NE(outcome.out.find("verdict: cannot tell: NCCL's log alone, without times"),
            std::string::npos)
      << outcome.out;
  EXPECT_NE(outcome.out.find("log: NCCL_P2P_LEVEL=LOC is set"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("note: 1 rings of 4 ranks"), std::string::npos) << outcome.out;
}

// A file of something else among logs is named, and ends nothing.
TEST(DiagnoseCommand, passes_over_files_that_are_no_logs) {
  const test::TemporaryFile log("healthy.log", log_of(1));
  const test::TemporaryFile notes("notes.txt", "what we saw\n");
  const Outcome outcome = diagnose({notes.path().string(), log.path().string()});
  EXPECT_EQ(outcome.status, exit_ok) << outcome.err;
  EXPECT_NE(outcome.err.find("passed over: "), std::string::npos) << outcome.err;
  EXPECT_EQ(diagnose({notes.path().string()}).status, exit_bad_input);
}

/// Two hosts of eight A100 with four NICs of RoCE, at so many GB/s of busbw for 1 GiB.
std::string log_of_two_hosts(double busbw) {
  std::string text =
      "h0:1:1 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE [2]mlx5_2:1/RoCE "
      "[3]mlx5_3:1/RoCE [RO]; OOB eth0:192.0.2.1<0>\nNCCL version 2.21.5+cuda12.4\n"
      "# Collective test starting: all_reduce_perf\n# Using devices\n";
  for (int rank = 0; rank < 16; ++rank) {
    text +=
        fmt::format("#  Rank {:2} Group  0 Pid 1 on h{} device {} [0x00] NVIDIA A100-SXM4-80GB\n",
                    rank, rank / 8, rank % 8);
  }
  text += "#       size         count      type   redop    root     time   algbw   busbw #wrong\n";
  const double algbw = busbw / 1.875;
  return text + fmt::format("1073741824 268435456 float sum -1 {:.1f} {:.2f} {:.2f} 0\n",
                            1073741824 / algbw * 1e-3, algbw, busbw);
}

TEST(DiagnoseCommand, composes_the_machine_and_keeps_it) {
  const test::TemporaryFile log("two.log", log_of_two_hosts(90));
  const test::TemporaryFile kept("kept.yaml", "");
  const Outcome outcome =
      diagnose({log.path().string(), "--nic", "200Gb/s", "--keep", kept.path().string()});
  EXPECT_NE(outcome.err.find("assuming 2 x dgx-a100 with 4 RoCE NICs"), std::string::npos)
      << outcome.err;
  EXPECT_NE(outcome.err.find("nodes: { template: dgx-a100, count: 2 }"), std::string::npos);
  EXPECT_EQ(outcome.err.find("guessed"), std::string::npos) << outcome.err;
  const Outcome again = diagnose({log.path().string(), "-t", kept.path().string()});
  EXPECT_EQ(again.status, outcome.status) << again.err;
  const auto table = [](const std::string& text) { return text.substr(text.find("# all_reduce")); };
  EXPECT_EQ(table(again.out), table(outcome.out));
}

// Twice as fast as its like: low, and its hosts are named, whatever is known of the machine.
TEST(DiagnoseCommand, needs_no_machine_to_hold_logs_against_each_other) {
  const auto log_on = [](const std::string& host, double factor) {
    std::string text = log_of(factor);
    for (auto at = text.find(" on host "); at != std::string::npos; at = text.find(" on host ")) {
      text.replace(at, 9, " on " + host + " ");
    }
    for (auto at = text.find("NVIDIA H200"); at != std::string::npos;
         at = text.find("NVIDIA H200")) {
      text.replace(at, 11, "Unknown GPU");
    }
    return text;
  };
  const test::TemporaryFile first("first.log", log_on("n1", 1));
  const test::TemporaryFile second("second.log", log_on("n2", 1.01));
  const test::TemporaryFile third("third.log", log_on("n3", 2));
  const Outcome outcome =
      diagnose({first.path().string(), second.path().string(), third.path().string()});
  EXPECT_NE(outcome.out.find("hosts: n3 is slow"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("0.50  low"), std::string::npos) << outcome.out;
}

// 20 % slower is more than the threshold of 5 %; 2 % is not. Without -t: no machine is asked.
TEST(DiagnoseCommand, compares_two_runs) {
  const test::TemporaryFile before("before.log", log_of(1));
  const test::TemporaryFile slower("slower.log", log_of(1.2));
  const test::TemporaryFile like("like.log", log_of(1.02));
  const std::string first = before.path().string();
  const Outcome outcome = diagnose({"--compare", first, slower.path().string()});
  EXPECT_EQ(outcome.status, exit_answer_is_no);
  EXPECT_TRUE(outcome.out.starts_with("verdict: slower: all_reduce, 1 host, 8 ranks"))
      << outcome.out;
  EXPECT_LE(longest_line(outcome.out), 80U);
  EXPECT_EQ(diagnose({"--compare", first, like.path().string()}).status, exit_ok);
  EXPECT_EQ(diagnose({"--compare", slower.path().string(), first}).status, exit_ok) << "faster";
  EXPECT_EQ(diagnose({"--compare", "--threshold", "30", first, slower.path().string()}).status,
            exit_ok);
  const auto json = nlohmann::json::parse(
      diagnose({"--compare", "--format", "json", first, slower.path().string()}).out);
  EXPECT_EQ(json["verdict"], "slower");
  EXPECT_EQ(json["sizes"].size(), 4U);
  EXPECT_NEAR(json["bands"][0]["busbw_ratio"].get<double>(), 1 / 1.2, 1e-3);
}

TEST(DiagnoseCommand, refuses_to_compare_what_is_not_two_runs) {
  const test::TemporaryFile log("a.log", log_of(1));
  const std::string path = log.path().string();
  EXPECT_EQ(diagnose({"--compare", path}).status, exit_bad_input);
  EXPECT_EQ(diagnose({"--compare", path, path, "--format", "html"}).status, exit_bad_input);
  EXPECT_EQ(diagnose({"--compare", path, path, "--threshold", "-1"}).status, exit_bad_input);
}

TEST(DiagnoseCommand, is_brief_in_a_prolog) {
  const test::TemporaryFile low("low.log", log_of(3));
  const test::TemporaryFile healthy("healthy.log", log_of(1));
  const Outcome outcome = diagnose({"--brief", low.path().string(), healthy.path().string()});
  EXPECT_EQ(outcome.status, exit_answer_is_no);
  EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 2);
  EXPECT_TRUE(outcome.out.starts_with("low: low.log: 0.3")) << outcome.out;
  EXPECT_NE(outcome.out.find("\nhealthy: healthy.log: "), std::string::npos) << outcome.out;
}

}  // namespace
}  // namespace collsim::command
