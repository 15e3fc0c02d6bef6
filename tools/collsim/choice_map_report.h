#pragma once

#include <iosfwd>
#include <span>
#include <string>

#include "models/prediction/choice_map.h"
#include "tools/collsim/question.h"

namespace collsim::command {

/// A map of what is fastest, one row for each set of ranks; all rows have the same sizes.
struct ChoiceMap {
  const Question* question = nullptr;
  std::span<const ChoiceRow> rows;
};

/// In 80 columns: two letters for each size, three lines for each row; many sizes in several
/// blocks.
void print_choice_map(const ChoiceMap& map, std::ostream& out);
/// A record for each cell, in csv or json.
void print_choice_records(const ChoiceMap& map, std::ostream& out);
/// A drawing: an SVG file, which a page may hold as it is.
void print_choice_svg(const ChoiceMap& map, std::ostream& out);
/// A page that needs no other file: the drawing, and the cells as a table.
void print_choice_html(const ChoiceMap& map, std::ostream& out);

}  // namespace collsim::command
