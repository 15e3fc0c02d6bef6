#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "models/nccl/settings/version.h"
#include "models/predict/predictor.h"
#include "sim/base/input_error.h"
#include "sim/cost/calibration.h"
#include "sim/execution/machine_events.h"
#include "tools/collsim/diagnose/evidence.h"
#include "tools/collsim/diagnose/hypothesis.h"
#include "tools/collsim/diagnose/spread.h"

namespace collsim {

/// Dozens of causes are simulated, and their times compared with each other's, so that a small
/// cluster does for each.
inline Method by_quick_simulation() {
  Method method = by_simulation({.max_ranks = 128, .max_seconds = 0.5});
  method.beside_healthy = false;
  return method;
}

/// A point of the evidence: which series, which of its points.
struct PointIndex {
  std::size_t series = 0;
  std::size_t point = 0;
};

/// What is predicted for some points, in their order.
struct PointPredictions {
  std::vector<double> log_times;  ///< logarithms of seconds
  std::vector<ResidualPlace> places;
  std::vector<std::uint64_t> transfers;  ///< messages simulated

  std::uint64_t all_transfers() const;
};

/// What the healthy machine does at one size of a call.
struct HealthyTime {
  double log_time = 0;  ///< logarithm of seconds
  ResidualPlace place;
  std::uint64_t transfers = 0;
};
/// Kept for other logs of the same machine, costs and release.
using HealthyTimes = std::map<std::pair<RecordedCall, Bytes>, HealthyTime>;

/// What `predict` answers; nothing where the changed machine cannot run the call, or the call never
/// ends. What else it throws is a bug, and goes on.
template <typename Predict>
auto if_possible(const Predict& predict) -> std::optional<decltype(predict())> {
  try {
    return predict();
  } catch (const InputError&) {
    return std::nullopt;
  } catch (const HangError&) {
    return std::nullopt;
  }
}

/// Predicts what a log would say if its machine were changed in some way. What NCCL decides is
/// found once for each setting. Not for several threads at once.
class LogPredictor {
 public:
  /// Refers to what it is given; `healthy` may be added to.
  LogPredictor(const Evidence& evidence, const Topology& topology, const Calibration& cost,
               NcclVersion version,
               std::shared_ptr<HealthyTimes> healthy = std::make_shared<HealthyTimes>())
      : evidence_(evidence),
        topology_(topology),
        cost_(cost),
        version_(version),
        healthy_(std::move(healthy)) {}

  /// Predicts by simulation. Nothing where the changed machine cannot run a call, or the call never
  /// ends. What nothing changes is simulated once, and the largest sizes of a call that takes many
  /// messages are estimates times what the largest simulated one is beside its estimate.
  std::optional<PointPredictions> simulate(const Deviation& change,
                                           const std::vector<PointIndex>& points) const;
  /// Predicts by formulas; otherwise as simulate().
  std::optional<PointPredictions> estimate(const Deviation& change,
                                           const std::vector<PointIndex>& points) const;

  /// What predicts a call on the changed machine: that of a series, or another collective on its
  /// nodes. Throws InputError as CallCompiler does.
  Predictor call_on(const RecordedCall& call, const Deviation& change, const Method& method) const;
  /// The time of one size of it; nothing as simulate().
  std::optional<Seconds> time_of(const RecordedCall& call, const Deviation& change, Bytes size,
                                 const Method& method) const;
  /// What runs on the healthy machine. Throws InputError as CallCompiler does.
  const CallCompiler& compiler_of(const RecordedCall& call) const {
    return without_faults(call, {}).compiler();
  }
  /// The predictor of the same log under the rules of another release.
  LogPredictor of_release(NcclVersion version) const {
    return {evidence_, topology_, cost_, version};
  }
  const Evidence& evidence() const { return evidence_; }
  const Topology& topology() const { return topology_; }

 private:
  /// A call, the variables of a change, and its two words.
  using CallKey = std::tuple<RecordedCall, std::map<std::string, std::string>, bool, bool>;

  CallSpec spec_of(const RecordedCall& call, const Deviation& change) const;
  const Predictor& without_faults(const RecordedCall& call, const Deviation& change) const;
  PointPredictions simulate_healthy(const std::vector<PointIndex>& points) const;
  void find_healthy(const EvidenceSeries& series) const;
  PointPredictions predict(const Deviation& change, const std::vector<PointIndex>& points,
                           const Method& method) const;

  const Evidence& evidence_;
  const Topology& topology_;
  const Calibration& cost_;
  NcclVersion version_;
  std::shared_ptr<HealthyTimes> healthy_;
  mutable std::map<CallKey, Predictor> without_faults_;
};

}  // namespace collsim
