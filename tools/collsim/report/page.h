#pragma once

#include <iosfwd>

namespace collsim::command {

struct Answer;

/// The answer as one HTML file that needs no other and asks the network for nothing. Throws
/// InputError if the scripts that draw are not installed.
void write_page(const Answer& answer, std::ostream& out);

}  // namespace collsim::command
