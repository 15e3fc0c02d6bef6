#include "models/diagnosis/predictor.h"

#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "models/calibration/transport.h"
#include "models/estimate/estimator.h"
#include "models/simulate/simulator.h"

namespace collsim {

namespace {

/// Both ways of answering, with one face.
class Simulations {
 public:
  explicit Simulations(const CallCompiler& compiler, KnownHops* /*known*/ = nullptr)
      : simulator_(compiler, {.beside_healthy = false}, budget_of_diagnosis) {}
  Prediction answer(Bytes size) { return simulator_.simulate(size); }

 private:
  Simulator simulator_;
};

class Estimates {
 public:
  explicit Estimates(const CallCompiler& compiler, KnownHops* known = nullptr)
      : estimator_(compiler, known) {}
  Prediction answer(Bytes size) { return estimator_.estimate(size); }

 private:
  Estimator estimator_;
};

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

CallSpec Predictor::spec_of(const RecordedCall& call, const Deviation& change) const {
  CallSpec spec = collsim::spec_of(call, topology_, cost_, version_);
  // What a host's memory carries differs from host to host, and a cause can only make links slower:
  // where GPUs have NVLink, causes scale what the links alone would carry.
  if (transport_inside_host(topology_, false).empty()) spec.cost.wants_host_transport = false;
  for (const auto& [name, value] : change.variables) spec.run.variables[name] = value;
  if (change.spread_out) {
    const auto far = spread_gpus(topology_, call.ranks, call.nodes);
    if (!far.empty()) spec.gpus = far;
  }
  return spec;
}

CallCompiler Predictor::compiler_of(const RecordedCall& call, const Deviation& change) const {
  auto& healthy = compilers_[{call, change.variables, change.spread_out}];
  if (!healthy) {
    const auto unchanged = compilers_.find({call, {}, false});
    const CallCompiler* const same_ranks =
        unchanged == compilers_.end() ? nullptr : unchanged->second.get();
    healthy = std::make_shared<const CallCompiler>(spec_of(call, change), same_ranks);
  }
  MachineFaults faults = change.faults;
  // They name ranks of the first call; others may have fewer.
  std::erase_if(faults.ranks, [&](const RankFault& fault) { return fault.rank >= call.ranks; });
  return healthy->with_faults(std::move(faults));
}

/// Faults change what links carry, and not which links a healthy hop takes.
KnownHops* Predictor::hops_of(const RecordedCall& call, const Deviation& change) const {
  return &hops_[{call, change.variables, change.spread_out}];
}

template <typename Engine>
PointPredictions Predictor::predict(const Deviation& change,
                                    const std::vector<PointIndex>& points) const {
  PointPredictions all;
  for (std::size_t i = 0; i < points.size();) {
    const std::size_t number = points[i].series;
    const EvidenceSeries& series = evidence_.series[number];
    const CallCompiler compiler = compiler_of(series.call, change);
    Engine engine(compiler, hops_of(series.call, change));
    for (; i < points.size() && points[i].series == number; ++i) {
      const Bytes size = series.points[points[i].point].size;
      const Prediction prediction = engine.answer(size);
      all.log_times.push_back(log_time_of(prediction));
      all.places.push_back({size, prediction.trust, number, prediction.medium});
      all.transfers.push_back(prediction.transfers);
    }
  }
  return all;
}

PointPredictions Predictor::simulate_healthy(const std::vector<PointIndex>& points) const {
  PointPredictions all;
  for (const PointIndex& each : points) {
    HealthySeries& healthy = healthy_[each.series];
    if (healthy.points.empty()) find_healthy(each.series, healthy);
    const HealthyPoint& point = healthy.points.at(each.point);
    all.log_times.push_back(point.log_time);
    all.places.push_back(point.place);
    all.transfers.push_back(point.transfers);
  }
  return all;
}

void Predictor::find_healthy(std::size_t number, HealthySeries& healthy) const {
  const EvidenceSeries& series = evidence_.series[number];
  const CallCompiler compiler = compiler_of(series.call, {});
  Simulations simulations(compiler);
  Estimates estimates(compiler);
  std::uint64_t messages = 0;
  double off = 0;  // the largest simulated time beside its estimate, as a logarithm
  std::vector<HealthyPoint> found;
  for (const EvidencePoint& point : series.points) {
    const bool is_again = !found.empty() && found.back().place.size == point.size;
    if (is_again) {
      found.push_back(found.back());
      continue;
    }
    const bool is_simulated = messages < max_healthy_messages;
    const Prediction prediction =
        is_simulated ? simulations.answer(point.size) : estimates.answer(point.size);
    HealthyPoint one{log_time_of(prediction),
                     {point.size, prediction.trust, number, prediction.medium},
                     is_simulated ? prediction.transfers : max_healthy_messages};
    messages += prediction.transfers;
    if (!is_simulated) one.log_time += off;
    if (is_simulated && messages >= max_healthy_messages) {
      off = one.log_time - log_time_of(estimates.answer(point.size));
    }
    found.push_back(std::move(one));
  }
  healthy.points = std::move(found);
}

std::optional<PointPredictions> Predictor::simulate(const Deviation& change,
                                                    const std::vector<PointIndex>& points) const {
  return if_possible([&] {
    return changes_nothing(change) ? simulate_healthy(points)
                                   : predict<Simulations>(change, points);
  });
}

std::optional<PointPredictions> Predictor::estimate(const Deviation& change,
                                                    const std::vector<PointIndex>& points) const {
  return if_possible([&] { return predict<Estimates>(change, points); });
}

}  // namespace collsim
