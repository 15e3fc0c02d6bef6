#include "models/machine/cached_share.h"

#include <cassert>
#include <cmath>

namespace collsim {

double cached_share(double footprint, Bytes cache) {
  assert(cache.count > 0);
  const double fills = footprint / static_cast<double>(cache.count);
  if (fills <= 1) return 1;
  // The missed share m solves m = 1 - exp(-fills m), above log(fills) / fills.
  double low = std::log(fills) / fills;
  double high = 1;
  constexpr int halvings = 40;
  for (int i = 0; i < halvings; ++i) {
    const double middle = (low + high) / 2;
    (middle < -std::expm1(-fills * middle) ? low : high) = middle;
  }
  return 1 - high;
}

}  // namespace collsim
