#pragma once

#include <cstddef>
#include <string>

#include "tools/collsim/report/answer.h"

namespace collsim::command {

/// All kinds of cables of a ranking, as JSON has it; a terminal shows so many rows.
Table link_table(const Record& ranking, std::size_t rows);

/// For pages a bar for each kind of cable, the worst first, up to 30.
AnswerSection slowdown_section(const std::string& run, const Record& ranking);

}  // namespace collsim::command
