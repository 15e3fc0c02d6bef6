#include "tools/collsim/plan/frontier.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace collsim {

std::vector<std::size_t> frontier(std::span<const CostAndTime> choices) {
  std::vector<std::size_t> order(choices.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t one, std::size_t other) {
    const CostAndTime& a = choices[one];
    const CostAndTime& b = choices[other];
    return a.cost != b.cost ? a.cost < b.cost : a.time < b.time;
  });
  std::vector<std::size_t> front;
  double least = std::numeric_limits<double>::infinity();
  for (const std::size_t each : order) {
    if ((1 + choices[each].error) * choices[each].time >= least) continue;
    least = choices[each].time;
    front.push_back(each);
  }
  return front;
}

}  // namespace collsim
