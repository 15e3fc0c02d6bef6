#pragma once

#include <iosfwd>
#include <nlohmann/json.hpp>

#include "tools/collsim/steps/lesson.h"

namespace collsim::command {

/// For people, in lines of at most 80 letters for up to eight chunks or ranks:
///
///   step 1 of 4: reduce-scatter
///      0 -> 1   chunk 2  reduce
///
///           chunk 0  chunk 1  chunk 2
///   rank 0  a0       a0+a2*   a0
void print_lesson(const Lesson& lesson, std::ostream& out);

/// Prints the lesson as Markdown: headings, tables, the timeline as a block of code.
void print_lesson_markdown(const Lesson& lesson, std::ostream& out);

/// For programs: what is sent in each step, who holds whose contributions of each chunk after it,
/// and of a simulated call links and times. Participants are numbers; `participants` names them.
nlohmann::ordered_json lesson_json(const Lesson& lesson);

}  // namespace collsim::command
