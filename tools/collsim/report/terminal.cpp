#include "tools/collsim/report/terminal.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <ostream>
#include <string>

#include "tools/collsim/core/wrap.h"
#include "tools/collsim/report/answer.h"

namespace collsim::command {

namespace {

void print_note(const Note& note, std::ostream& out) {
  if (!note.text.empty()) {
    out << wrapped(note.text, note.lead, note.next);
    return;
  }
  fmt::print(out, "{}\n", note.lead.substr(0, note.lead.find_last_not_of(' ') + 1));
}

/// Names to the left, figures below each other.
void print_facts(const std::vector<Fact>& facts, std::ostream& out) {
  std::size_t name_width = 28;
  std::size_t value_width = 12;
  for (const Fact& fact : facts) name_width = std::max(name_width, fact.name.size() + 1);
  for (const Fact& fact : facts) {
    std::string line = fmt::format("  {:<{}}", fact.name, name_width);
    if (!fact.value.is_null()) {
      line += fmt::format("{:>{}}", shown_text(fact.value, {"", "", "", fact.digits}), value_width);
    }
    if (!fact.unit.empty()) line += " " + fact.unit;
    if (!fact.text.empty()) line += " " + fact.text;
    fmt::print(out, "{}\n", line);
  }
}

void print_section(const AnswerSection& section, std::ostream& out) {
  if (!section.title.empty()) fmt::print(out, "{}\n", section.title);
  for (const Note& note : section.notes) print_note(note, out);
  print_facts(section.facts, out);
  for (const Table& table : section.tables) print_table(table, out);
  for (const Note& note : section.after) print_note(note, out);
  if (section.drawing) section.drawing(out);
}

/// Whether there is anything that a terminal shows, beside the title.
bool has_text(const AnswerSection& section) {
  const auto has_rows = [](const Table& table) { return !table.rows.empty(); };
  return !section.notes.empty() || !section.after.empty() || !section.facts.empty() ||
         section.drawing || std::any_of(section.tables.begin(), section.tables.end(), has_rows);
}

}  // namespace

void write_terminal(const Answer& answer, std::ostream& out) {
  bool any = false;
  for (const AnswerSection& section : answer.sections) {
    if (section.shown == Shown::on_pages || !has_text(section)) continue;
    if (any && (section.apart || !section.title.empty())) out << "\n";
    print_section(section, out);
    any = true;
  }
}

}  // namespace collsim::command
