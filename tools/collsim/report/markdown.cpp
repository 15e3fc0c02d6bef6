#include "tools/collsim/report/markdown.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <ostream>
#include <string>
#include <string_view>

#include "sim/base/clean_text.h"
#include "tools/collsim/report/answer.h"

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

void print_markdown_table(const Table& table, std::ostream& out) {
  if (table.rows.empty()) return;
  if (!table.title.empty()) fmt::print(out, "\n### {}\n", plain_markdown(table.title));
  std::vector<std::string> titles;
  std::vector<std::string> rulers;
  const std::vector<Column> columns = page_columns(table);
  for (const Column& column : columns) {
    titles.push_back(plain_markdown(title_with_unit(column)));
    rulers.emplace_back(is_of_numbers(table, column) ? "---:" : "---");
  }
  out << "\n";
  print_markdown_cells(titles, out);
  print_markdown_cells(rulers, out);
  for (const Record& row : table.rows) {
    std::vector<std::string> cells;
    cells.reserve(columns.size());
    for (const Column& column : columns) {
      cells.push_back(plain_markdown(shown_text(row.at(column.key), column)));
    }
    print_markdown_cells(cells, out);
  }
}

void print_markdown_facts(const std::vector<Fact>& facts, std::ostream& out) {
  for (const Fact& fact : facts) {
    fmt::print(out, "- {}: {}\n", plain_markdown(fact.name), plain_markdown(text_of(fact)));
  }
}

void print_markdown_section(const AnswerSection& section, std::ostream& out) {
  if (!section.title.empty()) fmt::print(out, "\n## {}\n", plain_markdown(section.title));
  for (const auto* const notes : {&section.notes, &section.after}) {
    for (const Note& note : *notes) {
      if (!note.text.empty()) fmt::print(out, "\n{}\n", plain_markdown(text_of(note)));
    }
  }
  if (!section.facts.empty()) out << "\n";
  print_markdown_facts(section.facts, out);
  for (const Table& table : section.tables) print_markdown_table(table, out);
}

}  // namespace

void write_markdown(const Answer& answer, std::ostream& out) {
  fmt::print(out, "# {}\n\n    {}\n\n", plain_markdown(answer.title), answer.command);
  print_markdown_facts(answer.facts, out);
  for (const AnswerSection& section : answer.sections) {
    if (section.shown != Shown::in_terminal) print_markdown_section(section, out);
  }
}

}  // namespace collsim::command
