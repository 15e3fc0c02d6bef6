#include "models/diagnosis/place_parts.h"

#include <algorithm>
#include <cmath>

namespace collsim {

namespace {

/// Places that play one part in a call.
struct Part {
  const CausePlace* place = nullptr;  ///< the first of them
  std::vector<double> log_times;
  std::size_t places = 1;
};
constexpr std::size_t max_parts = 8;

/// Whether two places make every size equally slow, up to what two estimates differ by.
bool agree(const std::vector<double>& a, const std::vector<double>& b) {
  constexpr double alike = 0.02;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::abs(a[i] - b[i]) > alike) return false;
  }
  return true;
}

double middle_value(const CauseParameter& parameter) {
  return parameter.values[parameter.values.size() / 2];
}

Hypothesis in_place(Hypothesis hypothesis, const CausePlace& place, double share) {
  hypothesis.place = place.name;
  hypothesis.place_share = share;
  hypothesis.change = place.change;
  hypothesis.places.clear();
  return hypothesis;
}

/// A cause that cannot be estimated, in the first and the last of its places.
std::vector<Hypothesis> ends_of(const Hypothesis& hypothesis) {
  constexpr double share = 0.5;
  const CausePlace first = hypothesis.places.front();
  const CausePlace last = hypothesis.places.back();
  return {in_place(hypothesis, first, share), in_place(hypothesis, last, share)};
}

/// Every second point, the first and the last among them: enough to tell parts apart.
std::vector<PointIndex> few_of(const std::vector<PointIndex>& points) {
  constexpr std::size_t one_in = 2;
  std::vector<PointIndex> few;
  for (std::size_t i = 0; i + 1 < points.size(); i += one_in) few.push_back(points[i]);
  few.push_back(points.back());
  return few;
}

}  // namespace

std::vector<Hypothesis> parts_of(const Hypothesis& hypothesis, const Predictor& predictor,
                                 const std::vector<PointIndex>& points) {
  if (hypothesis.places.size() < 2) return {hypothesis};
  const std::vector<PointIndex> few = few_of(points);
  const double value = hypothesis.parameter ? middle_value(*hypothesis.parameter) : 0;
  std::vector<Part> parts;
  std::size_t count = 0;
  for (const CausePlace& place : hypothesis.places) {
    const auto estimated = predictor.estimate(place.change(value), few);
    if (!estimated) continue;
    ++count;
    const auto same = std::find_if(parts.begin(), parts.end(), [&](const Part& part) {
      return agree(part.log_times, estimated->log_times);
    });
    if (same == parts.end()) {
      parts.push_back({&place, estimated->log_times});
    } else {
      ++same->places;
    }
  }
  if (parts.empty()) return ends_of(hypothesis);
  std::stable_sort(parts.begin(), parts.end(),
                   [](const Part& a, const Part& b) { return a.places > b.places; });
  if (parts.size() > max_parts) parts.resize(max_parts);
  std::vector<Hypothesis> all;
  all.reserve(parts.size());
  for (const Part& part : parts) {
    all.push_back(in_place(hypothesis, *part.place,
                           static_cast<double>(part.places) / static_cast<double>(count)));
  }
  return all;
}

}  // namespace collsim
