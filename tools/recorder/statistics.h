#pragma once

#include <vector>

namespace collsim::recorder {

struct Statistics {
  double median = 0;
  double min = 0;
  double max = 0;
  double p99 = 0;  ///< nearest rank: the smallest value that 99 % of the values do not exceed
};

/// Of one value or more.
Statistics statistics_of(std::vector<double> values);

}  // namespace collsim::recorder
