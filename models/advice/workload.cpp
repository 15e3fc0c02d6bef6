#include "models/advice/workload.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "models/prediction/estimator.h"
#include "models/prediction/simulator.h"

namespace collsim {

namespace {

/// Of every size of every item, what `answer` says: made for a planner, asked for its sizes.
template <typename Answerer>
WorkloadTimes times_by(const Workload& workload, Prediction (Answerer::*answer)(Bytes)) {
  WorkloadTimes result;
  for (const Workload::Item& item : workload.items) {
    const Planner planner(item.spec);
    Answerer answerer(planner);
    for (const Bytes size : item.sizes) {
      const Prediction prediction = (answerer.*answer)(size);
      result.times.push_back(prediction.time);
      result.messages += prediction.transfers;
    }
  }
  return result;
}

}  // namespace

Workload with_variables(Workload workload, const std::map<std::string, std::string>& variables) {
  for (Workload::Item& item : workload.items) {
    for (const auto& [name, value] : variables) item.spec.run.variables[name] = value;
  }
  return workload;
}

WorkloadTimes estimate_workload(const Workload& workload) {
  return times_by<Estimator>(workload, &Estimator::estimate);
}

WorkloadTimes simulate_workload(const Workload& workload) {
  return times_by<Simulator>(workload, &Simulator::simulate);
}

Effect effect_of(const WorkloadTimes& unchanged, const WorkloadTimes& changed) {
  assert(unchanged.times.size() == changed.times.size() && !unchanged.times.empty());
  Effect effect;
  double logarithms = 0;
  for (std::size_t i = 0; i < unchanged.times.size(); ++i) {
    const double before = unchanged.times[i].value;
    const double ratio = before > 0 ? changed.times[i].value / before : 1;
    logarithms += std::log(ratio);
    if (i == 0 || ratio < effect.least) {
      effect.least = ratio;
      effect.least_at = i;
    }
    if (i == 0 || ratio > effect.most) {
      effect.most = ratio;
      effect.most_at = i;
    }
  }
  effect.mean = std::exp(logarithms / static_cast<double>(unchanged.times.size()));
  return effect;
}

bool is_nothing(const Effect& effect) {
  return effect.least > 1 - least_change && effect.most < 1 + least_change;
}

}  // namespace collsim
