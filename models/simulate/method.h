#pragma once

#include <limits>

#include "models/call/prediction.h"

namespace collsim {

class CallCache;

/// What a simulation may take. Whatever needs more is extrapolated from a smaller cluster, and
/// where the smallest would take TooLong, from a smaller call (Extent::part).
struct SimulationBudget {
  Rank max_ranks = 512;
  double max_seconds = 2;   ///< of one core, as far as is known before (likely_seconds())
  double stop_seconds = 4;  ///< a call that takes longer is TooLong
};

/// How the time of a call is found: by formulas, by simulation within a budget, or message by
/// message.
struct Method {
  bool is_estimate = false;        ///< by formulas; nothing else counts then
  SimulationOptions simulation{};  ///< its `exact` simulates every message, whatever the budget
  SimulationBudget budget{};
  /// What is wrong with a machine never makes its calls faster: the healthy machine is simulated
  /// beside the faulty one, and the longer time counts. A simulation of one order of events differs
  /// from that of another by some 1e-5, and one that is continued from one that is not by up to
  /// 4e-3 (SteadyState).
  bool beside_healthy = true;
  CallCache* cache = nullptr;  ///< keeps calls of many machines; null: nothing does
};

/// `cache`: as in Method.
inline Method by_formulas(CallCache* cache = nullptr) {
  return {.is_estimate = true, .cache = cache};
}
inline Method by_simulation(const SimulationBudget& budget = {}) {
  return {.budget = budget};
}
/// Simulates all ranks, whatever it takes, but equal ranks once and no further than a steady state.
inline Method by_whole_simulation() {
  constexpr double any = std::numeric_limits<double>::infinity();
  return by_simulation(
      {.max_ranks = std::numeric_limits<Rank>::max(), .max_seconds = any, .stop_seconds = any});
}
inline Method message_by_message() {
  return {.simulation = {.exact = true}};
}

}  // namespace collsim
