#pragma once

#include <array>
#include <optional>

#include "tools/collsim/diagnose/cause_fit.h"

namespace collsim {

/// A call that two causes predict differently.
struct NextMeasurement {
  RecordedCall call;
  Bytes size;
  Seconds first;   ///< with the one cause
  Seconds second;  ///< with the other
  std::array<FittedCause, 2> causes{};
};

/// Finds, of other collectives, sizes and numbers of nodes, the one for which the causes differ
/// most; by estimates, then by simulation. Nothing where none differs by a tenth.
std::optional<NextMeasurement> next_measurement(const LogPredictor& predictor,
                                                const RecordedCall& call, const FittedCause& first,
                                                const FittedCause& second);

}  // namespace collsim
