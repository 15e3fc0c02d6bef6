#pragma once

#include <iosfwd>

#include "tools/collsim/report/report.h"

namespace collsim::command {

/// The report's facts, texts and tables as Markdown, for an issue or a wiki. Charts are left out.
void write_markdown(const Report& report, std::ostream& out);

}  // namespace collsim::command
