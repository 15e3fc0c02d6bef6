#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>
#include <utility>

#include "sim/base/median.h"
#include "sim/base/words.h"
#include "tools/collsim/diagnose/diagnosis.h"

namespace collsim {

namespace {

constexpr double min_concern = 0.05;  // however well a machine is known

using SizesOfCall = std::vector<const DiagnosedSize*>;

/// The sizes of a call that are bound by bandwidth, or the others.
SizesOfCall part_of(const SizesOfCall& call, bool bound_by_bandwidth) {
  SizesOfCall part;
  for (const DiagnosedSize* size : call) {
    if ((size->point.size >= bandwidth_bound) == bound_by_bandwidth) part.push_back(size);
  }
  return part;
}

/// The middle one of a figure of sizes; 0 where there are none.
double middle(const SizesOfCall& sizes, double (DiagnosedSize::*figure)() const) {
  std::vector<double> all;
  all.reserve(sizes.size());
  for (const DiagnosedSize* size : sizes) all.push_back((size->*figure)());
  return median(std::move(all));
}

constexpr double min_share = 0.25;  // of sizes or calls, that is more than noise

/// Whether enough sizes are too fast: what links hold back shows at the largest ones alone.
bool is_too_fast(const SizesOfCall& sizes) {
  const auto fast = std::count_if(sizes.begin(), sizes.end(),
                                  [](const DiagnosedSize* size) { return size->excess() > 1; });
  return fast > 0 && static_cast<double>(fast) >= min_share * static_cast<double>(sizes.size());
}

/// A fall by less may be one of NCCL's choices, or noise: of healthy published runs the deepest is
/// to 0.61 (b200x8x64-ib-allreduce-nvls), of degraded ones it is to 0.43.
constexpr double max_fall = 0.58;
/// A size that is about as fast as expected is none that a fall leads to.
constexpr double fallen = 0.7;
/// Nothing below is healthy, however far off predictions have been: of published runs whose sources
/// find nothing wrong, one in twenty lies between 0.6 and this, as two do that lost GPUDirect.
constexpr double min_healthy = 2.0 / 3;

/// Whether so many sizes in a row are low: single ones are noise, several are a protocol or an
/// algorithm that meets what is slow.
bool has_hole(const SizesOfCall& sizes) {
  constexpr int adjacent = 3;
  int low = 0;
  for (const DiagnosedSize* size : sizes) {
    low = size->slowness() > 1 ? low + 1 : 0;
    if (low == adjacent) return true;
  }
  return false;
}

Verdict verdict_of_call(const SizesOfCall& call) {
  const SizesOfCall large = part_of(call, true);
  const SizesOfCall small = part_of(call, false);
  const bool is_low =
      middle(large, &DiagnosedSize::slowness) > 1 || middle(small, &DiagnosedSize::slowness) > 1;
  if (is_low || has_hole(small) || has_hole(large) || fall_of(call)) return Verdict::low;
  // Small calls depend on CPUs as well, of which a log says nothing.
  const SizesOfCall& deciding = large.empty() ? small : large;
  if (is_too_fast(deciding)) return Verdict::not_this_machine;
  return middle(deciding, &DiagnosedSize::doubt) > 1 ? Verdict::cannot_tell : Verdict::healthy;
}

/// Causes that are one answer, and how likely it is that something unknown acts beside them.
struct Answer {
  CauseGroup group;
  double with_unknown = 0;
};

/// The likelihood of a group belongs to its causes by how likely they are beforehand.
void share_likelihood(CauseGroup& group) {
  std::stable_sort(
      group.causes.begin(), group.causes.end(),
      [](const FittedCause& a, const FittedCause& b) { return prior_of(a) > prior_of(b); });
  const double most = prior_of(group.causes.front());
  double sum = 0;
  for (const FittedCause& cause : group.causes) sum += std::exp(prior_of(cause) - most);
  for (FittedCause& cause : group.causes) {
    cause.likelihood = group.likelihood * std::exp(prior_of(cause) - most) / sum;
  }
}

/// Answers whose first causes are the same in some way as one, as likely as all of them. The
/// likeliest first.
template <typename Same>
std::vector<Answer> joined(std::vector<Answer> answers, const Same& same) {
  std::vector<Answer> all;
  for (Answer& each : answers) {
    const auto found = std::find_if(all.begin(), all.end(), [&](const Answer& other) {
      return same(other.group.causes.front(), each.group.causes.front());
    });
    if (found == all.end()) {
      all.push_back(std::move(each));
      continue;
    }
    found->group.likelihood += each.group.likelihood;
    found->with_unknown += each.with_unknown;
    std::move(each.group.causes.begin(), each.group.causes.end(),
              std::back_inserter(found->group.causes));
  }
  std::stable_sort(all.begin(), all.end(), [](const Answer& a, const Answer& b) {
    return a.group.likelihood > b.group.likelihood;
  });
  return all;
}

/// Of sorted causes, those that predict the same together; then those of one fault, wherever it is,
/// however much, and whatever else was guessed wrongly of the machine.
std::vector<Answer> answers_of(std::vector<FittedCause> causes, double best) {
  std::vector<Answer> alone;
  for (FittedCause& cause : causes) {
    const double likelihood = std::exp(score_of(cause) - best);
    const double with_unknown = likelihood * share_of_unknown(cause);
    alone.push_back({{{std::move(cause)}, likelihood}, with_unknown});
  }
  std::vector<Answer> alike = joined(std::move(alone), predict_the_same);
  for (Answer& each : alike) share_likelihood(each.group);
  return joined(std::move(alike), [](const FittedCause& a, const FittedCause& b) {
    return a.hypothesis.fault() == b.hypothesis.fault();
  });
}

}  // namespace

std::string_view to_string(Verdict verdict) {
  return word_for(verdict, {{Verdict::healthy, "healthy"},
                            {Verdict::cannot_tell, "cannot tell"},
                            {Verdict::low, "low"},
                            {Verdict::not_this_machine, "not this machine"},
                            {Verdict::impossible, "impossible"},
                            {Verdict::wrong, "wrong data"}});
}

double DiagnosedSize::limit() const {
  return std::exp(-std::max(spread, alarm));
}

double DiagnosedSize::slowness() const {
  return -std::log(ratio()) / std::max({spread, alarm, min_concern});
}

double DiagnosedSize::healthy_from() const {
  return std::exp(-std::clamp(spread, min_concern, -std::log(min_healthy)));
}

double DiagnosedSize::doubt() const {
  return std::log(ratio()) / std::log(healthy_from());
}

double DiagnosedSize::healthy_to() const {
  // A machine may be of a faster kind than the one that was measured: by a half at most.
  return std::exp(std::clamp(known, std::log(1.5), std::log(2)));
}

double DiagnosedSize::excess() const {
  return std::log(ratio()) / std::log(healthy_to());
}

namespace {

/// Of busbw, measured in the faster place / expected: what is slow in a single place was disturbed.
double ratio_of_faster_place(const DiagnosedSize& size) {
  double ratio = size.ratio();
  for (const std::optional<Seconds>& place : size.point.places) {
    if (place) ratio = std::max(ratio, size.expected.value / place->value);
  }
  return ratio;
}

}  // namespace

std::optional<BusbwFall> fall_of(const std::vector<const DiagnosedSize*>& sizes) {
  std::optional<BusbwFall> deepest;
  double depth = max_fall;
  const DiagnosedSize* best = nullptr;
  for (const DiagnosedSize* size : sizes) {
    if (size->point.size < bandwidth_bound) continue;
    const double ratio = ratio_of_faster_place(*size);
    // What is faster than expected is the prediction's error at that size, no height to fall from.
    const double from = best == nullptr ? 0 : std::min(1.0, ratio_of_faster_place(*best));
    if (ratio < fallen && ratio < depth * from) {
      depth = ratio / from;
      deepest = {best, size};
    }
    if (best == nullptr || ratio > ratio_of_faster_place(*best)) best = size;
  }
  return deepest;
}

Verdict verdict_of(const DiagnosedSize& size) {
  if (size.point.fastest < size.bound) return Verdict::impossible;
  if (size.excess() > 1) return Verdict::not_this_machine;
  if (size.slowness() > 1) return Verdict::low;
  return size.doubt() > 1 ? Verdict::cannot_tell : Verdict::healthy;
}

Verdict verdict_of(const std::vector<DiagnosedSize>& sizes) {
  Verdict worst = Verdict::healthy;
  std::map<std::size_t, SizesOfCall> calls;
  for (const DiagnosedSize& size : sizes) {
    worst = std::max(worst, size.verdict);
    calls[size.series].push_back(&size);
  }
  if (worst >= Verdict::impossible) return worst;
  std::map<Verdict, std::size_t> counts;
  for (const auto& [number, call] : calls) ++counts[verdict_of_call(call)];
  for (const Verdict verdict : {Verdict::not_this_machine, Verdict::low, Verdict::cannot_tell}) {
    const auto share = static_cast<double>(counts[verdict]) / static_cast<double>(calls.size());
    if (counts[verdict] > 0 && share >= min_share) return verdict;
  }
  return Verdict::healthy;
}

Posterior posterior_of(std::vector<FittedCause> causes, const OtherScores& others) {
  sort_by_score(causes);
  double best = std::max(others.healthy, others.none);
  if (!causes.empty()) best = std::max(best, score_of(causes.front()));
  Posterior all;
  all.healthy = std::exp(others.healthy - best);
  all.none = std::exp(others.none - best);
  for (Answer& answer : answers_of(std::move(causes), best)) {
    all.none = std::max(all.none, answer.with_unknown);
    all.causes.push_back(std::move(answer.group));
  }
  double sum = all.healthy + all.none;
  for (const CauseGroup& group : all.causes) sum += group.likelihood;
  all.healthy /= sum;
  all.none /= sum;
  for (CauseGroup& group : all.causes) {
    group.likelihood /= sum;
    for (FittedCause& cause : group.causes) cause.likelihood /= sum;
  }
  return all;
}

double Posterior::fine() const {
  double sum = healthy;
  for (const CauseGroup& group : causes) {
    if (group.causes.front().hypothesis.is_question) sum += group.likelihood;
  }
  return sum;
}

Ruling judge(Verdict of_sizes, bool is_slow, const Posterior& posterior) {
  constexpr double even = 0.5;
  constexpr double unlikely = 0.05;
  const double fine = posterior.fine();
  if (fine > even && of_sizes == Verdict::healthy) return {Verdict::healthy};
  if (fine > even && !posterior.causes.empty() &&
      posterior.causes.front().likelihood >= posterior.none) {
    const FittedCause& first = posterior.causes.front().causes.front();
    if (first.hypothesis.is_question) {  // what it leaves of the times counts for `none`
      return {Verdict::healthy,
              fmt::format("as it should be if {}; {}", describe(first.hypothesis, first.value),
                          first.hypothesis.check)};
    }
  }
  if (of_sizes != Verdict::low && !is_slow) return {Verdict::cannot_tell};
  if (fine < unlikely) return {Verdict::low};
  return {Verdict::cannot_tell,
          fmt::format("slower than 19 of 20 healthy runs would be, but with all that may be the "
                      "matter, nothing is wrong with {:.0f} %",
                      100 * fine)};
}

}  // namespace collsim
