// collsim validate: formats, requirements, exit codes.

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "sim/base/input_error.h"
#include "tests/support/temporary_file.h"
#include "tests/tools/command_outcome.h"
#include "tools/collsim/core/subcommand.h"
#include "tools/collsim/validate/requirement_option.h"
#include "tools/collsim/validate/validation_report.h"

namespace collsim::command {
namespace {

const std::string recordings = std::string(COLLSIM_SOURCE_DIR) + "/recordings/";

Outcome validate(std::vector<std::string> args) {
  args.insert(args.begin(), "validate");
  return run(args);
}

const std::vector<std::string> small{recordings + "h200x4/forced-4-ranks.yaml", "--id",
                                     "forced/4/Ring/Simple/ch4"};

std::vector<std::string> small_and(const std::vector<std::string>& more) {
  std::vector<std::string> args = small;
  args.insert(args.end(), more.begin(), more.end());
  return args;
}

// 14 sizes of one run, and a header.
TEST(ValidateCommand, csv_is_a_line_per_row) {
  const Outcome outcome = validate(small_and({"--format", "csv"}));
  EXPECT_EQ(outcome.status, exit_ok) << outcome.err;
  EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 15);
  EXPECT_TRUE(outcome.out.starts_with(
      "id,nranks,collective,algorithm,protocol,channels,size_bytes,measured_us,predicted_us,"
      "nccl_estimate_us,error,nodes,predicted_algorithm,predicted_protocol,predicted_channels,"
      "in_place,mode,recording,machine,nccl_version,engine,trust,medium,"
      "collsim_version\n"
      "forced/4/Ring/Simple/ch4,4,all_reduce,ring,Simple,"));
}

TEST(ValidateCommand, json_has_rows_and_scores) {
  const Outcome outcome = validate(small_and({"--format", "json"}));
  ASSERT_EQ(outcome.status, exit_ok) << outcome.err;
  const auto root = nlohmann::json::parse(outcome.out);
  ASSERT_EQ(root["rows"].size(), 14U);
  const auto& row = root["rows"][0];
  EXPECT_NEAR(row["error"].get<double>(),
              row["predicted_us"].get<double>() / row["measured_us"].get<double>() - 1, 1e-3);
  ASSERT_EQ(root["scores"].size(), 1U);
  EXPECT_EQ(root["scores"][0]["channels"], 4);
  EXPECT_EQ(root["scores"][0]["all"]["rows"], 14);
}

TEST(ValidateCommand, formulas_are_another_engine) {
  const Outcome outcome = validate(small_and({"--format", "json", "--engine", "analytic"}));
  ASSERT_EQ(outcome.status, exit_ok) << outcome.err;
  const auto root = nlohmann::json::parse(outcome.out);
  ASSERT_EQ(root["rows"].size(), 14U);
  for (const auto& row : root["rows"]) EXPECT_EQ(row["engine"], "analytic");
}

TEST(ValidateCommand, requirements_decide_the_exit_code) {
  EXPECT_EQ(validate(small_and({"--require", "worst=1000,median=1000"})).status, exit_ok);
  const Outcome failed = validate(small_and({"--require", "worst=0.001"}));
  EXPECT_EQ(failed.status, exit_answer_is_no);
  EXPECT_NE(failed.err.find("worst is "), std::string::npos);
  EXPECT_FALSE(failed.out.empty());
  const Outcome no_rows = validate(small_and({"-c", "broadcast", "--require", "worst=50"}));
  EXPECT_EQ(no_rows.status, exit_answer_is_no);
}

TEST(ValidateCommand, several_recordings_are_scored_together) {
  const Outcome outcome = validate({recordings + "h200x4/forced-4-ranks.yaml",
                                    recordings + "h200x4/forced-2-ranks.yaml", "--id", "forced/",
                                    "--format", "csv", "-c", "broadcast"});
  EXPECT_EQ(outcome.status, exit_answer_is_no) << outcome.err;  // no such rows
  EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 1);
}

TEST(ValidateCommand, a_machine_that_is_not_known_must_be_given) {
  const test::TemporaryFile log(
      "all_reduce_perf.log",
      "#  Rank  0 Pid 1 on a device 0 [0x1] Tesla K80\n"
      "#  Rank  1 Pid 1 on a device 1 [0x2] Tesla K80\n"
      "#  size  count  type  redop  time  algbw  busbw  error  time  algbw  busbw  error\n"
      "   1024  256  float  sum  20.0  0.05  0.05  0e+00  20.0  0.05  0.05  0e+00\n");
  const Outcome unknown = validate({log.path().string()});
  EXPECT_EQ(unknown.status, exit_bad_input);
  EXPECT_NE(unknown.err.find("-t MACHINE"), std::string::npos);
  const test::TemporaryFile machine(
      "k80.yaml",
      "collsim: topology/1\nname: two K80\ncalibration: pcie\nnodes:\n  devices:\n"
      "    - { id: \"gpu[0..1]\", kind: gpu, model: sm_60 }\n"
      "    - { id: pcie0, kind: pcie_switch }\n    - { id: cpu0, kind: cpu }\n  links:\n"
      "    - { from: \"gpu[0..1]\", to: pcie0, kind: pcie, bandwidth: 15.75 GB/s }\n"
      "    - { from: pcie0, to: cpu0, kind: pcie, bandwidth: 15.75 GB/s }\n");
  const Outcome given = validate(
      {log.path().string(), "-t", machine.path().string(), "--place", "in", "--format", "csv"});
  EXPECT_EQ(given.status, exit_ok) << given.err;
  EXPECT_EQ(std::count(given.out.begin(), given.out.end(), '\n'), 2);
}

TEST(ValidateCommand, bad_input_is_told) {
  for (const std::vector<std::string>& args :
       std::vector<std::vector<std::string>>{{},
                                             {"no-such-recording.yaml"},
                                             small_and({"--require", "modus=3"}),
                                             small_and({"--require", "median"}),
                                             small_and({"--place", "beside"}),
                                             small_and({"--mode", "fast"}),
                                             small_and({"--format", "golden"}),
                                             small_and({"--engine", "guess"}),
                                             small_and({"--threads", "-1"}),
                                             small_and({"-c", "shuffle"})}) {
    const Outcome outcome = validate(args);
    EXPECT_EQ(outcome.status, exit_bad_input);
    EXPECT_TRUE(outcome.out.empty());
    EXPECT_FALSE(outcome.err.empty());
  }
}

TEST(RequiredFigure, choice_is_a_least_and_bias_has_no_sign) {
  ValidatedRow row;
  row.recorded.collective = Collective::all_reduce;
  row.recorded.time = microseconds(100);
  row.predicted = microseconds(80);  // bias -20 %
  EXPECT_TRUE(failures(parse_required_figures("bias=21,choice=100"), {row}).empty());
  EXPECT_EQ(failures(parse_required_figures("bias=19"), {row}).size(), 1U);
}

TEST(ValidationReport, sizes_and_crossovers_are_said_shortly) {
  EXPECT_EQ(rounded_size(512), "512 B");
  EXPECT_EQ(rounded_size(1536), "1.5 KiB");
  EXPECT_EQ(rounded_size(3.5 * 1024 * 1024), "3.5 MiB");
  EXPECT_EQ(to_string(Crossover{true, false, 2048}, "ring", "tree"), "ring < 2 KiB < tree");
  EXPECT_EQ(to_string(Crossover{false, false, std::nullopt}, "ring", "tree"), "tree always");
  EXPECT_EQ(to_string(Crossover{true, true, 2048}, "ring", "tree"),
            "ring at both ends, and from 2 KiB on");
}

// 14 rows of one family, and the score as JSON has it.
TEST(ValidateCommand, html_has_a_chart_for_each_family_and_the_scores) {
  const Outcome outcome = validate(small_and({"--format", "html"}));
  ASSERT_EQ(outcome.status, exit_ok) << outcome.err;
  const std::string begin = "<script id=\"page-charts\" type=\"application/json\">";
  const std::size_t data = outcome.out.find(begin) + begin.size();
  const auto charts =
      nlohmann::json::parse(outcome.out.substr(data, outcome.out.find("</script>", data) - data));
  ASSERT_EQ(charts.size(), 1U);
  EXPECT_EQ(charts[0]["title"], "all_reduce 4 ring/simple ch4");
  for (const auto& series : charts[0]["series"]) EXPECT_EQ(series["points"].size(), 14U);
  const auto root = nlohmann::json::parse(validate(small_and({"--format", "json"})).out);
  const std::string median = root["total"]["all"]["median"].dump();
  EXPECT_NE(outcome.out.find("<data value=\"" + median + "\">"), std::string::npos);
}

TEST(ValidateCommand, a_published_run_names_its_machine_or_why_none) {
  const std::string published = recordings + "published/";
  const Outcome fits =
      validate({published + "h100x2-gpu01-ring-nvlink-allreduce.yaml", "--largest", "256M"});
  EXPECT_EQ(fits.status, exit_ok);
  EXPECT_NE(fits.out.find("allreduce.yaml on DGX H100"), std::string::npos) << fits.out;
  const Outcome none = validate({published + "h100x2x2-cnh-allreduce.yaml"});
  EXPECT_EQ(none.status, exit_answer_is_no);
  EXPECT_NE(none.out.find("64  h100x2x2-cnh-allreduce"), std::string::npos) << none.out;
}

const std::string eight_h100 = [] {
  std::string text = "# Using devices\n";
  for (int rank = 0; rank < 8; ++rank) {
    text += "#  Rank  " + std::to_string(rank) +
            " Group  0 Pid 1 on node7 device  0 [0x1] NVIDIA H100 80GB HBM3\n";
  }
  return text + "#  size  count  type  redop  root  time  algbw  busbw  #wrong\n";
}();
const std::string row_of_400_us =
    "  67108864  16777216  float  sum  -1  400.0  167.77  293.60  0\n";

// Two hosts of one GPU at 5 Gb/s, all_reduce of 16 MiB: at 20 times the rate it takes far less.
TEST(ValidateCommand, the_users_machine_wins) {
  const auto predicted = [](const std::vector<std::string>& machine) {
    std::vector<std::string> args{recordings + "h200x4/tcp.yaml",
                                  "--id",
                                  "tcp/2x1-5g",
                                  "-c",
                                  "all_reduce",
                                  "--format",
                                  "json"};
    args.insert(args.end(), machine.begin(), machine.end());
    const Outcome outcome = validate(args);
    EXPECT_EQ(outcome.status, exit_ok) << outcome.err;
    return nlohmann::json::parse(outcome.out)["rows"].back()["predicted_us"].get<double>();
  };
  const double own = predicted({});
  EXPECT_NEAR(predicted({"-t", "one-gpu-ethernet-5g"}) / own, 1, 0.1);
  EXPECT_LT(predicted({"-t", "one-gpu-ethernet-100g"}), own / 3);
}

TEST(ValidateCommand, the_logged_gpus_choose_the_machine_and_it_is_said) {
  const test::TemporaryFile log("node7_all_reduce_perf.log", eight_h100 + row_of_400_us);
  const Outcome outcome = validate({log.path().string()});
  EXPECT_EQ(outcome.status, exit_ok) << outcome.err;
  EXPECT_NE(outcome.out.find("on DGX H100"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.err.find("assuming dgx-h100 (-t names another)"), std::string::npos)
      << outcome.err;
}

/// The log with other words in place of "H100 80GB HBM3".
std::string log_of_gpus(const std::string& name) {
  constexpr std::string_view named = "H100 80GB HBM3";
  std::string text = eight_h100;
  for (auto at = text.find(named); at != std::string::npos; at = text.find(named)) {
    text.replace(at, named.size(), name);
  }
  return text + row_of_400_us;
}

// Of eight A100 cards no machine is shipped: one is put together, as `diagnose` does, and said. Of
// a GPU that nobody knows nothing can be.
TEST(ValidateCommand, a_machine_that_is_not_shipped_is_put_together) {
  std::string log = log_of_gpus("A100-PCIE-40GB");
  log += "  67108864  16777216  float  sum  -1  9000.0  7.46  13.05  0\n";
  const test::TemporaryFile cards("all_reduce_perf.log", log);
  const Outcome composed = validate({cards.path().string()});
  EXPECT_EQ(composed.status, exit_ok) << composed.err;
  EXPECT_NE(composed.err.find("assuming"), std::string::npos) << composed.err;
  EXPECT_EQ(composed.err.find("assuming dgx-a100"), std::string::npos) << composed.err;
  const test::TemporaryFile unknown("all_reduce_perf.log", log_of_gpus("Z9"));
  const Outcome refused = validate({unknown.path().string()});
  EXPECT_EQ(refused.status, exit_bad_input);
  EXPECT_NE(refused.err.find("-t MACHINE"), std::string::npos) << refused.err;
}

TEST(ValidateCommand, standard_input_is_a_recording) {
  std::istringstream log(eight_h100 + row_of_400_us);
  std::streambuf* const before = std::cin.rdbuf(log.rdbuf());
  const Outcome outcome = validate({"-", "-t", "dgx-h100", "--format", "json"});
  std::cin.rdbuf(before);
  ASSERT_EQ(outcome.status, exit_ok) << outcome.err;
  const auto rows = nlohmann::json::parse(outcome.out)["rows"];
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0]["recording"], "standard input");
}

// The same call, measured twice: two rows and two lines, not a mean.
TEST(ValidateCommand, several_logs_stay_apart_and_say_their_files) {
  const test::TemporaryFile first("monday.log", eight_h100 + row_of_400_us);
  const test::TemporaryFile second(
      "tuesday.log",
      eight_h100 + "  67108864  16777216  float  sum  -1  800.0  83.89  146.80  0\n");
  const std::vector<std::string> logs{first.path().string(), second.path().string(), "-t",
                                      "dgx-h100"};
  std::vector<std::string> args = logs;
  args.insert(args.end(), {"--format", "json"});
  const auto rows = nlohmann::json::parse(validate(args).out)["rows"];
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0]["recording"], "monday.log");
  EXPECT_EQ(rows[0]["measured_us"], 400.0);
  EXPECT_EQ(rows[1]["recording"], "tuesday.log");
  EXPECT_EQ(rows[1]["measured_us"], 800.0);
  const std::string table = validate(logs).out;
  EXPECT_NE(table.find("(monday.log)"), std::string::npos) << table;
  EXPECT_NE(table.find("(tuesday.log)"), std::string::npos) << table;
}

}  // namespace
}  // namespace collsim::command
