#include "models/prediction/simulator.h"

#include <algorithm>
#include <utility>

#include "models/prediction/memory_need.h"
#include "models/prediction/small_cluster.h"
#include "sim/execution/disturbance.h"

namespace collsim {

namespace {

/// Whether every rank has a part of the buffer, which is smaller the more ranks there are.
bool is_cut_by_ranks(Collective collective, std::optional<NcclAlgorithm> algorithm) {
  if (!algorithm) return collective != Collective::send_recv;
  if (*algorithm == NcclAlgorithm::pat) return true;
  return *algorithm == NcclAlgorithm::ring && !has_root(collective);
}

std::optional<NcclAlgorithm> algorithm_of(const std::optional<Candidate>& choice) {
  return choice ? std::optional(choice->algorithm) : std::nullopt;
}

/// As many bytes for each rank as `size` has for each of `ranks`.
Bytes size_for(const Planner& small, Bytes size, Rank ranks) {
  const std::int64_t unit = size_of(small.spec().run.reduction.type).count * small.ranks();
  const double share = static_cast<double>(small.ranks()) / ranks;
  const std::int64_t whole = size.count / unit;
  const auto units = static_cast<std::int64_t>(share * static_cast<double>(whole));
  return Bytes{std::max<std::int64_t>(units, 1) * unit};
}

}  // namespace

Simulator::Simulator(const Planner& planner, SimulationOptions options)
    : planner_(planner), options_(std::move(options)) {
  if (options_.exact || planner.nccl() == nullptr || planner.ranks() <= max_simulated_ranks) return;
  auto small = small_cluster(planner);
  if (!small) return;
  small_ = std::make_unique<const Planner>(std::move(*small));
  estimator_.emplace(planner);
  small_estimator_.emplace(*small_);
}

Prediction Simulator::simulate(Bytes size) {
  if (small_) {
    try {
      return scaled(size);
    } catch (const HangError&) {
      small_.reset();  // the whole has to say which of its ranks wait
    }
  }
  require_memory(planner_, size);
  return collsim::simulate(planner_.plan(size, &memo_), options_);
}

Prediction Simulator::scaled(Bytes size) {
  const std::optional<Candidate> choice = planner_.decide(size).candidate;
  const Bytes small_size = is_cut_by_ranks(planner_.spec().collective, algorithm_of(choice))
                               ? size_for(*small_, size, planner_.ranks())
                               : size;
  const CallPlan call = choice ? small_->plan(small_size, *choice, &small_memo_)
                               : small_->plan(small_size, &small_memo_);
  const Prediction simulated = collsim::simulate(call, options_);
  Prediction whole = estimator_->estimate(size);
  const Prediction estimated = choice ? small_estimator_->estimate(small_size, *choice)
                                      : small_estimator_->estimate(small_size);
  const double scale = whole.time.value / estimated.time.value;
  whole.time = std::max(scale * simulated.time, whole.bounds.largest());
  whole.mean_over_ranks = scale * simulated.mean_over_ranks;
  whole.transfers = simulated.transfers;
  whole.classes = simulated.classes;
  whole.extent = Extent::scaled;
  whole.method.reset();
  return whole;
}

}  // namespace collsim
