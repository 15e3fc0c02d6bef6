#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/bounds/bounds.h"
#include "models/bounds/estimate.h"
#include "models/bounds/model_floor.h"
#include "models/calibration/trust.h"
#include "models/call/call_compiler.h"
#include "sim/cost/trust.h"
#include "sim/execution/effort.h"
#include "sim/execution/executor.h"
#include "sim/fabric/engine.h"

namespace collsim {

/// How much of a call was simulated.
enum class Extent : std::uint8_t {
  whole,   ///< every message
  steady,  ///< loops or calls that repeat themselves were continued (SteadyState)
  scaled,  ///< a smaller cluster, whose time was scaled by the analytic model (ScaledCall)
  part,    ///< a smaller call of it, or of the whole (SimulationBudget)
};
/// The word of the column `extent`: "whole", "steady", "scaled" or "part".
std::string_view to_string(Extent extent);

/// Options of a simulation.
struct SimulationOptions {
  Engine engine = Engine::native;
  bool exact = false;  ///< every message of every rank: Extent::whole, nothing is folded
  /// Hears of the progress: a size is begun, with about so many messages; so many are sent.
  std::function<void(Bytes size, double messages)> begin{};
  const Watch* watch = nullptr;  ///< null: nobody
};

/// How long one call takes, and how far that is from what is possible.
struct Prediction {
  Bytes size;
  Seconds time;             ///< until the last rank is done
  Seconds mean_over_ranks;  ///< of their own ends, as benchmarks print it; 0 for an estimate
  std::string algorithm;
  Protocol protocol = Protocol::simple;
  std::uint32_t channels = 1;            ///< that carried data
  std::optional<Seconds> nccl_estimate;  ///< what NCCL itself expects, where it tunes the call
  std::optional<double> wire_factor;     ///< of NCCL's algorithm (wire_factor()), under its rules
  Bounds bounds;                         ///< of the machine
  ModelFloor floor;                      ///< of the model
  Trust trust = Trust::exact;
  Medium medium;                         ///< that its data cross
  std::optional<EstimateMethod> method;  ///< of an estimate; none: simulated
  std::optional<FormulaTerms> form;      ///< of an estimate by a closed form, where it has one
  bool clamped = false;                  ///< by clamp_to()
  std::uint64_t transfers = 0;           ///< messages simulated; 0 for an estimate
  Extent extent = Extent::whole;         ///< of a simulation
  Rank classes = 0;                      ///< of equal ranks, each simulated once; 0 for an estimate
};

// Answers for a planned call. They change nothing: threads may ask at the same time, also of one
// plan (but SimGrid, which knows one simulation a process). What they return is checked against
// its bounds and the model's floor: one that is below (by more than rounding) is a bug of ours and
// throws std::logic_error.

/// Predicts by simulation. Throws HangError where a fault keeps the call from ever ending.
Prediction simulate(const CompiledCall& call, const SimulationOptions& options = {});
/// How long each of several calls takes on one machine that are launched at one instant, as one
/// execution of all (execute_at_once()): message by message, with what host memory carries while
/// all of them have their buffers there. Faults do not count, nor are times compared with bounds.
std::vector<Seconds> simulate_at_once(std::span<const CompiledCall> calls);
/// By the analytic model that looks at the whole plan: of a textbook's schedule, and where there
/// are faults or measured host memory. A Predictor answers for all.
Prediction estimate_by_plan(const CompiledCall& call);
/// Raises an approximation, which may come out below a limit that no run can beat, to that limit.
/// What is simulated or exact is checked instead.
void clamp_to(Prediction& prediction, Seconds limit);
/// What is known of a call's prediction without a time.
Prediction outline(const CompiledCall& call);
/// The `mean_over_ranks` of simulate() had the machine other costs, not compared with bounds: for
/// fitting. No faults; there must be proxies with these costs where there are with the compiler's.
Seconds mean_time(const CompiledCall& call, const Calibration& cost);

/// The call as execute() takes it; refers to it.
Execution execution_of(const CompiledCall& call);
/// How much work simulate() has with it: of calls in a row that it continues from the first ones,
/// `steady` counts those.
Effort simulated_effort(const CompiledCall& call);

}  // namespace collsim
