#pragma once

#include <iosfwd>

namespace collsim::command {

struct Answer;

/// Writes the answer for people in a terminal: sentences, tables, figures and drawings.
void write_terminal(const Answer& answer, std::ostream& out);

}  // namespace collsim::command
