#include "tools/recorder/statistics.h"

#include <algorithm>
#include <cassert>
#include <cstddef>

#include "sim/base/median.h"

namespace collsim::recorder {

Statistics statistics_of(std::vector<double> values) {
  assert(!values.empty());
  std::sort(values.begin(), values.end());
  const std::size_t count = values.size();
  const std::size_t p99_rank = (99 * count + 99) / 100;
  return {collsim::median(values), values.front(), values.back(), values[p99_rank - 1]};
}

}  // namespace collsim::recorder
