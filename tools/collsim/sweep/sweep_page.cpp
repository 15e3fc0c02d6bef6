#include "tools/collsim/sweep/sweep_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "sim/base/json_text.h"
#include "sim/base/units.h"
#include "tools/collsim/report/answer.h"
#include "tools/collsim/sweep/sweep_range.h"

namespace collsim::command {

namespace {

/// More lines than this have no colour; they would not be told apart.
constexpr std::size_t max_colours = 6;
/// More lines than this are not drawn.
constexpr std::size_t max_lines = 300;

constexpr const char* size_column = "size_bytes";

/// A field of the sweep.
struct SweptColumn {
  std::string key;   ///< of the rows
  std::string name;  ///< the last part of its path
  bool is_size = false;
  std::size_t values = 0;  ///< that the rows have
};

/// What goes along the horizontal axis.
struct SweepAxisChoice {
  std::string key;
  ChartAxis axis;
};

std::string text_of_value(const Record& value) {
  return value.is_string() ? value.get<std::string>() : json_text(value);
}

std::size_t count_of(std::span<const Record> rows, const std::string& key) {
  std::set<std::string> values;
  for (const Record& row : rows) values.insert(text_of_value(row.at(key)));
  return values.size();
}

std::vector<SweptColumn> swept_columns(const Sweep& sweep, std::span<const Record> rows) {
  const std::vector<std::string> columns = sweep_columns(sweep);
  std::vector<SweptColumn> swept;
  std::size_t column = 1;  // after the row's number
  for (const SweepField* const field : sweep.space.fields()) {
    const std::string& path = field->path;
    const std::size_t dot = path.rfind('.');
    const bool is_size = path == "size" || path.starts_with("sizes");
    swept.push_back({columns[column],
                     dot == std::string::npos || is_size ? path : path.substr(dot + 1), is_size,
                     count_of(rows, columns[column])});
    ++column;
  }
  return swept;
}

/// The size if there are several, else the field with the most values.
SweepAxisChoice axis_of(const SweepPage& asked, const std::vector<SweptColumn>& swept,
                        std::span<const Record> rows) {
  auto by_size = SweepAxisChoice{size_column, {"size", AxisScale::bytes}};
  if (!asked.best_by.empty()) {
    const auto field = std::find_if(swept.begin(), swept.end(), [&](const SweptColumn& each) {
      return each.key == asked.best_by;
    });
    if (asked.best_by == size_column || (field != swept.end() && field->is_size)) return by_size;
    return {asked.best_by, {asked.best_by, AxisScale::words}};
  }
  if (count_of(rows, size_column) > 1) return by_size;
  const auto widest = std::max_element(
      swept.begin(), swept.end(),
      [](const SweptColumn& a, const SweptColumn& b) { return a.values < b.values; });
  return {widest->key, {widest->name, AxisScale::words}};
}

/// Which of the scenario's runs a row is of; empty where there is one.
std::string run_name(const Sweep& sweep, const Record& row) {
  const Scenario scenario = sweep.space.scenario(point_of(sweep, row["row"].get<std::uint64_t>()));
  if (scenario.runs.size() < 2) return {};
  const std::size_t number = run_index(sweep, row["row"].get<std::uint64_t>());
  const std::string& name = scenario.runs[number].algorithm;
  const auto same = std::count_if(scenario.runs.begin(), scenario.runs.end(),
                                  [&](const RunSpec& run) { return run.algorithm == name; });
  return same == 1 ? name : fmt::format("{} (run {})", name, number + 1);
}

/// "NCCL_BUFFSIZE 4194304, nodes 8": all that differs but what the axis says.
std::string combination_of(const Sweep& sweep, const std::vector<SweptColumn>& swept,
                           const std::string& axis, const Record& row) {
  std::string text = run_name(sweep, row);
  for (const SweptColumn& column : swept) {
    if (column.values < 2 || column.key == axis || (column.is_size && axis == size_column)) {
      continue;
    }
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", column.name,
                        text_of_value(row.at(column.key)));
  }
  return text;
}

/// A line: rows that differ only along the axis.
struct SweptLine {
  std::string name;
  std::vector<Record> rows;
  double log_time = 0;  ///< the mean
};

std::vector<SweptLine> lines_of(const Sweep& sweep, const SweepPage& asked,
                                const std::vector<SweptColumn>& swept, const std::string& axis,
                                std::span<const Record> rows) {
  std::vector<SweptLine> lines;
  std::map<std::string, std::size_t> index;
  for (const Record& row : rows) {
    if (!row["time_us"].is_number() || row["time_us"] == 0) continue;
    const std::string name =
        asked.best_by.empty() ? combination_of(sweep, swept, axis, row) : "the fastest";
    const auto [found, is_new] = index.try_emplace(name, lines.size());
    if (is_new) lines.push_back({name, {}});
    lines[found->second].rows.push_back(row);
  }
  for (SweptLine& line : lines) {
    for (const Record& row : line.rows) line.log_time += std::log(row["time_us"].get<double>());
    line.log_time /= static_cast<double>(line.rows.size());
  }
  if (lines.size() > max_colours) {
    std::stable_sort(lines.begin(), lines.end(), [](const SweptLine& a, const SweptLine& b) {
      return a.log_time < b.log_time;
    });
  }
  if (lines.size() > max_lines) lines.resize(max_lines);
  return lines;
}

std::string hint_of(const std::vector<SweptColumn>& swept, const Record& row) {
  std::string text =
      fmt::format("{}: {:.2f} us, {:.2f} GB/s", rounded_size(row[size_column].get<double>()),
                  row["time_us"].get<double>(), row["busbw_GBps"].get<double>());
  for (const SweptColumn& column : swept) {
    text += fmt::format("\n{} {}", column.name, text_of_value(row.at(column.key)));
  }
  return text + fmt::format("\n{}/{}, {} channels", row["algorithm"].get<std::string>(),
                            row["protocol"].get<std::string>(), json_text(row["channels"]));
}

/// Along words as the field's texts say them; along sizes as numbers.
Record place_of(const Record& row, const SweepAxisChoice& axis) {
  const Record& value = row.at(axis.key);
  if (axis.axis.scale == AxisScale::words) return text_of_value(value);
  return value == 0 ? Record() : value;  // 0 has no place on a logarithmic axis
}

Chart line_chart(const std::vector<SweptLine>& lines, const std::vector<SweptColumn>& swept,
                 const SweepAxisChoice& axis, bool as_busbw) {
  const char* const key = as_busbw ? "busbw_GBps" : "time_us";
  Chart chart{as_busbw ? "busbw" : "Time",
              {},
              axis.axis,
              as_busbw ? ChartAxis{"busbw (GB/s)", AxisScale::linear}
                       : ChartAxis{"time (us)", AxisScale::logarithmic}};
  const bool many = lines.size() > max_colours;
  if (many) {
    chart.note = fmt::format("{} combinations; the {} that are fastest on average have colours.",
                             lines.size(), max_colours);
  }
  for (std::size_t i = 0; i < lines.size(); ++i) {
    ChartSeries series{
        lines[i].name, SeriesMark::line, static_cast<int>(i), many && i >= max_colours, {}};
    for (const Record& row : lines[i].rows) {
      const Record place = place_of(row, axis);
      if (place.is_null()) continue;
      series.points.push_back({place, row[key], {}, hint_of(swept, row)});
    }
    if (!series.points.empty()) chart.series.push_back(std::move(series));
  }
  return chart;
}

/// A value as a number; of a text, the amount of its quantity.
Record amount_in(const Record& row, const std::string& key) {
  const Record& value = row.at(key);
  if (!value.is_string()) return value;
  const auto amount = amount_of(value.get<std::string>());
  return amount ? Record(*amount) : Record();
}

Chart front_chart(const SweepPage& asked, const std::vector<SweptColumn>& swept,
                  std::span<const Record> rows) {
  const std::string& x = asked.pareto.front();
  const std::string y = asked.pareto.size() > 1 ? asked.pareto[1] : "time_us";
  Chart chart{fmt::format("{} and {}", x, y),
              "Rows that no other beats.",
              {x, x == size_column ? AxisScale::bytes : AxisScale::logarithmic},
              {y, AxisScale::logarithmic},
              {},
              true};
  for (const SweptColumn& column : swept) {
    if (column.is_size && column.key == x) chart.x.scale = AxisScale::bytes;
  }
  ChartSeries front{"no other is better in all", SeriesMark::line, 0};
  for (const Record& row : rows) {
    if (!row["time_us"].is_number()) continue;
    front.points.push_back({amount_in(row, x), amount_in(row, y), {}, hint_of(swept, row)});
  }
  const auto scale_of = [&](AxisScale scale, Record ChartPoint::*place) {
    const bool is_above_0 = std::all_of(
        front.points.begin(), front.points.end(),
        [&](const ChartPoint& point) { return (point.*place).is_number() && point.*place > 0; });
    return is_above_0 ? scale : AxisScale::linear;
  };
  chart.x.scale = scale_of(chart.x.scale, &ChartPoint::x);
  chart.y.scale = scale_of(chart.y.scale, &ChartPoint::y);
  chart.series.push_back(std::move(front));
  return chart;
}

Table row_table(const std::vector<SweptColumn>& swept, std::span<const Record> rows) {
  Table table{"", {{"row", "row"}}, {rows.begin(), rows.end()}};
  for (const SweptColumn& column : swept) table.columns.push_back({column.key, column.key});
  const std::vector<Column> answers{
      {size_column, "size (B)"},      {"nranks", "ranks"},        {"algorithm", "algo"},
      {"protocol", "proto"},          {"channels", "ch"},         {"time_us", "time (us)"},
      {"busbw_GBps", "busbw (GB/s)"}, {"bound_us", "bound (us)"}, {"trust", "trust"}};
  table.columns.insert(table.columns.end(), answers.begin(), answers.end());
  if (std::any_of(rows.begin(), rows.end(),
                  [](const Record& row) { return !row["problem"].is_null(); })) {
    table.columns.push_back({"problem", "problem"});
  }
  return table;
}

/// Of the rows that have an answer.
}  // namespace

Answer sweep_report(const Sweep& sweep, const SweepPage& asked, std::span<const Record> rows) {
  std::vector<Record> answered;
  for (const Record& row : rows) {
    if (row["problem"].is_null()) answered.push_back(row);
  }
  Answer report{"Sweep", asked.command, {}, {}};
  for (const auto& [name, key] : {std::pair{"machine", "machine"}, std::pair{"engine", "engine"},
                                  std::pair{"calibration", "calibration"},
                                  std::pair{"NCCL", "nccl_version"}, std::pair{"trust", "trust"}}) {
    report.facts.push_back({name, joined_values(answered, key)});
  }
  add_ranges_and_version(report);
  const std::vector<SweptColumn> swept = swept_columns(sweep, answered);
  AnswerSection section;
  if (!answered.empty()) {
    report.title = fmt::format("Sweep of {}", joined_values(answered, "collective"));
    if (!asked.pareto.empty()) {
      section.charts = {front_chart(asked, swept, answered)};
    } else {
      const SweepAxisChoice axis = axis_of(asked, swept, answered);
      const auto lines = lines_of(sweep, asked, swept, axis.key, answered);
      section.charts = {line_chart(lines, swept, axis, false),
                        line_chart(lines, swept, axis, true)};
    }
  }
  std::erase_if(section.charts, [](const Chart& chart) { return chart.series.empty(); });
  section.tables.push_back(row_table(swept, rows));
  report.sections.push_back(std::move(section));
  return report;
}

}  // namespace collsim::command
