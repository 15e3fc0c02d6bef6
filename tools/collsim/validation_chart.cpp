// The validation as an HTML page: a chart per family and the scores, in one file.

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>

#include "sim/base/data_directory.h"
#include "sim/base/text_file.h"
#include "tools/collsim/markup.h"
#include "tools/collsim/validation_report.h"

namespace collsim::command {

namespace {

using nlohmann::ordered_json;

constexpr std::string_view style =
    "body { font: 14px sans-serif; margin: 2em; }\n"
    "#panels { display: flex; flex-wrap: wrap; gap: 1.5em; }\n"
    "table { border-collapse: collapse; margin-top: 2em; }\n"
    "td, th { padding: 0.2em 0.8em; text-align: right; border-bottom: 1px solid #ddd; }\n"
    "td:first-child { text-align: left; }\n";

/// GB/s, as in nccl-tests.
double busbw(const RecordedRow& row, Seconds time) {
  constexpr double giga = 1e9;
  return static_cast<double>(row.size.count) / time.value / giga *
         busbw_factor(*row.collective, row.ranks);
}

/// [size, measured, predicted, NCCL's estimate or null].
ordered_json point_of(const ValidatedRow& row) {
  ordered_json point{row.recorded.size.count, busbw(row.recorded, row.recorded.time),
                     busbw(row.recorded, row.predicted), nullptr};
  if (row.nccl_estimate && row.nccl_estimate->value > 0) {
    point[3] = busbw(row.recorded, *row.nccl_estimate);
  }
  return point;
}

/// The data of the script: {"families": [{"name", "points"}]}.
ordered_json chart_data(const std::vector<ValidatedRow>& rows) {
  std::map<ValidationFamily, ordered_json> points;
  for (const auto& [family, members] : by_family(rows)) {
    for (const ValidatedRow* row : members) points[family].push_back(point_of(*row));
  }
  ordered_json families = ordered_json::array();
  for (auto& [family, list] : points) {
    std::sort(list.begin(), list.end(),
              [](const ordered_json& a, const ordered_json& b) { return a[0] < b[0]; });
    families.push_back({{"name", describe(family)}, {"points", list}});
  }
  return {{"families", families}};
}

/// JSON inside a script element: nothing in it may end the element.
std::string embedded(const ordered_json& data) {
  std::string text = data.dump();
  for (std::size_t at = text.find('<'); at != std::string::npos; at = text.find('<', at + 1)) {
    text.replace(at, 1, "\\u003c");
  }
  return text;
}

void print_score_row(std::string_view name, const FamilyScore& score, std::ostream& out) {
  constexpr double percent = 100;
  fmt::print(out, "<tr><td>{}</td><td>{}</td>", escaped(name), score.all.rows);
  for (double Score::*figure :
       {&Score::median, &Score::mean, &Score::p90, &Score::worst, &Score::bias}) {
    fmt::print(out, "<td>{:.1f}</td>", percent * (score.all.*figure));
  }
  fmt::print(out, "<td>{}</td></tr>\n",
             score.nccl.rows == 0 ? "-" : fmt::format("{:.1f}", percent * score.nccl.median));
}

void print_scores(const std::vector<ValidatedRow>& rows, std::ostream& out) {
  fmt::print(out,
             "<table>\n<tr><th>error in %</th><th>rows</th><th>median</th><th>mean</th><th>p90</th>"
             "<th>worst</th><th>bias</th><th>NCCL's own, median</th></tr>\n");
  for (const FamilyScore& score : family_scores(rows)) {
    print_score_row(describe(score.family), score, out);
  }
  print_score_row("all", total_score(rows), out);
  fmt::print(out, "</table>\n");
}

std::string script(std::string_view name) {
  return read_text_file(data_directory() / "tools/charts" / name, "a script of collsim's").content;
}

}  // namespace

void print_validation_html(const ValidationReport& report, std::ostream& out) {
  const std::vector<ValidatedRow>& rows = report.validation.rows;
  fmt::print(out,
             "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
             "<title>collsim validate</title>\n<style>\n{}</style>\n</head>\n<body>\n",
             style);
  for (std::size_t i = 0; i < report.files.size(); ++i) {
    fmt::print(out, "<h1>{} on {}</h1>\n", escaped(report.files[i]), escaped(report.machines[i]));
  }
  fmt::print(out,
             "<p>busbw over size. Dots: measured; line: predicted; dashed: NCCL's own "
             "estimate.</p>\n<div id=\"panels\"></div>\n");
  print_scores(rows, out);
  fmt::print(out, "<script id=\"validation\" type=\"application/json\">{}</script>\n",
             embedded(chart_data(rows)));
  fmt::print(out, "<script>{}</script>\n<script>{}</script>\n</body>\n</html>\n",
             script("plot.min.js"), script("validation.js"));
}

}  // namespace collsim::command
