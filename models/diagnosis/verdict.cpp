#include <algorithm>
#include <cmath>
#include <utility>

#include "models/diagnosis/diagnosis.h"
#include "sim/base/median.h"

namespace collsim {

namespace {

/// The middle one of what is slow about some sizes of a call; 0 where there are none.
double middle_slowness(const std::vector<const DiagnosedSize*>& call, bool bound_by_bandwidth) {
  std::vector<double> all;
  for (const DiagnosedSize* size : call) {
    const bool is_bound = size->point.size >= bandwidth_bound;
    if (is_bound == bound_by_bandwidth) all.push_back(size->slowness());
  }
  return median(std::move(all));
}

bool is_low(const std::vector<const DiagnosedSize*>& call) {
  return middle_slowness(call, true) > 1 || middle_slowness(call, false) > 1;
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

double DiagnosedSize::slowness() const {
  constexpr double least_concern = 0.05;  // however well a machine is known
  return -std::log(ratio()) / std::max(spread, least_concern);
}

Verdict verdict_of(const std::vector<DiagnosedSize>& sizes) {
  constexpr double least_share = 0.25;
  Verdict worst = Verdict::healthy;
  std::map<std::size_t, std::vector<const DiagnosedSize*>> calls;
  for (const DiagnosedSize& size : sizes) {
    if (size.verdict != Verdict::low) worst = std::max(worst, size.verdict);
    calls[size.series].push_back(&size);
  }
  if (worst != Verdict::healthy) return worst;
  std::size_t low = 0;
  for (const auto& [number, call] : calls) low += is_low(call) ? 1U : 0U;
  const bool enough = static_cast<double>(low) >= least_share * static_cast<double>(calls.size());
  return low > 0 && enough ? Verdict::low : Verdict::healthy;
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
