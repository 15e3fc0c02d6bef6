#include "models/diagnosis/diagnosis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/diagnosis/contradictions.h"
#include "sim/base/input_error.h"

namespace collsim {

namespace {

/// 19 of 20 values of a normal distribution are nearer to its mean, in standard deviations.
constexpr double deviations = 1.96;
/// Less than this is nobody's concern, however well a machine is known.
constexpr double least_concern = 0.05;

Verdict judge(const DiagnosedSize& size) {
  if (size.point.wrong > 0) return Verdict::wrong;
  if (size.point.fastest < size.bound) return Verdict::impossible;
  const double slower = -std::log(size.ratio());
  return slower > std::max(size.spread, least_concern) ? Verdict::low : Verdict::healthy;
}

/// Every size of every series on the healthy machine.
std::vector<DiagnosedSize> compare(const Predictor& predictor, const Spread& spread,
                                   Diagnosis& diagnosis) {
  std::vector<DiagnosedSize> sizes;
  const Evidence& evidence = predictor.evidence();
  for (std::size_t s = 0; s < evidence.series.size(); ++s) {
    const EvidenceSeries& series = evidence.series[s];
    std::vector<PointIndex> points;
    for (std::size_t p = 0; p < series.points.size(); ++p) points.push_back({s, p});
    const auto predicted = predictor.simulate({}, points);
    if (!predicted) {
      diagnosis.notes.push_back(fmt::format("{} of {} ranks cannot be predicted on this machine",
                                            to_string(series.call.collective), series.call.ranks));
      continue;
    }
    for (std::size_t p = 0; p < points.size(); ++p) {
      DiagnosedSize size;
      size.series = s;
      size.point = series.points[p];
      size.expected = Seconds{std::exp(predicted->log_times[p])};
      size.bound = min_time(series.call, predictor.topology(), size.point.size);
      size.trust = predicted->places[p].trust;
      size.spread = deviations * spread.total(size.trust, size.point.size);
      size.verdict = judge(size);
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

/// What an unknown cause would have to explain: any slowness of near sizes alike.
double score_of_none(const Predictor& predictor, const std::vector<PointIndex>& points,
                     const Spread& spread) {
  constexpr double weight = 0.3;
  const auto healthy = predictor.simulate({}, points);
  if (!healthy) return 0;
  Spread any = spread;
  for (TrustError& error : any.errors) error.below = error.from_16_mib = 1;
  std::vector<double> residuals;
  std::vector<ResidualPlace> places = healthy->places;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const auto& series = predictor.evidence().series[points[i].series];
    residuals.push_back(std::log(series.points[points[i].point].measured.value) -
                        healthy->log_times[i]);
    places[i].trust = Trust::guessed;
  }
  return log_likelihood(residuals, places, any) + std::log(weight);
}

/// The first two causes that can be told apart, if only by another measurement.
std::optional<NextMeasurement> next_of(const Predictor& predictor, const Diagnosis& diagnosis) {
  std::vector<const FittedCause*> causes;
  for (const CauseGroup& group : diagnosis.causes) {
    for (const FittedCause& cause : group.causes) causes.push_back(&cause);
  }
  if (causes.size() < 2) return std::nullopt;
  return next_measurement(predictor, diagnosis.calls.front(), *causes[0], *causes[1]);
}

void look_for_causes(const DiagnosisInput& input, const Predictor& predictor, const Spread& spread,
                     Diagnosis& diagnosis) {
  const Evidence& evidence = predictor.evidence();
  const auto points = chosen_points(diagnosis.sizes, evidence, input.most_points);
  const RecordedCall& call = evidence.series[points.front().series].call;
  const Planner planner(predictor.spec_of(call, {}));
  std::vector<Hypothesis> hypotheses = hypotheses_for(planner, call);
  weigh_by_facts(*input.facts, evidence.taken_away, hypotheses);
  diagnosis.causes = group_causes(fit_causes(predictor, hypotheses, points, spread),
                                  score_of_none(predictor, points, spread));
  diagnosis.likelihood_of_none = 1;
  for (const CauseGroup& group : diagnosis.causes) diagnosis.likelihood_of_none -= group.likelihood;
  diagnosis.next = next_of(predictor, diagnosis);
}

void add_notes(const Evidence& evidence, Diagnosis& diagnosis) {
  for (const auto& [name, value] : evidence.taken_away) {
    diagnosis.notes.push_back(
        fmt::format("{}={} was set; what is expected does not heed it", name, value));
  }
  for (const auto& [reason, left_out] : evidence.left_out) {
    diagnosis.notes.push_back(fmt::format("{} rows left out: {}", left_out.rows, reason));
  }
}

}  // namespace

Diagnosis diagnose(const DiagnosisInput& input, const Spread& spread) {
  const Evidence evidence = gather_evidence(*input.recording, *input.facts, *input.topology);
  const Predictor predictor(evidence, *input.topology, *input.cost, input.version);
  Diagnosis diagnosis;
  for (const EvidenceSeries& series : evidence.series) diagnosis.calls.push_back(series.call);
  add_notes(evidence, diagnosis);
  diagnosis.sizes = compare(predictor, spread, diagnosis);
  if (diagnosis.sizes.empty()) {
    const auto& reasons = diagnosis.notes;
    throw InputError(SourcePosition{input.recording->file.string(), 0, 0},
                     fmt::format("no row can be of {}: {}", input.topology->name(),
                                 reasons.empty() ? "there are none" : reasons.back()),
                     "-t, a machine with as many hosts and GPUs");
  }
  diagnosis.verdict = verdict_of(diagnosis.sizes);
  const RecordedCall& call = evidence.series[diagnosis.sizes.front().series].call;
  const Planner planner(predictor.spec_of(call, {}));
  diagnosis.contradictions = contradictions(*input.facts, planner, call);
  if (diagnosis.verdict == Verdict::low) look_for_causes(input, predictor, spread, diagnosis);
  return diagnosis;
}

}  // namespace collsim
