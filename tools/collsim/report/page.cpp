#include "tools/collsim/report/page.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <ostream>

#include "sim/base/data_directory.h"
#include "sim/base/json_text.h"
#include "sim/base/text_file.h"
#include "sim/base/words.h"
#include "tools/collsim/core/markup.h"
#include "tools/collsim/report/answer.h"

namespace collsim::command {

namespace {

/// Nothing may be fetched, whatever a text of the page says.
constexpr std::string_view policy =
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:";

/// What lies over cells of maps; charts refer to it.
constexpr std::string_view hatching_pattern =
    "<svg width=\"0\" height=\"0\" aria-hidden=\"true\" style=\"position:absolute\"><defs>"
    "<pattern id=\"hatching\" width=\"7\" height=\"7\" patternUnits=\"userSpaceOnUse\" "
    "patternTransform=\"rotate(45)\"><rect width=\"1.2\" height=\"7\" fill=\"var(--paper)\"/>"
    "</pattern></defs></svg>\n";

/// More rows of a table make a page that browsers are slow with.
constexpr std::size_t max_table_rows = 5000;

std::string_view name_of(AxisScale scale) {
  return word_for(scale, {{AxisScale::bytes, "bytes"},
                          {AxisScale::counts, "counts"},
                          {AxisScale::logarithmic, "logarithmic"},
                          {AxisScale::linear, "linear"},
                          {AxisScale::words, "words"}});
}

std::string_view name_of(SeriesMark mark) {
  return word_for(mark, {{SeriesMark::line, "line"},
                         {SeriesMark::dashes, "dashes"},
                         {SeriesMark::dots, "dots"},
                         {SeriesMark::rings, "rings"},
                         {SeriesMark::band, "band"},
                         {SeriesMark::bars, "bars"},
                         {SeriesMark::cells, "cells"},
                         {SeriesMark::hatched, "hatched"}});
}

Record description_of(const ChartPoint& point) {
  Record json{{"x", point.x}, {"y", point.y}};
  if (!point.low.is_null()) json["low"] = point.low;
  if (!point.high.is_null()) json["high"] = point.high;
  if (point.weight != 1) json["weight"] = point.weight;
  if (!point.label.empty()) json["label"] = point.label;
  if (!point.text.empty()) json["text"] = point.text;
  return json;
}

Record description_of(const ChartAxis& axis) {
  Record json{{"label", axis.label}, {"scale", name_of(axis.scale)}};
  if (!axis.words.empty()) json["words"] = axis.words;
  return json;
}

Record description_of(const Chart& chart) {
  Record json{{"title", chart.title},
              {"x", description_of(chart.x)},
              {"y", description_of(chart.y)},
              {"series", Record::array()}};
  for (const ChartSeries& series : chart.series) {
    Record points = Record::array();
    for (const ChartPoint& point : series.points) points.push_back(description_of(point));
    json["series"].push_back({{"name", series.name},
                              {"mark", name_of(series.mark)},
                              {"tone", series.tone},
                              {"quiet", series.quiet},
                              {"points", points}});
  }
  return json;
}

Record charts_of(const Answer& page) {
  Record charts = Record::array();
  for (const AnswerSection& section : page.sections) {
    if (section.shown == Shown::in_terminal) continue;
    for (const Chart& chart : section.charts) charts.push_back(description_of(chart));
  }
  return charts;
}

std::string chart_file(std::string_view name) {
  return read_text_file(data_directory() / "tools/web/charts" / name, "a part of collsim's pages")
      .content;
}

/// Valid UTF-8, as markup.
std::string text_markup(std::string_view text) {
  const std::string quoted = json_text(Record(text));
  return escaped(Record::parse(quoted).get<std::string>());
}

std::string cell_markup(const Record& value, const Column& column) {
  const std::string shown = text_markup(shown_text(value, column));
  if (value.is_number() && shown != "-") {
    return fmt::format("<td class=\"n\"><data value=\"{}\">{}</data></td>", json_text(value),
                       shown);
  }
  constexpr std::size_t long_text = 60;
  const bool is_long = value.is_string() && value.get<std::string>().size() > long_text;
  return fmt::format("<td{}>{}</td>", is_long ? " class=\"long\"" : "", shown);
}

void print_page_table(const Table& table, std::ostream& out) {
  if (table.rows.empty()) return;
  out << "<div class=\"table\" tabindex=\"0\">\n<table>\n";
  if (!table.title.empty()) fmt::print(out, "<caption>{}</caption>\n", text_markup(table.title));
  const std::vector<Column> columns = page_columns(table);
  out << "<thead><tr>";
  for (const Column& column : columns) {
    fmt::print(out, "<th{} data-key=\"{}\">{}</th>",
               is_of_numbers(table, column) ? " class=\"n\"" : "", text_markup(column.key),
               text_markup(title_with_unit(column)));
  }
  out << "</tr></thead>\n<tbody>\n";
  for (std::size_t i = 0; i < std::min(table.rows.size(), max_table_rows); ++i) {
    out << "<tr>";
    for (const Column& column : columns) {
      out << cell_markup(table.rows[i].at(column.key), column);
    }
    out << "</tr>\n";
  }
  out << "</tbody>\n</table>\n</div>\n";
  if (table.rows.size() > max_table_rows) {
    fmt::print(out, "<p>The first {} of {} rows; --format csv has all.</p>\n", max_table_rows,
               table.rows.size());
  }
}

void print_page_chart(const Chart& chart, std::size_t number, std::ostream& out) {
  fmt::print(out, "<figure class=\"{}\" data-chart=\"{}\">\n<figcaption>{}</figcaption>\n",
             chart.wide ? "wide" : "", number, text_markup(chart.title));
  if (!chart.note.empty()) fmt::print(out, "<p class=\"note\">{}</p>\n", text_markup(chart.note));
  out << "</figure>\n";
}

void print_page_notes(const AnswerSection& section, std::ostream& out) {
  if (section.notes.empty() && section.after.empty()) return;
  out << "<div class=\"texts\">\n";
  for (const auto* const notes : {&section.notes, &section.after}) {
    for (const Note& note : *notes) {
      if (note.text.empty()) continue;
      fmt::print(out, "<p>{}</p>\n", text_markup(text_of(note)));
    }
  }
  out << "</div>\n";
}

void print_page_facts(const std::vector<Fact>& facts, std::ostream& out) {
  if (facts.empty()) return;
  out << "<dl>\n";
  for (const Fact& fact : facts) {
    fmt::print(out, "<div><dt>{}</dt><dd>{}</dd></div>\n", text_markup(fact.name),
               text_markup(text_of(fact)));
  }
  out << "</dl>\n";
}

/// Returns the number of the next chart.
std::size_t print_page_section(const AnswerSection& section, std::size_t chart, std::ostream& out) {
  out << "<section>\n";
  if (!section.title.empty()) fmt::print(out, "<h2>{}</h2>\n", text_markup(section.title));
  if (!section.charts.empty()) {
    constexpr std::size_t many = 4;
    fmt::print(out, "<div class=\"charts{}\">\n", section.charts.size() > many ? " many" : "");
    for (const Chart& each : section.charts) print_page_chart(each, chart++, out);
    out << "</div>\n";
  }
  print_page_notes(section, out);
  print_page_facts(section.facts, out);
  for (const Table& table : section.tables) print_page_table(table, out);
  out << "</section>\n";
  return chart;
}

void print_page_head(const Answer& page, std::ostream& out) {
  fmt::print(out,
             "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
             "<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n"
             "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
             "<meta name=\"generator\" content=\"collsim {}\">\n"
             "<title>{}</title>\n<style>\n{}</style>\n</head>\n<body>\n<h1>{}</h1>\n",
             policy, COLLSIM_VERSION, text_markup(page.title), chart_file("page.css"),
             text_markup(page.title));
  fmt::print(out, "<pre class=\"command\" tabindex=\"0\">{}</pre>\n", text_markup(page.command));
  print_page_facts(page.facts, out);
  out << "<noscript><p>Charts need JavaScript; the tables do not.</p></noscript>\n";
}

}  // namespace

void write_page(const Answer& page, std::ostream& out) {
  print_page_head(page, out);
  std::size_t chart = 0;
  for (const AnswerSection& section : page.sections) {
    if (section.shown != Shown::in_terminal) chart = print_page_section(section, chart, out);
  }
  out << hatching_pattern;
  fmt::print(out, "<script id=\"page-charts\" type=\"application/json\">{}</script>\n",
             script_json(json_text(charts_of(page))));
  fmt::print(out, "<script>{}</script>\n<script>{}</script>\n</body>\n</html>\n",
             chart_file("plot.min.js"), chart_file("page.js"));
}

}  // namespace collsim::command
