#pragma once

#include <iosfwd>

#include "tools/collsim/report/report.h"

namespace collsim::command {

/// The report as one HTML file that needs no other and asks the network for nothing. Throws
/// InputError if the scripts that draw are not installed.
void write_page(const Report& report, std::ostream& out);

}  // namespace collsim::command
