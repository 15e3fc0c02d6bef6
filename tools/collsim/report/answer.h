#pragma once

#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "tools/collsim/core/format.h"
#include "tools/collsim/report/records.h"
#include "tools/collsim/report/report.h"

namespace collsim::command {

/// What a command answers, apart from any format. Only the part that a format needs is made. Parts
/// that no offered format needs may be left empty.
struct Answer {
  /// Prints the answer for people in a terminal.
  std::function<void(std::ostream& out)> print;
  /// The rows of csv and jsonl, and of json where there is no document.
  std::function<std::vector<Record>()> rows{};
  /// A row with the columns of csv, for answers that may have none.
  std::function<Record()> no_row{};
  /// All of the answer, for json.
  std::function<Record()> document{};
  /// Columns, rows, notes and charts, for html and markdown.
  std::function<Report()> report{};
};

/// Writes the answer in a format. This is the only place that knows formats of answers.
void write_answer(Format format, const Answer& answer, std::ostream& out);

}  // namespace collsim::command
