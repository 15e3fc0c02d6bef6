#include "tools/collsim/advise/call_list.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace collsim {

namespace {

/// What changes do shows on a small cluster, for they are compared with each other: dozens of
/// changes are tried at every size.
constexpr SimulationBudget of_advice{.max_ranks = 32, .max_seconds = 1};

}  // namespace

CallList with_variables(CallList calls, const std::map<std::string, std::string>& variables) {
  for (CallList::Item& item : calls.items) {
    for (const auto& [name, value] : variables) item.spec.run.variables[name] = value;
  }
  return calls;
}

CallTimes times_of(const CallList& calls, const Method& method) {
  CallTimes result;
  for (const CallList::Item& item : calls.items) {
    Predictor predictor(item.spec, method);
    for (const Bytes size : item.sizes) {
      const Prediction prediction = predictor.predict(size);
      result.times.push_back(prediction.time);
      result.algorithms.push_back(prediction.algorithm);
      result.messages += prediction.transfers;
    }
  }
  return result;
}

Method by_simulation_of_changes(KnownCalls& known) {
  Method method = by_simulation(of_advice);
  method.known = &known;
  return method;
}

Effect effect_of(const CallTimes& unchanged, const CallTimes& changed) {
  assert(unchanged.times.size() == changed.times.size() && !unchanged.times.empty());
  Effect effect;
  double logarithms = 0;
  for (std::size_t i = 0; i < unchanged.times.size(); ++i) {
    const double before = unchanged.times[i].value;
    const double ratio = before > 0 ? changed.times[i].value / before : 1;
    logarithms += std::log(ratio);
    if (i == 0 || ratio < effect.min) {
      effect.min = ratio;
      effect.min_at = i;
    }
    if (i == 0 || ratio > effect.max) {
      effect.max = ratio;
      effect.max_at = i;
    }
  }
  effect.mean = std::exp(logarithms / static_cast<double>(unchanged.times.size()));
  return effect;
}

bool is_nothing(const Effect& effect) {
  return effect.min > 1 - min_change && effect.max < 1 + min_change;
}

}  // namespace collsim
