#pragma once

#include "tools/collsim/diagnose/hypothesis.h"

namespace collsim {

/// The weight of a cause that the log shows by a line or a setting, beside others: what it shows
/// did happen, whatever else may have, so that other causes are looked for beside it.
inline constexpr double weight_if_shown = 1e5;

/// Whether the log shows a cause: it has that weight, of which a rare cause has a tenth.
inline bool is_shown(const Hypothesis& hypothesis) {
  constexpr double rare = 0.1;
  return hypothesis.weight >= rare * weight_if_shown;
}

}  // namespace collsim
