// What people read: tables of 80 columns, and all columns on request.

#include "tools/collsim/report/table.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "tests/tools/command_outcome.h"
#include "tools/collsim/core/subcommand.h"
#include "tools/collsim/core/wrap.h"

namespace collsim::command {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// The lines that begin with a space and a digit somewhere after it: rows.
std::vector<std::string> rows_of(const std::string& table) {
  std::vector<std::string> rows;
  for (const std::string& line : lines_of(table)) {
    if (line.starts_with(' ')) rows.push_back(line);
  }
  return rows;
}

TEST(Table, default_output_fits_80_columns) {
  const std::string scenario = COLLSIM_SOURCE_DIR "/scenarios/hgx-h200-all-reduce.yaml";
  const std::vector<std::vector<std::string>> commands{
      {"run", "-t", "hgx-h200", "-b", "8", "-e", "1G", "-f", "64"},
      {"run", "-t", "dgx-h100-x4", "-b", "1M", "-e", "1M", "--nccl-estimate"},
      {"run", "-t", "dgx-h100-x4", "-b", "1M", "-e", "1M", "-a", "hierarchical:double_binary_tree"},
      {"run", "-t", "dgx-h100-x4", "-b", "64K", "-e", "64K", "--env", "NCCL_NVLS_ENABLE=0", "--env",
       "NCCL_IB_HCA=^mlx5_1"},
      {"run", "-t", "one-gpu-ethernet-5g", "-b", "1G", "-e", "1G"},
      {"run", scenario, "-f", "64"},
      {"estimate", scenario, "-f", "64"},
      {"estimate", "-t", "switch-64", "-a", "hierarchical:recursive_halving_doubling"},
      {"explain", "-t", "hgx-h200", "-b", "4M"},
      {"explain", "-t", "dgx-h100-x4", "-c", "all_to_all", "-b", "64M"},
      {"faults", "-t", "dgx-h100-x4", "-b", "256K", "-a", "ring"},
      {"list"},
      {"topo", "list"}};
  for (const auto& args : commands) {
    for (const std::string& line : lines_of(output_of(args))) {
      EXPECT_LE(line.size(), 80U) << args[0] << ": " << line;
    }
  }
}

// So that `awk '{print $3}'` is busbw, whatever else is shown: names of any width, another
// schedule, formulas, all columns, measured times.
TEST(Table, begins_with_size_time_and_busbw) {
  const std::string scenario = COLLSIM_SOURCE_DIR "/scenarios/hgx-h200-all-reduce.yaml";
  const std::vector<std::vector<std::string>> commands{
      {"run", "-t", "hgx-h200", "-b", "1M", "-e", "1M"},
      {"run", "-t", "hgx-h200", "-b", "1M", "-e", "1M", "--wide"},
      {"run", "-t", "hgx-h200", "-b", "1M", "-e", "1M", "--nccl-estimate"},
      {"run", "-t", "dgx-h100-x4", "-b", "1M", "-e", "1M", "-a", "hierarchical"},
      {"run", "-t", "dgx-h100-x4", "-b", "1M", "-e", "1M", "-a", "hierarchical:double_binary_tree"},
      {"run", scenario, "-b", "1M", "-e", "1M"},
      {"run", scenario, "-b", "1M", "-e", "1M", "--wide"},
      {"estimate", scenario, "-b", "1M", "-e", "1M", "--wide"},
      {"estimate", "-t", "switch-64", "-a", "hierarchical:recursive_halving_doubling", "-b", "1M",
       "-e", "1M"}};
  for (const auto& args : commands) {
    const std::string table = output_of(args);
    const auto lines = lines_of(table);
    const auto titles = std::find_if(lines.begin(), lines.end(), [](const std::string& line) {
      return line.find(" size ") != std::string::npos && line.find(" time ") != std::string::npos;
    });
    ASSERT_NE(titles, lines.end()) << table;
    std::istringstream words(titles->substr(1));
    std::string size;
    std::string time;
    std::string busbw;
    words >> size >> time >> busbw;
    EXPECT_EQ(fmt::format("{} {} {}", size, time, busbw), "size time busbw") << table;
    // The columns end at the same character in every table.
    EXPECT_EQ(titles->find("busbw"), 23U) << table;
  }
}

TEST(Table, wide_has_all_columns) {
  const std::string scenario = COLLSIM_SOURCE_DIR "/scenarios/hgx-h200-all-reduce.yaml";
  const std::string wide = output_of({"run", scenario, "-b", "1M", "-e", "1M", "--wide"});
  for (const char* title :
       {"count", "type", "redop", "root", "algbw", "wirebw", "bound", "sched", "proto", "nccl's",
        "measured", "error", "extent", "classes", "messages", "floor:"}) {
    EXPECT_NE(wide.find(std::string(" ") + title), std::string::npos) << title << "\n" << wide;
  }
  const std::string estimate =
      output_of({"estimate", "-t", "switch-8", "-b", "1M", "-e", "1M", "--wide"});
  EXPECT_NE(estimate.find(" method"), std::string::npos) << estimate;
}

// Ring and tree are NCCL's here; a double binary tree by that name only a textbook has.
TEST(Table, every_row_says_whose_schedule_it_is) {
  const std::vector<std::string> rows = rows_of(output_of(
      {"run", "-t", "hgx-h200", "-a", "ring,double_binary_tree,tree", "-b", "1M", "-e", "1M"}));
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_NE(rows[0].find(" nccl "), std::string::npos) << rows[0];
  EXPECT_NE(rows[1].find(" text "), std::string::npos) << rows[1];
  EXPECT_NE(rows[2].find(" nccl "), std::string::npos) << rows[2];
}

TEST(Table, explain_offers_only_what_it_can_do) {
  const std::string help = output_of({"explain", "--help"});
  for (const char* option : {"--maxbytes", "--stepfactor", "--wide", "--nccl-estimate", "csv"}) {
    EXPECT_EQ(help.find(option), std::string::npos) << option;
  }
  EXPECT_NE(help.find("--minbytes"), std::string::npos);
}

// Of 10 and 100 characters only the first fits; a column of rank wide_only never does.
TEST(Table, the_least_important_columns_go_first) {
  const std::vector<Column> columns{
      fixed_column("a", "a", "", 100, 0, 2), fixed_column("b", "b", "", 10, 0, 1),
      fixed_column("c", "c", "", 3, 0, wide_only), fixed_column("d", "d", "", 68, 0, 3)};
  const std::vector<Column> kept = fitting(columns);
  ASSERT_EQ(kept.size(), 2U);
  EXPECT_EQ(kept[0].key, "b");
  EXPECT_EQ(kept[1].key, "d");
}

TEST(Table, numbers_give_up_digits_before_they_widen_a_column) {
  const std::vector<Column> columns{fixed_column("t", "time", "(us)", 7, 2, 1)};
  EXPECT_EQ(line_of(columns, {{"t", 1234.567}}), " 1234.57");
  EXPECT_EQ(line_of(columns, {{"t", 123456.7}}), "  123457");
  EXPECT_EQ(line_of(columns, {{"t", nullptr}}), "       -");
}

TEST(Table, text_is_wrapped_between_words) {
  EXPECT_EQ(wrapped("one two", "- ", "  "), "- one two\n");
  const std::string word(50, 'x');
  EXPECT_EQ(wrapped(word + " " + word, "- ", "  "), "- " + word + "\n  " + word + "\n");
}

}  // namespace
}  // namespace collsim::command
