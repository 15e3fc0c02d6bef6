#pragma once

#include <optional>
#include <vector>

#include "tools/collsim/diagnose/value_fit.h"

namespace collsim {

/// Fits two causes at once, where no single one explains the times: the best pair of the likeliest
/// ones, simulated. `causes` are sorted by their scores. Nothing where a single one explains the
/// times as well, or one that the log shows explains most of them.
std::optional<FittedCause> fit_two(const ValueFit& fit, const std::vector<FittedCause>& causes);

}  // namespace collsim
