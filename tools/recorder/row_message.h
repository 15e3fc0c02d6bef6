#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "tools/recorder/recording_file.h"

namespace collsim::recorder {

/// A measured row as rank 0 tells it to its parent, and back: one line, the case by its index into
/// the run's. Reading gives nothing when the line is no row.
std::string row_message(std::size_t case_index, const Row& row);
std::optional<std::pair<std::size_t, Row>> read_row_message(std::string_view line);

}  // namespace collsim::recorder
