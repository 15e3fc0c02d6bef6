#pragma once

#include <vector>

namespace collsim {

/// The middle value; of an even number of values the mean of the middle two; of none 0.
double median(std::vector<double> values);

}  // namespace collsim
