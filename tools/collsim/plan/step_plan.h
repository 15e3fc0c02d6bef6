#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tools/collsim/plan/capacity_plan.h"
#include "tools/collsim/train/training_step.h"

namespace collsim {

/// How far predicted steps are off, as a share: the mean |error| of 503 published steps, none of
/// which is in a fit (`collsim train --validate published`).
inline constexpr double step_error = 0.112;

/// How often a job fails, and what each failure costs.
struct FailureRates {
  /// Hours of one GPU, its part of the host included, from failure to failure: 419 unexpected
  /// interruptions of 16,384 H100 in 54 days (Llama 3, arXiv:2407.21783, section 3.3.4).
  Seconds between{3600 * 24 * 54.0 * 16384 / 419};
  /// How long a checkpoint stops training; an assumption, as are the next two.
  Seconds checkpoint{60};
  /// The time from a failure until training goes on from a checkpoint, where a node stands by.
  Seconds restart{600};
  /// The time from a failure until the node is back.
  Seconds repair{24 * 3600.0};
  std::optional<std::uint32_t> spares{};  ///< nodes that stand by; nothing: as many as pay
};

/// What a job gets of the time that it is paid for.
struct Goodput {
  Seconds between_checkpoints{};
  double share = 1;  ///< of the time that makes progress
  std::uint32_t spares = 0;
};

/// Young's interval between checkpoints, W = sqrt(2 C M) for a job that fails every M and whose
/// checkpoint takes C (Young 1974; Daly 2006). A second of progress costs then
///
///   1 + C / W + (W / 2 + R) / M
///
/// seconds, with R until the restart. Nodes in repair are Poisson distributed with mean
/// nodes x repair / (time between failures of a node); the job stands still while more are than
/// stand by. Spares that are not given are as many as make progress for a node paid the most.
Goodput goodput_of(const FailureRates& rates, std::uint32_t nodes, std::uint32_t gpus);

/// What is asked: which machine, how many nodes of it, what a trained token costs.
struct StepPlanRequest {
  std::vector<Alternative> alternatives{};
  TrainingSetup setup{};              ///< model, batch and precision; layouts are searched
  bool by_speed = false;              ///< batches are divided as predict_by_speed() does
  double tokens = 0;                  ///< of the training run; 0: no run is asked about
  std::optional<Seconds> deadline{};  ///< for the run
  std::optional<double> budget{};     ///< for the run, in the currency of the prices
  std::optional<double> hourly{};  ///< likewise an hour: each machine has as many nodes as it buys
  FailureRates failures{};
  PriceSheet prices{};
  CostBasis basis = CostBasis::rent;
  std::string vendor{};
  RunSpec run{};
  std::function<void(std::size_t done, std::size_t all)> progress{};
};

/// One machine at one count of nodes, in its quickest layout.
struct StepPlanRow {
  std::size_t alternative = 0;
  std::uint32_t nodes = 1;  ///< without those that stand by
  std::uint32_t gpus = 1;
  FoundLayout layout{};
  Goodput goodput{};
  double tokens_per_second = 0;        ///< failures included
  std::optional<double> per_hour{};    ///< spare nodes included
  std::optional<double> token_cost{};  ///< of a million
  Seconds run{};                       ///< of all tokens, failures included; 0: not asked
  std::optional<double> run_cost{};
  double scaling = 1;  ///< tokens a second and GPU, beside the fewest nodes of the alternative
  bool meets = true;   ///< deadline and budget
  bool best = false;
  bool ties = false;  ///< the error of steps could make it the best
  /// The share by which a machine's faults lengthen the step in the same layout.
  std::optional<double> slower{};
};

/// The answer, by alternative and nodes.
struct StepPlan {
  std::vector<StepPlanRow> rows{};
  std::set<std::string> warnings{};  ///< also of machines that cannot run the model
};

/// Searches the quickest layout that fits into memory on every machine at every count of nodes. An
/// alternative with faults has the rows of its base, each in the layout that it has there. Best is,
/// of those without faults that meet the deadline and the budget, the quickest where there is a
/// budget (a run's, or an hour's), else the cheapest. Warnings say which counts have no row, and
/// which limit is in the way.
StepPlan plan_steps(const StepPlanRequest& request);

}  // namespace collsim
