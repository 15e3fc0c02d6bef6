#include "tools/collsim/diagnose/log_predictor.h"

#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "models/calibration/transport.h"

namespace collsim {

namespace {

bool changes_nothing(const Deviation& change) {
  return change.variables.empty() && change.faults.empty() && !change.spread_out;
}

/// Of one call at all its sizes: from there on larger sizes are as far off their estimates as the
/// largest that is simulated. A second or so.
constexpr std::uint64_t max_healthy_messages = 500'000;

/// As benchmarks print it.
double log_time_of(const Prediction& prediction) {
  const Seconds mean = prediction.mean_over_ranks;
  return std::log(mean.value > 0 ? mean.value : prediction.time.value);
}

}  // namespace

std::uint64_t PointPredictions::all_transfers() const {
  return std::accumulate(transfers.begin(), transfers.end(), std::uint64_t{0});
}

CallSpec LogPredictor::spec_of(const RecordedCall& call, const Deviation& change) const {
  CallSpec spec = collsim::spec_of(call, topology_, cost_, version_);
  // What a host's memory carries differs from host to host, and a cause can only make links slower:
  // where GPUs have NVLink, causes scale what the links alone would carry, if they do not ask for
  // what was measured.
  const bool has_nvlink = transport_inside_host(topology_, false).empty();
  if (has_nvlink && !change.as_measured) spec.cost.wants_host_transport = false;
  for (const auto& [name, value] : change.variables) spec.run.variables[name] = value;
  if (change.spread_out) {
    const auto far = spread_gpus(topology_, call.ranks, call.nodes);
    if (!far.empty()) spec.gpus = far;
  }
  return spec;
}

const Predictor& LogPredictor::without_faults(const RecordedCall& call,
                                              const Deviation& change) const {
  const CallKey key{call, change.variables, change.spread_out, change.as_measured};
  const auto known = without_faults_.find(key);
  if (known != without_faults_.end()) return known->second;
  const auto unchanged = without_faults_.find({call, {}, false, false});
  const CallCompiler* const same_ranks =
      unchanged == without_faults_.end() ? nullptr : &unchanged->second.compiler();
  return without_faults_.try_emplace(key, CallCompiler(spec_of(call, change), same_ranks))
      .first->second;
}

Predictor LogPredictor::call_on(const RecordedCall& call, const Deviation& change,
                                const Method& method) const {
  MachineFaults faults = change.faults;
  // They name ranks of the first call; others may have fewer.
  std::erase_if(faults.ranks, [&](const RankFault& fault) { return fault.rank >= call.ranks; });
  return without_faults(call, change).by(method).with_faults(std::move(faults));
}

PointPredictions LogPredictor::predict(const Deviation& change,
                                       const std::vector<PointIndex>& points,
                                       const Method& method) const {
  PointPredictions all;
  for (std::size_t i = 0; i < points.size();) {
    const std::size_t number = points[i].series;
    const EvidenceSeries& series = evidence_.series[number];
    Predictor predictor = call_on(series.call, change, method);
    for (; i < points.size() && points[i].series == number; ++i) {
      const Bytes size = series.points[points[i].point].size;
      const Prediction prediction = predictor.predict(size);
      all.log_times.push_back(log_time_of(prediction));
      all.places.push_back({size, prediction.trust, number, prediction.medium});
      all.transfers.push_back(prediction.transfers);
    }
  }
  return all;
}

PointPredictions LogPredictor::simulate_healthy(const std::vector<PointIndex>& points) const {
  PointPredictions all;
  for (const PointIndex& each : points) {
    const EvidenceSeries& series = evidence_.series[each.series];
    const std::pair at(series.call, series.points[each.point].size);
    if (!healthy_->contains(at)) find_healthy(series);
    const HealthyTime& known = healthy_->at(at);
    all.log_times.push_back(known.log_time);
    all.places.push_back(known.place);
    all.places.back().series = each.series;
    all.transfers.push_back(known.transfers);
  }
  return all;
}

void LogPredictor::find_healthy(const EvidenceSeries& series) const {
  Predictor predictor = call_on(series.call, {}, by_quick_simulation());
  std::uint64_t messages = 0;
  double off = 0;  // the largest simulated time beside its estimate, as a logarithm
  for (const EvidencePoint& point : series.points) {
    if (healthy_->contains({series.call, point.size})) continue;
    const bool is_simulated = messages < max_healthy_messages;
    const Prediction prediction =
        is_simulated ? predictor.predict(point.size) : predictor.estimate(point.size);
    HealthyTime one{log_time_of(prediction),
                    {point.size, prediction.trust, 0, prediction.medium},
                    is_simulated ? prediction.transfers : max_healthy_messages};
    messages += prediction.transfers;
    if (!is_simulated) one.log_time += off;
    if (is_simulated && messages >= max_healthy_messages) {
      off = one.log_time - log_time_of(predictor.estimate(point.size));
    }
    healthy_->emplace(std::pair(series.call, point.size), std::move(one));
  }
}

std::optional<PointPredictions> LogPredictor::simulate(
    const Deviation& change, const std::vector<PointIndex>& points) const {
  return if_possible([&] {
    return changes_nothing(change) ? simulate_healthy(points)
                                   : predict(change, points, by_quick_simulation());
  });
}

std::optional<PointPredictions> LogPredictor::estimate(
    const Deviation& change, const std::vector<PointIndex>& points) const {
  return if_possible([&] { return predict(change, points, by_formulas()); });
}

std::optional<Seconds> LogPredictor::time_of(const RecordedCall& call, const Deviation& change,
                                             Bytes size, const Method& method) const {
  return if_possible([&] { return call_on(call, change, method).predict(size).time; });
}

}  // namespace collsim
