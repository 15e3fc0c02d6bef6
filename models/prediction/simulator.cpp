#include "models/prediction/simulator.h"

#include <algorithm>
#include <utility>

#include "models/prediction/memory_need.h"
#include "models/prediction/rank_gpus.h"

namespace collsim {

namespace {

/// Ranks of the small cluster.
constexpr Rank small_ranks = 64;

/// The planner of the first nodes of a cluster.
std::unique_ptr<const Planner> first_nodes(const Planner& whole) {
  CallSpec spec = whole.spec();
  const Rank per_node = whole.ranks() / whole.nccl()->nodes();
  const Rank nodes = std::max<Rank>(small_ranks / per_node, 2);
  spec.gpus.resize(std::size_t{nodes} * per_node);
  if (spec.root >= spec.gpus.size()) spec.root = 0;
  return std::make_unique<const Planner>(std::move(spec));
}

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
  if (!scales()) return;
  estimator_.emplace(planner);
  small_ = first_nodes(planner);
  small_estimator_.emplace(*small_);
}

bool Simulator::scales() const {
  return !options_.exact && planner_.nccl() != nullptr && planner_.ranks() > max_simulated_ranks &&
         planner_.spec().faults.empty();
}

Prediction Simulator::simulate(Bytes size) {
  if (scales()) return scaled(size);
  require_memory(planner_, size);
  return collsim::simulate(planner_.plan(size, &memo_), options_);
}

Prediction Simulator::scaled(Bytes size) {
  Prediction whole = estimator_->estimate(size);
  const std::optional<Candidate> choice = planner_.decide(size).candidate;
  const Bytes small_size = is_cut_by_ranks(planner_.spec().collective, algorithm_of(choice))
                               ? size_for(*small_, size, planner_.ranks())
                               : size;
  const CallPlan call =
      choice ? small_->plan(small_size, *choice, &memo_) : small_->plan(small_size, &memo_);
  const Prediction simulated = collsim::simulate(call, options_);
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
