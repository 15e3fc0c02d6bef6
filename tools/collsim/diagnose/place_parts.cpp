#include "tools/collsim/diagnose/place_parts.h"

#include <algorithm>
#include <cmath>

namespace collsim {

namespace {

/// Places that play one part in a call.
struct Part {
  std::vector<const CausePlace*> places;
  std::vector<double> log_times;
};
constexpr std::size_t max_parts = 16;

/// Whether two places make every size equally slow, up to what two estimates differ by.
bool agree(const std::vector<double>& a, const std::vector<double>& b) {
  constexpr double alike = 0.02;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::abs(a[i] - b[i]) > alike) return false;
  }
  return true;
}

/// What makes a part far slower: the milder, the more places look alike.
double severe_value(const CauseParameter& parameter) {
  return parameter.values[parameter.values.size() / 4];
}

Hypothesis in_place(Hypothesis hypothesis, const std::vector<const CausePlace*>& alike,
                    double share) {
  const CausePlace place = *alike.front();
  hypothesis.place = place.name;
  hypothesis.change = place.change;
  hypothesis.place_share = share;
  for (const CausePlace* each : alike) hypothesis.alike.push_back(each->name);
  hypothesis.places.clear();
  return hypothesis;
}

/// A cause that cannot be estimated, in the first and the last of its places.
std::vector<Hypothesis> ends_of(const Hypothesis& hypothesis) {
  constexpr double share = 0.5;
  return {in_place(hypothesis, {&hypothesis.places.front()}, share),
          in_place(hypothesis, {&hypothesis.places.back()}, share)};
}

}  // namespace

std::vector<Hypothesis> parts_of(const Hypothesis& hypothesis, const LogPredictor& predictor,
                                 const std::vector<PointIndex>& points) {
  if (hypothesis.places.size() < 2) return {hypothesis};
  const double value = hypothesis.parameter ? severe_value(*hypothesis.parameter) : 0;
  std::vector<Part> parts;
  std::size_t count = 0;
  for (const CausePlace& place : hypothesis.places) {
    const auto estimated = predictor.estimate(place.change(value), points);
    if (!estimated) continue;
    ++count;
    const auto same = std::find_if(parts.begin(), parts.end(), [&](const Part& part) {
      return agree(part.log_times, estimated->log_times);
    });
    if (same == parts.end()) {
      parts.push_back({{&place}, estimated->log_times});
    } else {
      same->places.push_back(&place);
    }
  }
  if (parts.empty()) return ends_of(hypothesis);
  std::stable_sort(parts.begin(), parts.end(),
                   [](const Part& a, const Part& b) { return a.places.size() > b.places.size(); });
  if (parts.size() > max_parts) parts.resize(max_parts);
  std::vector<Hypothesis> all;
  all.reserve(parts.size());
  for (const Part& part : parts) {
    all.push_back(in_place(hypothesis, part.places,
                           static_cast<double>(part.places.size()) / static_cast<double>(count)));
  }
  return all;
}

}  // namespace collsim
