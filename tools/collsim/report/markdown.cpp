#include "tools/collsim/report/markdown.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <ostream>
#include <string>
#include <string_view>

#include "sim/base/clean_text.h"
#include "tools/collsim/report/records.h"

namespace collsim::command {

namespace {

/// A text in which nothing is markup.
std::string plain_markdown(std::string_view text) {
  constexpr std::string_view markup = "\\`*_{}[]<>#|";
  std::string escaped;
  for (const char letter : clean_text(std::string(text))) {
    if (markup.find(letter) != std::string_view::npos) escaped += '\\';
    escaped += letter;
  }
  return escaped;
}

void print_markdown_cells(const std::vector<std::string>& cells, std::ostream& out) {
  fmt::print(out, "| {} |\n", fmt::join(cells, " | "));
}

void print_markdown_table(const ReportTable& table, std::ostream& out) {
  if (table.rows.empty()) return;
  if (!table.title.empty()) fmt::print(out, "\n### {}\n", plain_markdown(table.title));
  std::vector<std::string> titles;
  std::vector<std::string> rulers;
  for (const ReportColumn& column : table.columns) {
    titles.push_back(plain_markdown(column.title));
    rulers.emplace_back(is_of_numbers(table, column) ? "---:" : "---");
  }
  out << "\n";
  print_markdown_cells(titles, out);
  print_markdown_cells(rulers, out);
  for (const Record& row : table.rows) {
    std::vector<std::string> cells;
    for (const ReportColumn& column : table.columns) {
      cells.push_back(plain_markdown(shown_text(row.at(column.key), column)));
    }
    print_markdown_cells(cells, out);
  }
}

}  // namespace

void write_markdown(const Report& report, std::ostream& out) {
  fmt::print(out, "# {}\n\n    {}\n\n", plain_markdown(report.title), report.command);
  for (const auto& [name, text] : report.facts) {
    fmt::print(out, "- {}: {}\n", plain_markdown(name), plain_markdown(text));
  }
  for (const ReportSection& section : report.sections) {
    if (!section.title.empty()) fmt::print(out, "\n## {}\n", plain_markdown(section.title));
    for (const std::string& text : section.texts) fmt::print(out, "\n{}\n", plain_markdown(text));
    for (const ReportTable& table : section.tables) print_markdown_table(table, out);
  }
}

}  // namespace collsim::command
