#pragma once

#include <string>
#include <vector>

#include "tools/collsim/moe/exchange_report.h"

namespace collsim::command {

/// A bar for each row, divided as its time is: launch, ports or thread blocks, what the skew adds
/// to them, and the first tokens. An SVG file. Rows of NCCL's calls have no parts but the skew.
std::string exchange_drawing(const ExchangeHeading& heading, const std::vector<ExchangeRow>& rows);

}  // namespace collsim::command
