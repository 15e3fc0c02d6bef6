// Pages: nothing in them ends what holds it, and their numbers are those of csv and json.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/temporary_file.h"
#include "tests/tools/command_outcome.h"
#include "tools/collsim/report/answer.h"
#include "tools/collsim/report/page.h"

namespace collsim::command {
namespace {

using nlohmann::json;
using NewRow = std::map<std::string, std::string>;

const std::string recordings = std::string(COLLSIM_SOURCE_DIR) + "/recordings/published/";

std::string written(const Answer& page) {
  std::ostringstream out;
  write_page(page, out);
  return out.str();
}

std::string between(const std::string& text, const std::string& begin, const std::string& end,
                    std::size_t from = 0) {
  const std::size_t at = text.find(begin, from) + begin.size();
  return text.substr(at, text.find(end, at) - at);
}

/// The texts between all pairs of marks.
std::vector<std::string> all_between(const std::string& text, const std::string& begin,
                                     const std::string& end) {
  std::vector<std::string> parts;
  for (std::size_t at = text.find(begin); at != std::string::npos; at = text.find(begin, at + 1)) {
    parts.push_back(between(text, begin, end, at));
  }
  return parts;
}

json charts_in(const std::string& page) {
  return json::parse(
      between(page, "<script id=\"page-charts\" type=\"application/json\">", "</script>"));
}

/// The rows of a table by keys: exact numbers, or texts.
std::vector<NewRow> table_in(const std::string& page, std::size_t number) {
  const std::string table = all_between(page, "<table>", "</table>").at(number);
  const std::vector<std::string> keys = all_between(table, "data-key=\"", "\"");
  std::vector<NewRow> rows;
  for (const std::string& line :
       all_between(between(table, "<tbody>", "</tbody>"), "<tr>", "</tr>")) {
    const std::vector<std::string> cells = all_between(line, "<td", "</td>");
    NewRow row;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const bool is_number = cells[i].find("<data value=") != std::string::npos;
      row[keys.at(i)] = is_number ? between(cells[i], "<data value=\"", "\"")
                                  : cells[i].substr(cells[i].find('>') + 1);
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

/// Each number of a table is that of the answer's, to the last digit.
void expect_numbers(const std::vector<NewRow>& rows, const json& answers) {
  ASSERT_EQ(rows.size(), answers.size());
  std::size_t numbers = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (const auto& [key, text] : rows[i]) {
      if (!answers[i].contains(key) || !answers[i][key].is_number()) continue;
      EXPECT_EQ(json::parse(text), answers[i][key]) << "row " << i << ", " << key;
      ++numbers;
    }
  }
  EXPECT_GE(numbers, 2 * rows.size());
}

std::string page_of(std::vector<std::string> args) {
  args.insert(args.end(), {"--format", "html"});
  return output_of(args);
}

json json_of(std::vector<std::string> args) {
  args.insert(args.end(), {"--format", "json"});
  return json::parse(output_of(args));
}

const std::vector<std::string> small_run{"run",  "-t", "hgx-h200", "-a", "ring,tree", "-b",
                                         "1024", "-e", "16384",    "-f", "4"};

const std::string hostile = "</script><script>alert(1)</script><!--\"'&";

Answer hostile_page() {
  Answer page{hostile, "collsim run " + hostile, {{"fault", hostile}}, {}};
  Chart chart{hostile, hostile, {hostile, AxisScale::words}, {hostile, AxisScale::linear}};
  chart.series.push_back({hostile, SeriesMark::dots, 0, false, {{hostile, 1, hostile, hostile}}});
  Table table{hostile, {{"key", hostile}}, {{{"key", hostile}}}};
  page.sections.push_back({hostile, {chart}, {hostile}, {table}});
  return page;
}

// Beside the page's own: the description of charts, the library, our script.
TEST(Report, no_text_ends_or_opens_an_element) {
  const std::string page = written(hostile_page());
  EXPECT_EQ(all_between(page, "<script", ">").size(), 3U);
  EXPECT_EQ(all_between(page, "</script", ">").size(), 3U);
  EXPECT_EQ(page.find("<script>alert"), std::string::npos);
  EXPECT_EQ(page.find("<!--\""), std::string::npos);
  const json chart = charts_in(page)[0];
  EXPECT_EQ(chart["title"], hostile);
  EXPECT_EQ(chart["series"][0]["points"][0]["label"], hostile);
  EXPECT_EQ(between(page, "<h1>", "</h1>"),
            "&lt;/script&gt;&lt;script&gt;alert(1)&lt;/script&gt;&lt;!--&quot;&#39;&amp;");
}

TEST(Report, bytes_that_are_no_text_are_replaced) {
  Answer page{
      "a\xff"
      "b",
      "collsim run",
      {},
      {}};
  Chart chart{"c\xfe", {}, {}, {}};
  page.sections.push_back({"", {chart}, {}, {}});
  const std::string text = written(page);
  EXPECT_NE(text.find("<h1>a\xef\xbf\xbd"
                      "b</h1>"),
            std::string::npos);
  EXPECT_EQ(charts_in(text)[0]["title"], "c\xef\xbf\xbd");
}

TEST(Report, needs_nothing_but_itself) {
  const std::string page = page_of(small_run);
  EXPECT_TRUE(page.starts_with("<!DOCTYPE html>"));
  EXPECT_NE(page.find("content=\"default-src 'none';"), std::string::npos);
  EXPECT_NE(page.find("var charts="), std::string::npos);
  for (const char* const loading :
       {"<script src", "<link", "@import", "url(http", "<img", "<iframe"}) {
    EXPECT_EQ(page.find(loading), std::string::npos) << loading;
  }
  constexpr std::size_t largest = 420'000;  // the library is 385 kB of it
  EXPECT_LT(written({"title", "command", {}, {}}).size(), largest);
}

TEST(Report, an_unknown_number_is_a_dash) {
  Answer page{"title", "command", {}, {}};
  Table table{"", {{"a", "a"}, {"b", "b"}}, {{{"a", nullptr}, {"b", HUGE_VAL}}}};
  page.sections.push_back({"", {}, {}, {table}});
  EXPECT_NE(written(page).find("<tr><td>-</td><td>-</td></tr>"), std::string::npos);
}

// 0.12345 is 12.3 in percent; the page keeps all of it.
TEST(Report, tables_round_what_they_show_and_keep_the_number) {
  Answer page{"title", "command", {}, {}};
  Table table{"", {{"share", "share", "(%)", 1, 100}}, {{{"share", 0.12345}}}};
  page.sections.push_back({"", {}, {}, {table}});
  EXPECT_NE(written(page).find("<data value=\"0.12345\">12.3</data>"), std::string::npos);
}

TEST(CommandText, is_what_a_shell_reads) {
  const std::vector<std::string> args{"hgx-h200", "--fault", "link: node0/nic0, bandwidth: 10%",
                                      "it's", ""};
  EXPECT_EQ(command_text("run", args),
            "collsim run hgx-h200 --fault 'link: node0/nic0, bandwidth: 10%' 'it'\\''s' ''");
}

// Three sizes of two runs: 1 KiB, 4 KiB, 16 KiB by ring, then by tree.
TEST(RunPage, has_the_numbers_of_json) {
  const std::string page = page_of(small_run);
  const json answers = json_of(small_run);
  ASSERT_EQ(answers.size(), 6U);
  expect_numbers(table_in(page, 0), json(answers.begin(), answers.begin() + 3));
  expect_numbers(table_in(page, 1), json(answers.begin() + 3, answers.end()));
  const json charts = charts_in(page);
  ASSERT_EQ(charts.size(), 2U);
  for (const auto& [chart, key] : {std::pair{0U, "time_us"}, std::pair{1U, "busbw_GBps"}}) {
    for (const json& series : charts[chart]["series"]) {
      if (series["mark"] != "line") continue;
      const std::size_t first = series["name"] == "ring" ? 0 : 3;
      ASSERT_EQ(series["points"].size(), 3U);
      for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(series["points"][i]["x"], answers[first + i]["size_bytes"]);
        EXPECT_NEAR(series["points"][i]["y"], answers[first + i][key], 1e-9);
      }
    }
  }
}

TEST(RunPage, says_how_it_was_made) {
  const std::string page = page_of(small_run);
  EXPECT_NE(page.find("collsim run -t hgx-h200 -a ring,tree -b 1024 -e 16384 -f 4 --format html"),
            std::string::npos);
  EXPECT_NE(page.find("<dt>NCCL</dt><dd>2.30</dd>"), std::string::npos);
  EXPECT_NE(page.find("<dt>calibration</dt><dd>hgx-h200</dd>"), std::string::npos);
  EXPECT_NE(page.find("<dt>range</dt><dd>8 of 10 such times were"), std::string::npos);
  EXPECT_NE(page.find("<dd>collsim " COLLSIM_VERSION "</dd>"), std::string::npos);
}

TEST(RunPage, shows_measured_times_and_the_bound) {
  const json charts = charts_in(page_of({"run", "hgx-h200-all-reduce", "-b", "1M", "-e", "4M"}));
  std::vector<std::string> names;
  for (const json& series : charts[0]["series"]) names.push_back(series["name"]);
  EXPECT_EQ(names, (std::vector<std::string>{"bound", "", "ring", "ring, measured", "", "tree",
                                             "tree, measured"}));
}

TEST(RunPage, a_barrier_has_bars) {
  const json charts = charts_in(page_of({"run", "-t", "hgx-h200", "-c", "barrier"}));
  ASSERT_EQ(charts.size(), 1U);
  EXPECT_EQ(charts[0]["series"][0]["mark"], "bars");
}

TEST(Pages, are_refused_where_there_are_none) {
  for (const char* const subcommand : {"explain", "advise"}) {
    const Outcome outcome = run({subcommand, "hgx-h200", "-b", "1M", "--format", "html"});
    EXPECT_EQ(outcome.status, exit_bad_input) << subcommand;
    EXPECT_NE(outcome.err.find("there is no 'html'"), std::string::npos) << outcome.err;
  }
}

TEST(FaultsPage, has_the_numbers_of_json_and_at_most_thirty_bars) {
  const std::vector<std::string> args{"faults", "dgx-h100-x4", "-b", "1M", "-a", "tree"};
  const std::string page = page_of(args);
  const json links = json_of(args)[0]["links"];
  expect_numbers(table_in(page, 0), links);
  const json points = charts_in(page)[0]["series"][0]["points"];
  ASSERT_EQ(points.size(), std::min<std::size_t>(30, links.size()));
  for (std::size_t i = 0; i < points.size(); ++i) {
    EXPECT_EQ(points[i]["x"], links[i]["slowdown"]);
  }
}

TEST(PlanPage, has_the_numbers_of_json_and_rings_around_the_front) {
  const std::vector<std::string> args{"plan", "dgx-h100,dgx-a100", "--nodes", "1..4", "--bytes",
                                      "1GB",  "--estimate"};
  const std::string page = page_of(args);
  const json rows = json_of(args)["rows"];
  expect_numbers(table_in(page, 0), rows);
  std::size_t on_front = 0;
  for (const json& row : rows) on_front += row["on_front"].get<bool>() ? 1U : 0U;
  const json series = charts_in(page)[1]["series"];
  EXPECT_EQ(series.back()["mark"], "rings");
  EXPECT_EQ(series.back()["points"].size(), on_front);
}

TEST(DiagnosisPage, has_the_numbers_of_json_and_the_causes) {
  const std::string log = recordings + "h100x2-gpu01-ring-nop2p-allreduce.yaml";
  const Outcome page = run({"diagnose", log, "--format", "html"});
  EXPECT_EQ(page.status, exit_answer_is_no);
  const json root = json::parse(run({"diagnose", log, "--format", "json"}).out);
  const json sizes = root["logs"][0]["sizes"];
  expect_numbers(table_in(page.out, 1), sizes);
  const std::vector<NewRow> causes = table_in(page.out, 0);
  EXPECT_EQ(causes.front().at("text"), root["logs"][0]["causes"][0]["causes"][0]["text"]);
  // The band, what is expected, and then the measured sizes by verdict.
  const json series = charts_in(page.out)[0]["series"];
  std::size_t measured = 0;
  for (std::size_t i = 2; i < series.size(); ++i) {
    for (const json& point : series[i]["points"]) {
      const auto size = std::find_if(sizes.begin(), sizes.end(), [&](const json& each) {
        return each["size_bytes"] == point["x"];
      });
      ASSERT_NE(size, sizes.end());
      EXPECT_EQ(point["y"], (*size)["measured_busbw_GBps"]);
      EXPECT_EQ(series[i]["name"], "measured, " + (*size)["verdict"].get<std::string>());
      ++measured;
    }
  }
  EXPECT_EQ(measured, sizes.size());
}

class SweepPages : public testing::Test {
 protected:
  std::string page(std::vector<std::string> more = {}) const {
    std::vector<std::string> args{"sweep", scenario_.path().string()};
    args.insert(args.end(), more.begin(), more.end());
    return page_of(args);
  }
  test::TemporaryFile scenario_{"sweep.yaml",
                                "collsim: scenario/1\n"
                                "name: a sweep\n"
                                "topology: switch-8\n"
                                "runs:\n"
                                "  - { algorithm: ring }\n"
                                "  - { algorithm: recursive_halving_doubling }\n"
                                "sweep:\n"
                                "  - ranks: [2, 8, 16]\n"
                                "  - size: [1 KiB, 1 MiB]\n"};
};

// 2 runs of 2 and 8 ranks: four lines of two sizes. 16 ranks have no place on the machine.
TEST_F(SweepPages, have_a_line_for_each_combination) {
  const std::string page_text = page();
  const json series = charts_in(page_text)[0]["series"];
  ASSERT_EQ(series.size(), 4U);
  EXPECT_EQ(series[0]["name"], "ring, ranks 2");
  EXPECT_EQ(series[0]["points"].size(), 2U);
  EXPECT_EQ(table_in(page_text, 0).size(), 12U);
  EXPECT_NE(page_text.find("data-key=\"problem\""), std::string::npos);
}

TEST_F(SweepPages, have_the_numbers_of_json_lines) {
  json answers = json::array();
  std::istringstream lines(run({"sweep", scenario_.path().string(), "--format", "jsonl"}).out);
  for (std::string line; std::getline(lines, line);) {
    answers.push_back(json::parse(line));
  }
  expect_numbers(table_in(page(), 0), answers);
}

TEST_F(SweepPages, of_the_fastest_are_over_their_column) {
  const json chart = charts_in(page({"--best-by", "size"}))[0];
  EXPECT_EQ(chart["x"]["scale"], "bytes");
  ASSERT_EQ(chart["series"].size(), 1U);
  EXPECT_EQ(chart["series"][0]["points"].size(), 2U);
}

TEST_F(SweepPages, of_a_front_are_over_its_columns) {
  const json chart = charts_in(page({"--pareto", "time,nranks"}))[0];
  EXPECT_EQ(chart["x"]["label"], "time_us");
  EXPECT_EQ(chart["y"]["label"], "nranks");
}

// The file has its rows, and the page is printed.
TEST_F(SweepPages, are_printed_beside_a_file_of_rows) {
  const std::string rows = (scenario_.path().parent_path() / "rows.csv").string();
  const std::string text = page({"-o", rows});
  EXPECT_EQ(table_in(text, 0).size(), 12U);
  std::ifstream file(rows);
  std::size_t lines = 0;
  for (std::string line; std::getline(file, line);) ++lines;
  EXPECT_EQ(lines, 13U);
}

}  // namespace
}  // namespace collsim::command
