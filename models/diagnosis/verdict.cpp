#include <algorithm>
#include <cmath>

#include "models/diagnosis/diagnosis.h"

namespace collsim {

namespace {

/// Sizes of low verdict that stand next to each other: three, or all where there are fewer.
std::size_t low_sizes_together(const std::vector<const DiagnosedSize*>& series) {
  constexpr std::size_t enough = 3;
  std::size_t low = 0;
  std::size_t run = 0;
  for (std::size_t i = 0; i <= series.size(); ++i) {
    if (i < series.size() && series[i]->verdict == Verdict::low) {
      ++run;
      continue;
    }
    if (run >= std::min(enough, series.size())) low += run;
    run = 0;
  }
  return low;
}

/// That this cause and a likelier one predict the same for every size.
bool same(const FittedCause& a, const FittedCause& b) {
  constexpr double apart = 0.05;
  for (std::size_t i = 0; i < a.predicted.log_times.size(); ++i) {
    if (std::abs(a.predicted.log_times[i] - b.predicted.log_times[i]) > apart) return false;
  }
  return true;
}

}  // namespace

std::string_view to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::healthy:
      return "healthy";
    case Verdict::low:
      return "low";
    case Verdict::impossible:
      return "impossible";
    case Verdict::wrong:
      return "wrong";
  }
  return "?";
}

Verdict verdict_of(const std::vector<DiagnosedSize>& sizes) {
  constexpr double least_share = 0.05;  // of a log of many calls
  Verdict worst = Verdict::healthy;
  std::map<std::size_t, std::vector<const DiagnosedSize*>> by_series;
  for (const DiagnosedSize& size : sizes) {
    if (size.verdict != Verdict::low) worst = std::max(worst, size.verdict);
    by_series[size.series].push_back(&size);
  }
  if (worst != Verdict::healthy) return worst;
  std::size_t low = 0;
  for (const auto& [number, series] : by_series) low += low_sizes_together(series);
  const bool is_low =
      low > 0 && static_cast<double>(low) >= least_share * static_cast<double>(sizes.size());
  return is_low ? Verdict::low : Verdict::healthy;
}

std::vector<CauseGroup> group_causes(std::vector<FittedCause> causes, double score_of_none) {
  std::vector<CauseGroup> groups;
  for (FittedCause& cause : causes) {
    const auto found = std::find_if(groups.begin(), groups.end(), [&](const CauseGroup& group) {
      return same(group.causes.front(), cause);
    });
    if (found == groups.end()) {
      groups.push_back({{std::move(cause)}});
    } else {
      found->causes.push_back(std::move(cause));
    }
  }
  double best = score_of_none;
  for (const CauseGroup& group : groups) best = std::max(best, score_of(group.causes.front()));
  double sum = std::exp(score_of_none - best);
  for (CauseGroup& group : groups) {
    group.likelihood = std::exp(score_of(group.causes.front()) - best);
    sum += group.likelihood;
  }
  for (CauseGroup& group : groups) group.likelihood /= sum;
  return groups;
}

}  // namespace collsim
