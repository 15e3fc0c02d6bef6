#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tools/collsim/hang/flight_record.h"

namespace collsim {

/// Whether a text has lines of PyTorch's watchdog for NCCL, its desync report, what NCCL's RAS says
/// of ranks that are behind, or what torchfrtrace prints of a call that not all have joined.
bool has_watchdog_lines(std::string_view content);

/// What such lines say, by rank: as dumps would, of the calls that they name alone. Of the only
/// communicator, ranks up to the last that is named are taken to be in it.
std::vector<FlightRecord> read_watchdog_text(const std::string& file, std::string_view content);

}  // namespace collsim
