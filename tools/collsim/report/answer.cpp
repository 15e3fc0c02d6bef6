#include "tools/collsim/report/answer.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <cassert>
#include <cctype>
#include <ostream>
#include <utility>

#include "sim/base/json_text.h"
#include "tools/collsim/report/call_rows.h"
#include "tools/collsim/report/markdown.h"
#include "tools/collsim/report/page.h"
#include "tools/collsim/report/terminal.h"

namespace collsim::command {

namespace {

constexpr int json_indent = 2;

std::span<const Record> rows_of(const Answer& answer) {
  if (answer.rows) return *answer.rows;
  for (const AnswerSection& section : answer.sections) {
    if (!section.tables.empty()) return section.tables.front().rows;
  }
  return {};
}

void write_rows(Format format, const Answer& answer, std::ostream& out) {
  RecordWriter writer(format, out);
  if (!answer.no_row.is_null()) writer.begin(answer.no_row);
  for (const Record& row : rows_of(answer)) writer.add(row);
  writer.finish();
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

Note comment(std::string text) {
  return {std::move(text), "# ", "#   "};
}

std::vector<Note> comments(const std::vector<std::string>& texts) {
  std::vector<Note> notes;
  notes.reserve(texts.size());
  for (const std::string& text : texts) notes.push_back(comment(text));
  return notes;
}

Note labelled(const std::string& label, std::string text) {
  return {std::move(text), label + ": ", "  "};
}

Note item(std::string text) {
  return {std::move(text), "- ", "  "};
}

std::string text_of(const Note& note) {
  const bool is_word =
      !note.lead.empty() && std::isalpha(static_cast<unsigned char>(note.lead.front())) != 0;
  if (!is_word) return note.text;
  std::string text = note.lead + note.text;
  text.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.front())));
  return text;
}

std::string text_of(const Fact& fact) {
  if (fact.value.is_null()) return fact.text;
  std::string text = shown_text(fact.value, {"", "", "", fact.digits});
  if (!fact.unit.empty()) text += " " + fact.unit;
  const std::size_t begin = fact.text.find_first_not_of(' ');
  return begin == std::string::npos ? text : fmt::format("{}, {}", text, fact.text.substr(begin));
}

void Answer::draw(Drawing drawing) {
  AnswerSection section;
  section.drawing = std::move(drawing);
  section.shown = Shown::in_terminal;
  sections.push_back(std::move(section));
}

void Answer::head(std::vector<Note> notes) {
  AnswerSection section;
  section.notes = std::move(notes);
  section.shown = Shown::in_terminal;
  sections.push_back(std::move(section));
}

void Answer::figures(std::vector<Fact> all) {
  AnswerSection section;
  section.facts = std::move(all);
  section.shown = Shown::in_terminal;
  section.apart = true;
  sections.push_back(std::move(section));
}

void Answer::say(Note note) {
  AnswerSection section;
  section.notes.push_back(std::move(note));
  section.apart = true;
  sections.push_back(std::move(section));
}

void write_answer(Format format, const Answer& answer, std::ostream& out) {
  switch (format) {
    case Format::table:
    case Format::text:
      return write_terminal(answer, out);
    case Format::csv:
    case Format::jsonl:
      return write_rows(format, answer, out);
    case Format::json:
      if (answer.document.is_null()) return write_rows(format, answer, out);
      fmt::print(out, "{}\n", json_text(answer.document, json_indent));
      return;
    case Format::html:
      return write_page(answer, out);
    case Format::markdown:
      return write_markdown(answer, out);
    default:
      assert(false && "a format of one command, which it writes itself");
  }
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

ChartSeries& line_called(const std::string& name, Chart& chart) {
  const auto found = std::find_if(chart.series.begin(), chart.series.end(),
                                  [&](const ChartSeries& each) { return each.name == name; });
  if (found != chart.series.end()) return *found;
  const int tone = static_cast<int>(chart.series.size());
  return chart.series.emplace_back(ChartSeries{name, SeriesMark::line, tone});
}

void add_ranges_and_version(Answer& answer, const ErrorClasses& classes) {
  for (std::string& text : range_texts(classes)) {
    answer.facts.push_back({"range", text.substr(text.find(' ') + 1)});
  }
  answer.facts.push_back({"made by", fmt::format("collsim {}", COLLSIM_VERSION)});
}

}  // namespace collsim::command
