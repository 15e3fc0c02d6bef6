#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/calibration/error_table.h"
#include "tools/collsim/core/format.h"
#include "tools/collsim/report/chart.h"
#include "tools/collsim/report/records.h"
#include "tools/collsim/report/table.h"

namespace collsim::command {

/// A text or a figure under its name.
struct Fact {
  std::string name;
  std::string text{};  ///< after the figure, if there is one
  Record value{};      ///< null: the text alone
  std::string unit{};
  int digits = 1;
};

/// A sentence. A terminal wraps it: the first line begins with `lead`, the others with `next`.
/// Pages have the lead where it is a word.
struct Note {
  // A note is mostly a text alone.
  Note(std::string said, std::string before = {}, std::string after = {})  // NOLINT
      : text(std::move(said)), lead(std::move(before)), next(std::move(after)) {}
  Note(const char* said) : text(said) {}  // NOLINT

  std::string text;
  std::string lead;
  std::string next;
};

/// A line that tools which read tables skip; an empty one is a lone #.
Note comment(std::string text);
std::vector<Note> comments(const std::vector<std::string>& texts);
/// A note with a label before its text: "verdict: low".
Note labelled(const std::string& label, std::string text);
/// A note that is an item of a list.
Note item(std::string text);

/// A note as pages show it: "Hosts: node1".
std::string text_of(const Note& note);
/// What stands beside a fact's name: "12.5 ms, of 40".
std::string text_of(const Fact& fact);

/// Who is shown a section.
enum class Shown : std::uint8_t { everywhere, in_terminal, on_pages };

/// Prints a text that is drawn: a map, a tree, a timeline. Pages have charts in its place.
using Drawing = std::function<void(std::ostream& out)>;

/// Parts that belong together, in the order of a terminal. Pages begin with the charts.
struct AnswerSection {
  std::string title{};  ///< may be empty
  std::vector<Chart> charts{};
  std::vector<Note> notes{};
  std::vector<Table> tables{};
  std::vector<Fact> facts{};
  Drawing drawing{};
  std::vector<Note> after{};  ///< sentences under the tables; pages have them above
  Shown shown = Shown::everywhere;
  bool apart = false;  ///< in a terminal an empty line comes before it, as before a title
};

/// What a command answers, apart from any format.
// NOLINTNEXTLINE(bugprone-exception-escape): moves of JSON do not throw
struct Answer {
  std::string title{};        ///< of a page
  std::string command{};      ///< that made it
  std::vector<Fact> facts{};  ///< what was asked, and how far to trust the answer; of pages
  std::vector<AnswerSection> sections{};
  /// The rows of csv and jsonl, and of json where there is no document. Without them: those of the
  /// first table.
  std::optional<std::vector<Record>> rows{};
  Record no_row{};    ///< a row with the columns of csv, for answers that may have none
  Record document{};  ///< all of the answer, for json

  /// Adds a section with a drawing that only terminals show.
  void draw(Drawing drawing);
  /// Adds a section with sentences that only terminals show.
  void head(std::vector<Note> notes);
  /// Adds a section with figures that only terminals show, after an empty line.
  void figures(std::vector<Fact> all);
  /// Adds a sentence, after an empty line.
  void say(Note note);
};

/// Writes the answer in a format. This is the only place that knows formats of answers.
void write_answer(Format format, const Answer& answer, std::ostream& out);

/// The command line as a shell reads it: "collsim run -t hgx-h200 --env 'A=b c'".
std::string command_text(std::string_view subcommand, std::span<const std::string> args);

/// The different texts under a key of the rows, in their order, joined by commas; "-" for null.
std::string joined_values(std::span<const Record> rows, const std::string& key);

/// The line of a chart that has the name; a new one at its end if none has.
ChartSeries& line_called(const std::string& name, Chart& chart);

/// Adds the facts that say where times of these classes lay, and collsim's version.
void add_ranges_and_version(Answer& answer, const ErrorClasses& classes = {});

}  // namespace collsim::command
