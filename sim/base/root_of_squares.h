#pragma once

#include <cmath>

namespace collsim {

/// The root of the sum of squares: std::hypot() is a bit off it, to each C++ library's own side.
template <typename... Numbers>
double root_of_squares(Numbers... numbers) {
  return std::sqrt((... + (numbers * numbers)));
}

}  // namespace collsim
