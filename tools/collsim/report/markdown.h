#pragma once

#include <iosfwd>

namespace collsim::command {

struct Answer;

/// The answer's facts, sentences and tables as Markdown, for an issue or a wiki. Charts are left
/// out.
void write_markdown(const Answer& answer, std::ostream& out);

}  // namespace collsim::command
