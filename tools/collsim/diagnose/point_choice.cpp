#include "tools/collsim/diagnose/point_choice.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <set>

#include "tools/collsim/diagnose/spread.h"

namespace collsim {

namespace {

void add(const std::vector<std::size_t>& members, const std::set<std::size_t>& chosen,
         PointChoice& choice) {
  for (std::size_t k = 0; k < members.size(); ++k) {
    const auto distance = [k](std::size_t other) { return k > other ? k - other : other - k; };
    const auto nearest =
        std::min_element(chosen.begin(), chosen.end(),
                         [&](std::size_t x, std::size_t y) { return distance(x) < distance(y); });
    choice.stand_ins[members[k]] =
        choice.points.size() + static_cast<std::size_t>(std::distance(chosen.begin(), nearest));
  }
  for (const std::size_t k : chosen) choice.points.push_back(members[k]);
}

/// Places in `members`, points of one series by rising size.
std::set<std::size_t> first_chosen(const Evidence& evidence, const std::vector<PointIndex>& points,
                                   const std::vector<std::size_t>& members) {
  const auto is_large = [&](std::size_t point) {
    const PointIndex& at = points[point];
    return evidence.series[at.series].points[at.point].size >= bandwidth_bound;
  };
  const auto found = std::find_if(members.begin(), members.end(), is_large);
  const auto last = static_cast<std::size_t>(
      std::distance(members.begin(), found == members.end() ? std::prev(found) : found));
  return {0, last / 2, last};
}

}  // namespace

PointChoice every_point(std::size_t count) {
  PointChoice choice;
  choice.points.resize(count);
  std::iota(choice.points.begin(), choice.points.end(), std::size_t{0});
  choice.stand_ins = choice.points;
  return choice;
}

PointChoice choose_points(const Evidence& evidence, const std::vector<PointIndex>& points,
                          const std::vector<std::uint64_t>& transfers, std::uint64_t most,
                          bool with_largest) {
  std::map<std::size_t, std::vector<std::size_t>> by_series;
  for (std::size_t i = 0; i < points.size(); ++i) by_series[points[i].series].push_back(i);
  PointChoice choice;
  choice.stand_ins.resize(points.size());
  for (const auto& [series, members] : by_series) {
    const std::uint64_t share = most / by_series.size();
    std::set<std::size_t> chosen = first_chosen(evidence, points, members);
    if (with_largest && transfers[members.back()] <= share) chosen.insert(members.size() - 1);
    std::uint64_t sum = 0;
    for (const std::size_t k : chosen) sum += transfers[members[k]];
    for (std::size_t k = 0; k < members.size(); ++k) {
      if (chosen.contains(k)) continue;
      sum += transfers[members[k]];
      if (sum > share) break;
      chosen.insert(k);
    }
    add(members, chosen, choice);
  }
  return choice;
}

}  // namespace collsim
