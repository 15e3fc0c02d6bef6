#pragma once

#include <string>

namespace collsim::command {

/// The release: "1.0.0".
const char* release();

/// "collsim 1.0.0", a line; if `verbose`, also the libraries and the compiler that it was built
/// with, each in a line: what a report of a bug needs.
std::string version_text(bool verbose);

}  // namespace collsim::command
