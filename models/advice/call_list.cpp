#include "models/advice/call_list.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "models/estimate/estimator.h"
#include "models/simulate/simulator.h"

namespace collsim {

namespace {

/// Of every size of every item, what `answer` says: made for a compiler, asked for its sizes.
template <typename Engine>
CallTimes times_by(const CallList& calls, Prediction (Engine::*answer)(Bytes)) {
  CallTimes result;
  for (const CallList::Item& item : calls.items) {
    const CallCompiler compiler(item.spec);
    Engine engine(compiler);
    for (const Bytes size : item.sizes) {
      const Prediction prediction = (engine.*answer)(size);
      result.times.push_back(prediction.time);
      result.algorithms.push_back(prediction.algorithm);
      result.messages += prediction.transfers;
    }
  }
  return result;
}

}  // namespace

CallList with_variables(CallList calls, const std::map<std::string, std::string>& variables) {
  for (CallList::Item& item : calls.items) {
    for (const auto& [name, value] : variables) item.spec.run.variables[name] = value;
  }
  return calls;
}

CallTimes estimate_calls(const CallList& calls) {
  return times_by<Estimator>(calls, &Estimator::estimate);
}

CallTimes simulate_calls(const CallList& calls) {
  return times_by<Simulator>(calls, &Simulator::simulate);
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
