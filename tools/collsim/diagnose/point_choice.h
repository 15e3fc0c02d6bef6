#pragma once

#include <cstdint>
#include <vector>

#include "tools/collsim/diagnose/log_predictor.h"

namespace collsim {

/// Points that are simulated, and for each point the place of the one among them that stands for
/// it.
struct PointChoice {
  std::vector<std::size_t> points;
  std::vector<std::size_t> stand_ins;
};

/// Chooses each of so many points.
PointChoice every_point(std::size_t count);

/// Chooses of each series the smallest size, the smallest that bandwidth bounds and the one between
/// them, and the largest if that is wanted; then the smallest others that take no more than `most`
/// messages together. What is left out is off its estimate by as much as the nearest chosen one.
/// `transfers` are the messages that each point takes.
PointChoice choose_points(const Evidence& evidence, const std::vector<PointIndex>& points,
                          const std::vector<std::uint64_t>& transfers, std::uint64_t most,
                          bool with_largest);

}  // namespace collsim
