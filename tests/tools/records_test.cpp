// What programs read: CSV by RFC 4180, JSON, and the same columns whatever is asked.

#include "tools/collsim/report/records.h"

#include <gtest/gtest.h>

#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/temporary_file.h"
#include "tests/tools/command_outcome.h"
#include "tools/collsim/core/subcommand.h"
#include "tools/collsim/request/call_request.h"

namespace collsim::command {
namespace {

using Line = std::vector<std::string>;

/// Reads CSV as RFC 4180 has it: quotes inside quotes are doubled, and commas and line ends there
/// belong to the field.
std::vector<Line> read_csv(const std::string& text) {
  std::vector<Line> lines;
  Line line(1);
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char letter = text[i];
    const bool doubled = quoted && letter == '"' && i + 1 < text.size() && text[i + 1] == '"';
    if (doubled) {
      line.back() += text[++i];
    } else if (letter == '"') {
      quoted = !quoted;
    } else if (!quoted && letter == ',') {
      line.emplace_back();
    } else if (!quoted && letter == '\n') {
      lines.push_back(line);
      line.assign(1, "");
    } else {
      line.back() += letter;
    }
  }
  return lines;
}

/// The first row, by column.
std::map<std::string, std::string> first_row(const std::string& csv) {
  const std::vector<Line> lines = read_csv(csv);
  std::map<std::string, std::string> row;
  EXPECT_GE(lines.size(), 2U) << csv;
  EXPECT_EQ(lines.at(0).size(), lines.at(1).size()) << csv;
  for (std::size_t i = 0; i < lines.at(0).size(); ++i) row[lines[0][i]] = lines[1].at(i);
  return row;
}

std::string header_of(const std::string& csv) {
  return csv.substr(0, csv.find('\n'));
}

TEST(Records, fields_are_quoted_where_csv_needs_it) {
  EXPECT_EQ(csv_field("plain text"), "plain text");
  EXPECT_EQ(csv_field("a, b"), "\"a, b\"");
  EXPECT_EQ(csv_field("say \"a\""), "\"say \"\"a\"\"\"");
  EXPECT_EQ(csv_field("two\nlines"), "\"two\nlines\"");
  EXPECT_EQ(csv_field("=cmd|' /C calc'!A0"), "'=cmd|' /C calc'!A0") << "no formula";
  EXPECT_EQ(csv_field(-1.5), "-1.5") << "a number is none";
  EXPECT_EQ(csv_field(0.1), "0.1");
  EXPECT_EQ(csv_field(nullptr), "");
  EXPECT_EQ(csv_field(true), "true");
}

TEST(Records, csv_of_no_rows_is_its_header) {
  std::ostringstream out;
  RecordWriter writer(Format::csv, out);
  writer.begin({{"id", ""}, {"time_us", 0}});
  writer.finish();
  EXPECT_EQ(out.str(), "id,time_us\n");
}

TEST(Records, json_of_no_rows_is_an_empty_array) {
  std::ostringstream out;
  RecordWriter(Format::json, out).finish();
  EXPECT_EQ(out.str(), "[]\n");
}

TEST(Records, a_comma_in_a_name_shifts_no_column) {
  const test::TemporaryFile calibration("comma.yaml",
                                        "collsim: calibration/1\nname: 'a, \"b\"'\n"
                                        "source: test\ndate: 2026-01-01\nextends: ideal\n");
  const auto row = first_row(output_of({"run", "-t", "switch-8", "-b", "1K", "-e", "1K", "--format",
                                        "csv", "--calibration", calibration.path().string()}));
  EXPECT_EQ(row.at("calibration"), "a, \"b\"");
  EXPECT_EQ(row.at("machine"), "8 one-GPU nodes on a switch");
}

// A textbook schedule, NCCL's, one beside measured times, and with NCCL's estimate.
TEST(Records, rows_of_run_and_estimate_have_the_same_columns_whatever_is_asked) {
  const std::vector<std::vector<std::string>> questions{
      {"-t", "switch-8"},
      {"-t", "hgx-h200"},
      {"-t", "hgx-h200", "-c", "broadcast", "--nccl-estimate"},
      {COLLSIM_SOURCE_DIR "/scenarios/hgx-h200-all-reduce.yaml"}};
  std::string header;
  for (const std::string command : {"run", "estimate"}) {
    for (std::vector<std::string> args : questions) {
      args.insert(args.begin(), command);
      args.insert(args.end(), {"-b", "1K", "-e", "1K", "--format", "csv"});
      const std::string own = header_of(output_of(args));
      if (header.empty()) header = own;
      EXPECT_EQ(own, header) << args[2];
    }
  }
  for (const char* column : {"wirebw_GBps", "nccl_estimate_us", "measured_us", "error"}) {
    EXPECT_NE(header.find(column), std::string::npos) << column;
  }
}

TEST(Records, every_row_says_where_it_comes_from) {
  const auto row = first_row(output_of({"run", "-t", "dgx-h100", "-n", "4", "-c", "broadcast", "-b",
                                        "1M", "-e", "1M", "--nccl-version", "2.28", "--fault",
                                        "{ link: node0/gpu1 - node0/nvswitch0, bandwidth: 50% }",
                                        "--fault", "rank: 3, late: 1 ms", "--format", "csv"}));
  EXPECT_EQ(row.at("machine"), "DGX H100");
  EXPECT_EQ(row.at("collective"), "broadcast");
  EXPECT_EQ(row.at("nranks"), "4");
  EXPECT_EQ(row.at("nccl_version"), "2.28");
  EXPECT_EQ(row.at("collsim_version"), COLLSIM_VERSION);
  EXPECT_EQ(row.at("faults"),
            "link: node0/gpu1 - node0/nvswitch0, bandwidth: 50%; rank: 3, late: 1 ms");
}

TEST(Records, the_head_of_a_table_names_version_and_faults) {
  const std::string table = output_of({"run", "-t", "dgx-h100", "-b", "1M", "-e", "1M",
                                       "--nccl-version", "2.28", "--fault", "rank: 3, late: 1 ms"});
  EXPECT_TRUE(table.starts_with("# collsim " COLLSIM_VERSION ": all_reduce on DGX H100, 8 ranks\n"))
      << table;
  EXPECT_NE(table.find("NCCL 2.28"), std::string::npos);
  EXPECT_NE(table.find("# fault: rank: 3, late: 1 ms\n"), std::string::npos) << table;
}

/// The `trust` of a run's only row, and what stands on standard error.
std::pair<std::string, std::string> trust_in(std::vector<std::string> args) {
  args.insert(args.begin(), "run");
  args.insert(args.end(), {"--format", "csv"});
  const Outcome outcome = run(args);
  EXPECT_EQ(outcome.status, exit_ok) << outcome.err;
  return {first_row(outcome.out).at("trust"), outcome.err};
}

using TrustAndWarning = std::pair<std::string, std::string>;

// From 2 MiB on NCCL runs NVLS on these GPUs, which nobody measured; below, and where a ring is
// forced, it does not.
TEST(Records, a_row_says_how_far_to_trust_it_and_no_other_row) {
  EXPECT_EQ(trust_in({"-t", "hgx-h200", "-b", "0", "-e", "0"}), TrustAndWarning("measured", ""));
  EXPECT_EQ(trust_in({"-t", "hgx-h200", "-b", "64K", "-e", "64K"}),
            TrustAndWarning("measured", ""));
  EXPECT_EQ(trust_in({"-t", "hgx-h200", "-b", "1G", "-e", "1G"}), TrustAndWarning("guessed", ""));
  EXPECT_EQ(trust_in({"-t", "hgx-h200", "-b", "1G", "-e", "1G", "-a", "ring"}),
            TrustAndWarning("measured", ""));
  EXPECT_EQ(trust_in({"-t", "dgx-a100", "-b", "1G", "-e", "1G", "-a", "ring"}).first, "derived");
  EXPECT_EQ(trust_in({"-t", "dgx-h100-x4", "-b", "1M", "-e", "1M", "-a", "ring"}).first, "derived");
  EXPECT_EQ(trust_in({"-t", "switch-8", "-b", "1M", "-e", "1M"}).first, "exact");
}

// The frozen range of eight of ten is 0.96 to 1.90 there; half of a normal distribution of
// logarithms lies within 0.5 ln(1.90 / 0.96) 0.6745 / 1.2816 = 0.1797 of its middle, 19.7 %.
TEST(Records, the_known_error_stands_in_the_row_and_the_range_under_the_table) {
  const std::vector<std::string> args{"run", "-t", "dgx-a100", "-b",  "1M",
                                      "-e",  "1M", "-a",       "ring"};
  std::vector<std::string> csv = args;
  csv.insert(csv.end(), {"--format", "csv"});
  EXPECT_NEAR(std::stod(first_row(output_of(csv)).at("trust_error")), 0.197, 0.0005);
  EXPECT_NE(output_of(args).find("\n# range: 8 of 10 such times were 0.91 to 1.26 of"),
            std::string::npos);
  EXPECT_EQ(output_of({"run", "-t", "switch-8", "-b", "1M", "-e", "1M"}).find("# range"),
            std::string::npos);
}

// Every list of rows says the size, machine and version by the same names.
TEST(Records, rows_of_all_commands_share_their_names) {
  const std::string recording = COLLSIM_SOURCE_DIR "/recordings/h200x4/forced-4-ranks.yaml";
  const std::vector<std::vector<std::string>> commands{
      {"run", "-t", "dgx-h100", "-b", "1M", "-e", "1M"},
      {"estimate", "-t", "dgx-h100", "-b", "1M", "-e", "1M"},
      {"faults", "-t", "dgx-h100", "-b", "1M"},
      {"validate", recording, "--id", "forced/4/Ring/Simple/ch4", "--largest", "8K"}};
  for (std::vector<std::string> args : commands) {
    args.insert(args.end(), {"--format", "csv"});
    const auto row = first_row(output_of(args));
    EXPECT_TRUE(row.contains("size_bytes")) << args[0];
    EXPECT_FALSE(row.contains("size")) << args[0];
    EXPECT_FALSE(row.at("machine").empty()) << args[0];
    EXPECT_FALSE(row.at("nccl_version").empty()) << args[0];
    EXPECT_EQ(row.at("collsim_version"), COLLSIM_VERSION) << args[0];
  }
}

TEST(Records, keys_of_choose_carry_their_units) {
  const auto document =
      nlohmann::json::parse(output_of({"choose", "hgx-h200", "--format", "json"}));
  EXPECT_GT(document.at("total_bandwidth_GBps"), 100);
  EXPECT_GT(document.at("graphs").at("ring").at("intra_bandwidth_GBps"), 10);
  EXPECT_GT(document.at("tuning").at(0).at("latency_us"), 1);
  EXPECT_GT(document.at("selection").at(0).at("nccl_estimate_us"), 1);
  EXPECT_EQ(document.at("selection").at(0).at("from_size_bytes"), 8);
}

}  // namespace
}  // namespace collsim::command
