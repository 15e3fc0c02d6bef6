#pragma once

#include <vector>

#include "tools/collsim/diagnose/log_predictor.h"

namespace collsim {

/// Splits a cause by the parts that its places play in the calls of the points, the commonest
/// first: places whose estimates agree play the same one, and a part has the weight of its places.
/// A cause that no estimate takes is tried in its first and its last place.
std::vector<Hypothesis> parts_of(const Hypothesis& hypothesis, const LogPredictor& predictor,
                                 const std::vector<PointIndex>& points);

}  // namespace collsim
