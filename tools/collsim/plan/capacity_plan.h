#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "models/faults/fault.h"
#include "models/imports/machine_parts.h"
#include "tools/collsim/plan/planned_machine.h"
#include "tools/collsim/plan/scaling.h"
#include "tools/collsim/plan/workload.h"
#include "tools/collsim/request/prices.h"

namespace collsim {

/// A kind of machine that may be chosen: unchanged, or with one change.
struct Alternative {
  MachineParts parts;
  std::string change;    ///< "nic=200Gb/s", or its faults; empty: none
  std::size_t base = 0;  ///< the alternative without the change
  std::vector<std::uint32_t> nodes;
  Seconds compute;              ///< compute time of a step on the plan's fewest GPUs
  std::vector<Fault> faults{};  ///< of links, of plans by steps: what they do to the base
};
/// Names a machine with what is changed of it: "dgx-h100, nic=200Gb/s".
std::string describe(const Alternative& alternative);

/// The limits that a plan has to meet.
struct PlanTarget {
  std::optional<Seconds> time;  ///< the longest step
  std::optional<double> share;  ///< the largest share of communication in a step
  bool is_set() const { return time || share; }
};

/// What a plan is asked.
struct CapacityRequest {
  std::vector<Alternative> alternatives;
  std::vector<Workload> workloads;
  PlannedCall call;
  Scaling scaling = Scaling::weak;
  PlanTarget target;
  PriceSheet prices;
  CostBasis basis = CostBasis::rent;
  std::string vendor;  ///< empty: any
  /// The budget of each point; a plan may have hundreds. Nothing: formulas alone.
  std::optional<SimulationBudget> budget = SimulationBudget{.max_seconds = 0.5};
  /// Hears after each row how many of all are predicted. Any thread may call it.
  std::function<void(std::size_t done, std::size_t all)> progress{};
};

/// One machine, count and workload.
struct PlanRow {
  std::size_t alternative = 0;
  std::size_t workload = 0;
  std::uint32_t nodes = 1;
  std::uint32_t gpus = 1;
  Seconds time;             ///< of the communication
  Seconds estimate;         ///< the same by formulas alone
  double busbw = 0;         ///< bytes per second, as nccl-tests
  Prediction prediction{};  ///< of the largest call
  TimeBasis basis = TimeBasis::formulas;
  double error = 0;  ///< to expect of `time`, as a share (typical_error()); 0: none
  Seconds step;      ///< step_time()
  Seconds work;      ///< work_time()
  double weak = 1;   ///< efficiency() beside the fewest nodes of the alternative
  double strong = 1;
  LimitUse limit{};
  bool crosses_spines = false;  ///< whether any call uses cables between switches
  std::optional<ClusterPrice> price{};
  std::optional<double> cost{};  ///< of `work`
  bool meets = true;             ///< the target
  bool near_target = false;      ///< within the error it would not, or would
  bool on_front = false;         ///< all that costs less per hour is slower by more than the error
  bool cheapest = false;         ///< of those that meet the target
  bool ties = false;             ///< within the error it might be the cheapest
};

/// The size at which an alternative stops scaling.
struct ScalingEnd {
  std::size_t alternative = 0;
  std::size_t workload = 0;
  Scaling scaling = Scaling::weak;
  std::optional<std::size_t> last;   ///< the last row that scales; none: there is one row only
  std::optional<std::size_t> first;  ///< the first that does not; none: all do
};

/// What a change does to the machine without it, at as many nodes. Where formulas alone say the
/// time of one of them, formulas are compared: how far they are off would pass for the change's.
struct UpgradeValue {
  std::size_t row = 0;
  std::size_t base_row = 0;
  bool by_formulas = false;
  double time = 0;                ///< its step beside the other's, less 1
  std::optional<double> price{};  ///< and its price per hour
  double error = 0;               ///< to expect of `time`
  bool ties() const { return std::abs(time) <= error; }
};

/// Whether another row would be the cheapest, were a price other.
struct PriceSensitivity {
  std::string price;  ///< "H100", "network"
  double factor = 1;
  std::size_t workload = 0;
  std::size_t cheapest = 0;  ///< the row
};

/// The answer. Rows are ordered by workload, alternative and nodes.
struct CapacityPlan {
  std::vector<PlanRow> rows;
  std::vector<ScalingEnd> ends;
  std::vector<UpgradeValue> upgrades;
  std::vector<PriceSensitivity> sensitivities;
  double reference_gpus = 1;  ///< the fewest
  /// What a person should know about the answers, one sentence each.
  std::set<std::string> warnings;
};

/// Simulates every point as far as that is quick, and finds what is cheapest, and what cannot be
/// told apart from it. The time of a row depends on its own machine, nodes, workload and call, and
/// on nothing else in the plan. Throws InputError where a machine cannot be composed, or NCCL does
/// not run on it.
CapacityPlan plan_capacity(const CapacityRequest& request);

}  // namespace collsim
