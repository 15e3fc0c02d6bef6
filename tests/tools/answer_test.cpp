#include "tools/collsim/report/answer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "tests/tools/command_outcome.h"

namespace collsim::command {
namespace {

Answer small_report() {
  Answer report{"A | title", "collsim run", {{"engine", "native"}}, {}};
  AnswerSection section{"One run", {}, {"A note."}, {}};
  Table table{"Times", {{"name", "name"}, {"share", "share", "(%)", 1, 100}}, {}};
  table.rows.push_back({{"name", "a_b"}, {"share", 0.125}});
  table.rows.push_back({{"name", nullptr}, {"share", nullptr}});
  section.tables.push_back(table);
  report.sections.push_back(section);
  return report;
}

std::string written(Format format, const Answer& answer) {
  std::ostringstream out;
  write_answer(format, answer, out);
  return out.str();
}

// 0.125 is 12.5 % with one digit. What would be markup has a backslash before it.
TEST(Answer, a_report_is_a_text_with_markup) {
  EXPECT_EQ(written(Format::markdown, small_report()),
            "# A \\| title\n\n    collsim run\n\n- engine: native\n\n## One run\n\nA note.\n\n"
            "### Times\n\n| name | share (%) |\n| --- | ---: |\n| a\\_b | 12.5 |\n| - | - |\n");
}

// Numbers stand to the right, texts to the left, and columns that only data have are not shown.
TEST(Answer, a_terminal_has_sentences_figures_and_tables) {
  Answer answer;
  Table table;
  for (const double time : {0.5, 12.25}) {
    NewRow add(table);
    add({"name", "name"}, time < 1 ? "short" : "a long one");
    add.data("row", 1);
    add({"time", "time", "(us)", 1, 1, 0, 0, true}, time);
    add({"share", "share", "", 2, 1, wide_only}, time);
  }
  table.max_rows = 1;
  answer.sections.push_back({"", {}, {comment("A note."), labelled("verdict", "low")}, {table}});
  answer.figures({{"step", "in all", 1.25, "ms", 2}});
  EXPECT_EQ(written(Format::table, answer),
            "# A note.\nverdict: low\n# name   time\n#        (us)\n  short  +0.5\n"
            "# 1 more rows: --format json has them\n\n"
            "  step                                1.25 ms in all\n");
  EXPECT_EQ(written(Format::csv, answer),
            "name,row,time,share\nshort,1,0.5,0.5\na long one,1,12.25,12.25\n");
}

TEST(Answer, rows_are_lines_of_csv_and_of_json) {
  Answer answer;
  answer.rows = std::vector<Record>{{{"a", 1}, {"b", "x"}}, {{"a", 2}, {"b", nullptr}}};
  EXPECT_EQ(written(Format::csv, answer), "a,b\n1,x\n2,\n");
  EXPECT_EQ(written(Format::jsonl, answer), "{\"a\":1,\"b\":\"x\"}\n{\"a\":2,\"b\":null}\n");
  EXPECT_EQ(written(Format::json, answer),
            "[\n  {\"a\":1,\"b\":\"x\"},\n  {\"a\":2,\"b\":null}\n]\n");
}

TEST(Answer, columns_are_known_without_a_row) {
  Answer answer;
  answer.no_row = {{"a", 0}, {"b", 0}};
  EXPECT_EQ(written(Format::csv, answer), "a,b\n");
}

TEST(Answer, a_document_stands_in_place_of_rows_in_json) {
  Answer answer;
  answer.document = {{"a", 1}};
  EXPECT_EQ(written(Format::json, answer), "{\n  \"a\": 1\n}\n");
}

// Every command that offers a page offers the same formats, and all of them say the same machine.
TEST(Answer, commands_write_all_their_formats) {
  const std::vector<std::vector<std::string>> questions{
      {"run", "-t", "switch-8", "-b", "1K", "-e", "1K"},
      {"estimate", "-t", "switch-8", "-b", "1K", "-e", "1K"},
      {"faults", "-t", "switch-8", "-b", "1K"},
      {"crossover", "-t", "hgx-h200", "-b", "1M", "-e", "1M", "--map", "-n", "2"}};
  for (const std::vector<std::string>& question : questions) {
    std::size_t rows = 0;
    for (const Format format : formats_with_page()) {
      std::vector<std::string> args = question;
      args.insert(args.end(), {"--format", std::string(to_string(format))});
      const auto outcome = run(args);
      EXPECT_EQ(outcome.status, 0) << args[0] << " " << to_string(format) << outcome.err;
      EXPECT_FALSE(outcome.out.empty()) << args[0] << " " << to_string(format);
      const auto lines =
          static_cast<std::size_t>(std::count(outcome.out.begin(), outcome.out.end(), '\n'));
      if (format == Format::csv) rows = lines - 1;
      if (format == Format::jsonl) {
        EXPECT_EQ(lines, rows) << args[0];
      }
    }
  }
}

TEST(Answer, a_command_names_the_formats_that_it_has) {
  const auto outcome = run({"explain", "-t", "hgx-h200", "-b", "1M", "--format", "csv"});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_NE(outcome.err.find("--format: there is no 'csv'"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("table or json"), std::string::npos) << outcome.err;
  const auto unknown = run({"explain", "-t", "hgx-h200", "-b", "1M", "--format", "yaml"});
  EXPECT_EQ(unknown.status, 2);
  EXPECT_NE(unknown.err.find("--format: there is no 'yaml'"), std::string::npos) << unknown.err;
  EXPECT_NE(unknown.err.find("table or json"), std::string::npos) << unknown.err;
}

}  // namespace
}  // namespace collsim::command
