#include "tools/collsim/diagnose/diagnosis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>

#include "sim/base/input_error.h"
#include "sim/base/median.h"
#include "sim/base/text.h"
#include "tools/collsim/diagnose/contradictions.h"
#include "tools/collsim/diagnose/correctness.h"
#include "tools/collsim/diagnose/setting_gain.h"
#include "tools/collsim/diagnose/value_fit.h"

namespace collsim {

namespace {

/// By the rules of another release than the one that ran, predictions are so many times as far off:
/// of published runs of releases before 2.18 whose sources find nothing wrong, the slowest have a
/// third of what is expected.
constexpr double other_release = 2;

/// What times are held against: the spread of the class, and the one that is wide enough for rules
/// of another release as well.
struct Spreads {
  Spread known;  ///< of the class, were the machine known: its fast end counts
  Spread of_class;
  Spread widened;
};

/// NCCL copies 16 bytes at a time only where all buffers begin at a multiple of them.
constexpr std::int64_t whole_pack = 16;

/// Whether ranks read or write parts of a buffer that do not begin at a multiple of 16 bytes: NCCL
/// then moves them element by element, which is not simulated (NCCL src/device/common_kernel.h).
bool has_odd_parts(const RecordedCall& call, Bytes size) {
  const bool has_parts =
      call.collective == Collective::all_gather || call.collective == Collective::reduce_scatter ||
      call.collective == Collective::all_to_all || call.collective == Collective::gather ||
      call.collective == Collective::scatter;
  return has_parts && size.count / call.ranks % whole_pack != 0;
}

/// What such parts may cost, as a logarithm: runs of 12 V100 have 0.42 to 0.46 of the expected
/// busbw where parts begin at multiples of four bytes, 0.46 to 0.58 at those of eight.
double alarm_of_odd_parts() {
  constexpr double least = 0.4;
  return -std::log(least);
}

/// Every size of every series on the healthy machine.
std::vector<DiagnosedSize> compare(const LogPredictor& predictor, const Spreads& spreads,
                                   Diagnosis& diagnosis) {
  std::vector<DiagnosedSize> sizes;
  const Evidence& evidence = predictor.evidence();
  for (std::size_t s = 0; s < evidence.series.size(); ++s) {
    const EvidenceSeries& series = evidence.series[s];
    std::vector<PointIndex> points;
    for (std::size_t p = 0; p < series.points.size(); ++p) points.push_back({s, p});
    const auto healthy = predictor.simulate({}, points);
    if (!healthy) {
      diagnosis.notes.push_back(fmt::format("{} of {} ranks cannot be predicted on this machine",
                                            to_string(series.call.collective), series.call.ranks));
      continue;
    }
    const RecordedBounds bounds(series.call, predictor.topology());
    for (std::size_t p = 0; p < points.size(); ++p) {
      DiagnosedSize size;
      size.series = s;
      size.point = series.points[p];
      size.expected = Seconds{std::exp(healthy->log_times[p])};
      size.bound = bounds.of(size.point.size);
      size.trust = healthy->places[p].trust;
      size.medium = healthy->places[p].medium;
      const auto range =
          error_range(spreads.known.ranges, size.trust, size.medium, size.point.size);
      size.known = range ? std::max(0.0, -std::log(range->low)) : 0;
      size.spread = spreads.of_class.healthy(size.trust, size.medium, size.point.size);
      // Releases differ by what NCCL chooses. Of large calls that is the algorithm.
      const bool is_forced = series.call.variables.contains("NCCL_ALGO");
      const bool is_widened = !is_forced || size.point.size < bandwidth_bound;
      const Spread& spread = is_widened ? spreads.widened : spreads.of_class;
      size.alarm = spread.alarm(size.trust, size.medium, size.point.size);
      if (has_odd_parts(series.call, size.point.size)) {
        size.alarm = std::max(size.alarm, alarm_of_odd_parts());
      }
      size.verdict = verdict_of(size);
      sizes.push_back(size);
    }
  }
  return sizes;
}

/// At most so many points, as many of each series, from its smallest to its largest size.
std::vector<PointIndex> chosen_points(const std::vector<DiagnosedSize>& sizes,
                                      const Evidence& evidence, std::size_t most) {
  std::map<std::size_t, std::size_t> judged;
  for (const DiagnosedSize& size : sizes) ++judged[size.series];
  std::vector<PointIndex> points;
  if (judged.empty()) return points;
  const std::size_t series = std::min(judged.size(), std::max<std::size_t>(1, most / 4));
  const std::size_t each = std::max<std::size_t>(4, most / series);
  for (std::size_t i = 0; i < series; ++i) {
    const std::size_t s =
        std::next(judged.begin(), static_cast<std::ptrdiff_t>(i * judged.size() / series))->first;
    const std::size_t count = evidence.series[s].points.size();
    const std::size_t taken = std::min(each, count);
    for (std::size_t p = 0; p < taken; ++p) {
      points.push_back({s, taken == 1 ? count - 1 : p * (count - 1) / (taken - 1)});
    }
  }
  return points;
}

/// Of the likeliest causes the first two that a call tells apart: the first ones may tie for every
/// call.
std::optional<NextMeasurement> next_of(const LogPredictor& predictor, const Diagnosis& diagnosis) {
  constexpr std::size_t tried = 4;
  std::vector<const FittedCause*> causes;
  for (const CauseGroup& group : diagnosis.causes) add_distinct(group.causes, tried, causes);
  for (std::size_t j = 1; j < causes.size(); ++j) {
    for (std::size_t i = 0; i < j; ++i) {
      auto next = next_measurement(predictor, diagnosis.calls.front(), *causes[i], *causes[j]);
      if (next) return next;
    }
  }
  return std::nullopt;
}

/// Looks for causes of the first call, by the times of all.
class CauseSearch {
 public:
  CauseSearch(const DiagnosisInput& input, const LogPredictor& predictor, const Spread& spread,
              const std::vector<DiagnosedSize>& sizes)
      : predictor_(predictor),
        spread_(spread),
        points_(chosen_points(sizes, predictor.evidence(), input.max_points)) {
    const Evidence& evidence = predictor.evidence();
    const RecordedCall& call = evidence.series[points_.front().series].call;
    healthy_ = predictor.simulate({}, points_).value();
    for (std::size_t i = 0; i < points_.size(); ++i) {
      const EvidenceSeries& series = evidence.series[points_[i].series];
      residuals_.push_back(std::log(series.points[points_[i].point].measured.value) -
                           healthy_.log_times[i]);
      const bool is_large = healthy_.places[i].size >= bandwidth_bound;
      if (is_large) large_.push_back(residuals_.back());
    }
    hypotheses_ = hypotheses_for(predictor.compiler_of(call), call, input.guesses_nics);
    std::map<std::string, std::string> settings = evidence.taken_away;
    settings.insert(call.variables.begin(), call.variables.end());
    weigh_by_facts(*input.facts, settings, hypotheses_);
    // What all hosts have, other runs would have had as well.
    constexpr double of_all_hosts = 0.1;
    for (Hypothesis& each : hypotheses_) {
      if (input.one_is_slow && each.places.empty()) each.weight *= of_all_hosts;
    }
  }

  /// Whether the log has sizes enough to show how it came to be slow, or shows a cause itself, and
  /// half of its sizes, or of those that bandwidth bounds, or any of the latter, are slower by 8 %.
  bool is_odd() const {
    constexpr double slower = 0.08;
    constexpr std::size_t least = 6;
    const bool shows_one = std::any_of(hypotheses_.begin(), hypotheses_.end(),
                                       [](const Hypothesis& each) { return is_shown(each); });
    if (points_.size() < least && !shows_one) return false;
    return median(residuals_) > slower ||
           std::any_of(large_.begin(), large_.end(), [](double each) { return each > slower; });
  }

  /// Whether the log shows its likeliest cause (a line, a setting), and the middle one of the sizes
  /// that bandwidth bounds, or of all where there are none, is slower by a tenth.
  bool shows_slowness(const std::vector<CauseGroup>& groups) const {
    constexpr double slower = 0.1;
    return !groups.empty() && is_shown(groups.front().causes.front().hypothesis) &&
           median(large_.empty() ? residuals_ : large_) > slower;
  }

  /// All that may have made the log: causes, that nothing is wrong but the prediction, or something
  /// unknown, which would explain any slowness, of near sizes alike.
  Posterior find(bool has_unpriced) const {
    const double healthy = log_likelihood(residuals_, healthy_.places, spread_) +
                           std::log(cause_row(load_causes(), "healthy").weight);
    // A setting that the log shows did happen, though what it costs is not known.
    const double none = likelihood_of_any(residuals_, healthy_.places, spread_) +
                        (has_unpriced ? std::log(weight_if_shown) : 0);
    return posterior_of(fit_causes(predictor_, hypotheses_, points_, spread_), {healthy, none});
  }

 private:
  const LogPredictor& predictor_;
  const Spread& spread_;
  std::vector<PointIndex> points_;
  PointPredictions healthy_;       // of the points, by simulation
  std::vector<double> residuals_;  // log(measured / predicted) of the points
  std::vector<double> large_;      // of those that bandwidth bounds
  std::vector<Hypothesis> hypotheses_;
};

/// Of sizes that took much longer in one place than in the other, the most different one.
void add_note_of_places(const Evidence& evidence, Diagnosis& diagnosis) {
  std::size_t count = 0;
  double most = 0;
  const EvidencePoint* worst = nullptr;
  for (const EvidenceSeries& series : evidence.series) {
    for (const EvidencePoint& point : series.points) {
      if (point.in_place != true) continue;  // its partner comes before it
      ++count;
      const double apart = std::abs(std::log(point.places[0]->value / point.places[1]->value));
      if (apart > most) worst = &point;
      most = std::max(most, apart);
    }
  }
  if (worst == nullptr) return;
  diagnosis.notes.push_back(fmt::format(
      "{} size{} took more than {} times as long in one place as in the other, though both are the "
      "same work: {} B {:.2f} us out of place, {:.2f} in place. Both are kept; run it again",
      count, count == 1 ? "" : "s", places_apart, worst->size.count,
      in_microseconds(*worst->places[0]), in_microseconds(*worst->places[1])));
}

/// Of every call whose busbw falls with the size.
void add_notes_of_falls(const Evidence& evidence, Diagnosis& diagnosis) {
  for (std::size_t series = 0; series < evidence.series.size(); ++series) {
    std::vector<const DiagnosedSize*> sizes;
    for (const DiagnosedSize& size : diagnosis.sizes) {
      if (size.series == series) sizes.push_back(&size);
    }
    const auto fall = fall_of(sizes);
    if (!fall) continue;
    diagnosis.notes.push_back(fmt::format(
        "busbw falls with the size: {} B have {:.2f} of what is expected, {} B {:.2f}. A healthy "
        "machine does not do so; NCCL changes its algorithm there, and the new one meets what is "
        "slow",
        fall->from->point.size.count, fall->from->ratio(), fall->to->point.size.count,
        fall->to->ratio()));
  }
}

void add_note_of_odd_parts(const Evidence& evidence, Diagnosis& diagnosis) {
  std::size_t count = 0;
  for (const EvidenceSeries& series : evidence.series) {
    for (const EvidencePoint& point : series.points) {
      if (point.size >= bandwidth_bound && has_odd_parts(series.call, point.size)) ++count;
    }
  }
  if (count == 0) return;
  diagnosis.notes.push_back(fmt::format(
      "{} size{} from 16 MiB on give each rank a part that is no multiple of {} bytes, which NCCL "
      "copies element by element: that may cost half of the busbw, and is not simulated. Run sizes "
      "that are multiples of {} bytes times the ranks",
      count, count == 1 ? "" : "s", whole_pack, whole_pack));
}

void add_notes(const Evidence& evidence, Diagnosis& diagnosis) {
  for (const auto& [name, value] : evidence.taken_away) {
    diagnosis.notes.push_back(
        fmt::format("{}={} was set; what is expected does not heed it", name, value));
  }
  for (const auto& [reason, left_out] : evidence.left_out) {
    diagnosis.notes.push_back(fmt::format("{} rows left out: {}", left_out.rows, reason));
  }
  for (const std::string& text : evidence.notes) diagnosis.notes.push_back(text);
  add_note_of_places(evidence, diagnosis);
  add_note_of_odd_parts(evidence, diagnosis);
}

}  // namespace

const FittedCause* likeliest_cause(const Diagnosis& diagnosis) {
  if (diagnosis.causes.empty()) return nullptr;
  const CauseGroup& first = diagnosis.causes.front();
  const double other = std::max(diagnosis.likelihood_of_healthy, diagnosis.likelihood_of_none);
  return first.likelihood < other ? nullptr : &first.causes.front();
}

std::optional<RemedyGain> gain_of(const FittedCause& cause, const Diagnosis& diagnosis) {
  RemedyGain gain;
  for (std::size_t i = 0; i < cause.predicted.places.size(); ++i) {
    const ResidualPlace& place = cause.predicted.places[i];
    if (place.series != 0) continue;
    for (const DiagnosedSize& size : diagnosis.sizes) {
      const bool is_it = size.series == 0 && size.point.size == place.size;
      const bool is_larger = gain.size == nullptr || gain.size->point.size <= place.size;
      if (is_it && is_larger) gain = {&size, {std::exp(cause.predicted.log_times[i])}};
    }
  }
  if (gain.size == nullptr) return std::nullopt;
  return gain;
}

namespace {

/// Judges a log that is not healthy, or is so but odd, by all that may have made it.
void add_causes(const CauseSearch& search, const LogPredictor& predictor, Diagnosis& diagnosis) {
  const bool is_healthy = diagnosis.verdict == Verdict::healthy;
  if (is_healthy && !search.is_odd()) return;
  Posterior found = search.find(!diagnosis.unpriced.empty());
  Ruling ruling = judge(diagnosis.verdict, search.shows_slowness(found.causes), found);
  diagnosis.verdict = ruling.verdict;
  diagnosis.reason = std::move(ruling.reason);
  if (is_healthy && diagnosis.verdict == Verdict::healthy) return;
  diagnosis.causes = std::move(found.causes);
  diagnosis.likelihood_of_healthy = found.healthy;
  diagnosis.likelihood_of_none = found.none;
  diagnosis.next = next_of(predictor, diagnosis);
}

}  // namespace

Diagnosis diagnose(const DiagnosisInput& input, const Spread& of_class) {
  const Spread of_machine = widened(of_class, input.widening);
  const Spread spread = widened(of_machine, input.knows_release ? 1 : other_release);
  const Evidence evidence = gather_evidence(*input.recording, *input.facts, *input.topology);
  const LogPredictor predictor(evidence, *input.topology, *input.cost, input.version, input.known);
  Diagnosis diagnosis;
  diagnosis.notes = input.recording->notes;
  for (const EvidenceSeries& series : evidence.series) diagnosis.calls.push_back(series.call);
  add_notes(evidence, diagnosis);
  diagnosis.sizes = compare(predictor, {of_class, of_machine, spread}, diagnosis);
  if (diagnosis.sizes.empty()) {
    const auto& reasons = diagnosis.notes;
    throw InputError(
        SourcePosition{input.recording->file.string(), 0, 0},
        fmt::format("no row can be of {}: {}", input.topology->name(),
                    reasons.empty() ? "there are none" : reasons.back()),
        "-t, a machine with as many hosts and GPUs; -c and -n where the table does not "
        "say its collective and ranks");
  }
  add_notes_of_falls(evidence, diagnosis);
  diagnosis.verdict = verdict_of(diagnosis.sizes);
  const RecordedCall& call = evidence.series[diagnosis.sizes.front().series].call;
  if (call.nodes > 1) {
    for (std::string& text : corrupting_settings(*input.facts, call.variables)) {
      diagnosis.notes.push_back(std::move(text));
    }
  }
  if (call.ranks == 1) return diagnosis;
  const CallCompiler& healthy = predictor.compiler_of(call);
  diagnosis.contradictions = contradictions(*input.facts, healthy, call);
  diagnosis.unpriced = unpriced_settings(healthy, call, diagnosis.sizes.back().point.size);
  if (input.find_causes) diagnosis.gains = setting_gains(predictor, input.version);
  constexpr double fast = 1.3;
  if (diagnosis.sizes.back().ratio() > fast) {
    if (std::string text = other_gpus(predictor); !text.empty()) {
      diagnosis.notes.push_back(std::move(text));
    }
  }
  if (diagnosis.verdict > Verdict::low || !input.find_causes) return diagnosis;
  add_causes(CauseSearch(input, predictor, spread, diagnosis.sizes), predictor, diagnosis);
  return diagnosis;
}

}  // namespace collsim
