#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace collsim {

/// What one choice costs, and how long it takes.
struct CostAndTime {
  double cost = 0;
  double time = 0;
  double error = 0;  ///< of the time: one that is faster by no more than this is not faster
};

/// Which of the choices no other beats: every other costs more, or takes longer by more than the
/// error, or is the same and comes later. In the order of cost.
std::vector<std::size_t> frontier(std::span<const CostAndTime> choices);

}  // namespace collsim
