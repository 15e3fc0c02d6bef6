#include "tools/collsim/report/report_page.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <cctype>
#include <ostream>

#include "sim/base/data_directory.h"
#include "sim/base/json_text.h"
#include "sim/base/text_file.h"
#include "tools/collsim/core/markup.h"
#include "tools/collsim/report/report.h"

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
  switch (scale) {
    case AxisScale::bytes:
      return "bytes";
    case AxisScale::counts:
      return "counts";
    case AxisScale::logarithmic:
      return "logarithmic";
    case AxisScale::linear:
      return "linear";
    case AxisScale::words:
      break;
  }
  return "words";
}

std::string_view name_of(SeriesMark mark) {
  switch (mark) {
    case SeriesMark::line:
      return "line";
    case SeriesMark::dashes:
      return "dashes";
    case SeriesMark::dots:
      return "dots";
    case SeriesMark::rings:
      return "rings";
    case SeriesMark::band:
      return "band";
    case SeriesMark::bars:
      return "bars";
    case SeriesMark::cells:
      return "cells";
    case SeriesMark::hatched:
      break;
  }
  return "hatched";
}

Record description_of(const PagePoint& point) {
  Record json{{"x", point.x}, {"y", point.y}};
  if (!point.low.is_null()) json["low"] = point.low;
  if (!point.high.is_null()) json["high"] = point.high;
  if (point.weight != 1) json["weight"] = point.weight;
  if (!point.label.empty()) json["label"] = point.label;
  if (!point.text.empty()) json["text"] = point.text;
  return json;
}

Record description_of(const PageAxis& axis) {
  Record json{{"label", axis.label}, {"scale", name_of(axis.scale)}};
  if (!axis.words.empty()) json["words"] = axis.words;
  return json;
}

Record description_of(const PageChart& chart) {
  Record json{{"title", chart.title},
              {"x", description_of(chart.x)},
              {"y", description_of(chart.y)},
              {"series", Record::array()}};
  for (const PageSeries& series : chart.series) {
    Record points = Record::array();
    for (const PagePoint& point : series.points) points.push_back(description_of(point));
    json["series"].push_back({{"name", series.name},
                              {"mark", name_of(series.mark)},
                              {"tone", series.tone},
                              {"quiet", series.quiet},
                              {"points", points}});
  }
  return json;
}

Record charts_of(const ReportPage& page) {
  Record charts = Record::array();
  for (const PageSection& section : page.sections) {
    for (const PageChart& chart : section.charts) charts.push_back(description_of(chart));
  }
  return charts;
}

/// JSON inside a script element: without `<` nothing in it can end the element or open another.
std::string embedded_json(const Record& json) {
  const std::string text = json_text(json);
  std::string embedded;
  for (const char letter : text) {
    if (letter == '<') {
      embedded += "\\u003c";
    } else {
      embedded += letter;
    }
  }
  return embedded;
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

std::string cell_markup(const Record& value, const PageColumn& column) {
  const std::string exact = json_text(value);
  if (exact == "null") return "<td>-</td>";  // also what is not finite
  if (value.is_string()) {
    constexpr std::size_t long_text = 60;
    const auto text = value.get<std::string>();
    return fmt::format("<td{}>{}</td>", text.size() > long_text ? " class=\"long\"" : "",
                       text_markup(text));
  }
  if (value.is_boolean()) return fmt::format("<td>{}</td>", value.get<bool>() ? "yes" : "no");
  const std::string shown =
      value.is_number_float() || column.scale != 1
          ? fmt::format("{:.{}f}", value.get<double>() * column.scale, column.digits)
          : exact;
  return fmt::format("<td class=\"n\"><data value=\"{}\">{}</data></td>", exact, shown);
}

bool has_numbers(const PageTable& table, const PageColumn& column) {
  return std::any_of(table.rows.begin(), table.rows.end(),
                     [&](const Record& row) { return row.at(column.key).is_number(); });
}

void print_page_table(const PageTable& table, std::ostream& out) {
  if (table.rows.empty()) return;
  out << "<div class=\"table\" tabindex=\"0\">\n<table>\n";
  if (!table.title.empty()) fmt::print(out, "<caption>{}</caption>\n", text_markup(table.title));
  out << "<thead><tr>";
  for (const PageColumn& column : table.columns) {
    fmt::print(out, "<th{} data-key=\"{}\">{}</th>",
               has_numbers(table, column) ? " class=\"n\"" : "", text_markup(column.key),
               text_markup(column.title));
  }
  out << "</tr></thead>\n<tbody>\n";
  for (std::size_t i = 0; i < std::min(table.rows.size(), max_table_rows); ++i) {
    out << "<tr>";
    for (const PageColumn& column : table.columns) {
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

void print_page_chart(const PageChart& chart, std::size_t number, std::ostream& out) {
  fmt::print(out, "<figure class=\"{}\" data-chart=\"{}\">\n<figcaption>{}</figcaption>\n",
             chart.wide ? "wide" : "", number, text_markup(chart.title));
  if (!chart.note.empty()) fmt::print(out, "<p class=\"note\">{}</p>\n", text_markup(chart.note));
  out << "</figure>\n";
}

/// Returns the number of the next chart.
std::size_t print_page_section(const PageSection& section, std::size_t chart, std::ostream& out) {
  out << "<section>\n";
  if (!section.title.empty()) fmt::print(out, "<h2>{}</h2>\n", text_markup(section.title));
  if (!section.charts.empty()) {
    constexpr std::size_t many = 4;
    fmt::print(out, "<div class=\"charts{}\">\n", section.charts.size() > many ? " many" : "");
    for (const PageChart& each : section.charts) print_page_chart(each, chart++, out);
    out << "</div>\n";
  }
  if (!section.texts.empty()) {
    out << "<div class=\"texts\">\n";
    for (const std::string& text : section.texts) {
      fmt::print(out, "<p>{}</p>\n", text_markup(text));
    }
    out << "</div>\n";
  }
  for (const PageTable& table : section.tables) print_page_table(table, out);
  out << "</section>\n";
  return chart;
}

void print_page_head(const ReportPage& page, std::ostream& out) {
  fmt::print(out,
             "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
             "<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n"
             "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
             "<meta name=\"generator\" content=\"collsim {}\">\n"
             "<title>{}</title>\n<style>\n{}</style>\n</head>\n<body>\n<h1>{}</h1>\n",
             policy, COLLSIM_VERSION, text_markup(page.title), chart_file("page.css"),
             text_markup(page.title));
  fmt::print(out, "<pre class=\"command\" tabindex=\"0\">{}</pre>\n<dl>\n",
             text_markup(page.command));
  for (const auto& [name, text] : page.facts) {
    fmt::print(out, "<div><dt>{}</dt><dd>{}</dd></div>\n", text_markup(name), text_markup(text));
  }
  out << "</dl>\n<noscript><p>Charts need JavaScript; the tables do not.</p></noscript>\n";
}

bool is_plain_in_shell(char letter) {
  constexpr std::string_view others = "_@%+=:,./-";
  return std::isalnum(static_cast<unsigned char>(letter)) != 0 ||
         others.find(letter) != std::string_view::npos;
}

std::string shell_word(const std::string& arg) {
  if (!arg.empty() && std::all_of(arg.begin(), arg.end(), is_plain_in_shell)) return arg;
  std::string word;
  for (const char letter : arg) {
    if (letter == '\'') {
      word += "'\\''";
    } else {
      word += letter;
    }
  }
  return fmt::format("'{}'", word);
}

}  // namespace

std::vector<PageColumn> page_columns(std::span<const Column> columns) {
  std::vector<PageColumn> all;
  for (const Column& column : columns) {
    std::string title(column.title);
    if (!column.unit.empty()) title += fmt::format(" {}", column.unit);
    all.push_back({std::string(column.key), title, column.digits});
  }
  return all;
}

std::string command_text(std::string_view subcommand, std::span<const std::string> args) {
  std::string text = fmt::format("collsim {}", subcommand);
  for (const std::string& arg : args) text += fmt::format(" {}", shell_word(arg));
  return text;
}

std::string joined_values(std::span<const Record> rows, const std::string& key) {
  std::vector<std::string> texts;
  for (const Record& row : rows) {
    const Record& value = row.at(key);
    const std::string text = value.is_null()     ? "-"
                             : value.is_string() ? value.get<std::string>()
                                                 : json_text(value);
    if (std::find(texts.begin(), texts.end(), text) == texts.end()) texts.push_back(text);
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

void add_trust_and_version(ReportPage& page, std::span<const TrustError> errors,
                           const std::set<Trust>& classes) {
  for (const Trust trust : classes) {
    const auto error = std::find_if(errors.begin(), errors.end(),
                                    [&](const TrustError& each) { return each.trust == trust; });
    page.facts.emplace_back(
        "trust", error == errors.end() ? std::string(to_string(trust)) : describe(*error));
  }
  page.facts.emplace_back("made by", fmt::format("collsim {}", COLLSIM_VERSION));
}

void write_page(const ReportPage& page, std::ostream& out) {
  print_page_head(page, out);
  std::size_t chart = 0;
  for (const PageSection& section : page.sections) chart = print_page_section(section, chart, out);
  out << hatching_pattern;
  fmt::print(out, "<script id=\"page-charts\" type=\"application/json\">{}</script>\n",
             embedded_json(charts_of(page)));
  fmt::print(out, "<script>{}</script>\n<script>{}</script>\n</body>\n</html>\n",
             chart_file("plot.min.js"), chart_file("page.js"));
}

}  // namespace collsim::command
