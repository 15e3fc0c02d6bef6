#include "models/predict/predictor.h"

#include <algorithm>

#include "models/estimate/hop_cache.h"

namespace collsim {

namespace {

/// No simulation takes so many times what formulas say: 1.14 at the most, of 330 calls of 32 to 512
/// GPUs of six clusters.
constexpr double max_off_of_estimates = 1.5;

/// Four nodes of eight GPUs. Their trees have inner nodes and leaves, as those of any cluster have,
/// and their ranks fold: 32 ranks of DGX H100 that run NVLSTree are two classes, 128 are 128.
constexpr Rank ranks_of_few_nodes = 32;

/// From here on bandwidth alone counts, so that a smaller call shows how far formulas are off.
constexpr Bytes min_smaller_call{16 << 20};

}  // namespace

Predictor::Predictor(std::shared_ptr<const CallCompiler> compiler, Method method,
                     std::shared_ptr<HopCache> hops, bool shares_hops)
    : compiler_(std::move(compiler)),
      hops_(std::move(hops)),
      shares_hops_(shares_hops),
      model_(compiler_, std::move(method), shares_hops ? hops_.get() : nullptr) {}

Predictor::Predictor(CallSpec spec, Method method)
    : Predictor(CallCompiler(std::move(spec)), std::move(method)) {}

Predictor::Predictor(CallCompiler compiler, Method method)
    : Predictor(std::make_shared<const CallCompiler>(std::move(compiler)), std::move(method),
                std::make_shared<HopCache>(), false) {}

Predictor Predictor::by(Method method) const {
  return {compiler_, std::move(method), hops_, shares_hops_};
}

Predictor Predictor::with_faults(MachineFaults faults) const {
  return {std::make_shared<const CallCompiler>(compiler_->with_faults(std::move(faults))),
          model_.method(), hops_, true};
}

Prediction Predictor::predict(Bytes size, const Given& given) {
  const Method& method = model_.method();
  if (method.is_estimate) return estimate(size, given);
  Prediction prediction = within_messages(size, given);
  if (compiler_->spec().faults.empty() || !method.beside_healthy) return prediction;
  // What takes so much longer needs no healthy machine beside it.
  const Seconds estimated = healthy().estimate(size, given).time;
  if (prediction.time > max_off_of_estimates * estimated) return prediction;
  const Prediction& without = on_healthy(size, given);
  clamp_to(prediction, without.time);
  prediction.mean_over_ranks = std::max(prediction.mean_over_ranks, without.mean_over_ranks);
  return prediction;
}

Prediction Predictor::estimate(Bytes size, const Given& given) {
  return model_.estimate(size, given);
}

Prediction Predictor::simulate(Bytes size, const Given& given) {
  AskedCall call(model_, size, given);
  if (!model_.method().simulation.exact) {
    for (Shortcut* const shortcut : shortcuts_) {
      if (auto prediction = shortcut->predict(call)) return *prediction;
    }
  }
  return model_.run(call.plan());
}

std::optional<Prediction> Predictor::simulate_if_few(Bytes size, const Given& given) {
  try {
    return simulate(size, given);
  } catch (const TooManyMessages&) {
    return std::nullopt;
  }
}

Prediction Predictor::within_messages(Bytes size, const Given& given) {
  if (auto whole = simulate_if_few(size, given)) return *whole;
  auto part = in_part(size, given);
  if (!part) return estimate(size, given);
  part->extent = Extent::part;
  return *part;
}

/// By few nodes, or by a smaller call of theirs.
std::optional<Prediction> Predictor::in_part(Bytes size, const Given& given) {
  if (compiler_->nccl() == nullptr) return std::nullopt;
  if (!few_) {
    Method method = model_.method();
    method.budget.max_ranks = std::min(method.budget.max_ranks, ranks_of_few_nodes);
    few_.reset(new Predictor(compiler_, std::move(method), hops_, shares_hops_));
  }
  const Given choice = given ? given : compiler_->decide(size).candidate;
  if (auto found = few_->simulate_if_few(size, choice)) return found;
  if (!choice) return std::nullopt;
  const auto less = [](Bytes part) { return Bytes{part.count / 16 * 4}; };
  for (Bytes part = less(size); part >= min_smaller_call; part = less(part)) {
    if (const auto found = few_->simulate_if_few(part, choice)) return grown(*found, size, choice);
  }
  return std::nullopt;
}

/// A larger call of the same algorithm is as far off its estimate.
Prediction Predictor::grown(const Prediction& smaller, Bytes size, const Given& choice) {
  Prediction whole = estimate(size, choice);
  const double growth = whole.time.value / estimate(smaller.size, choice).time.value;
  whole.time = growth * smaller.time;
  whole.mean_over_ranks = growth * smaller.mean_over_ranks;
  clamp_to(whole, whole.bounds.largest());
  whole.transfers = smaller.transfers;
  whole.classes = smaller.classes;
  whole.method.reset();
  return whole;
}

Predictor& Predictor::healthy() {
  if (!healthy_) {
    Method method = model_.method();
    method.simulation.begin = nullptr;  // it is not what was asked for
    healthy_.reset(new Predictor(std::make_shared<const CallCompiler>(compiler_->with_faults({})),
                                 std::move(method), hops_, shares_hops_));
  }
  return *healthy_;
}

const Prediction& Predictor::on_healthy(Bytes size, const Given& given) {
  const Pair pair = given ? Pair({given->algorithm, given->protocol}) : std::nullopt;
  const auto known = healthy_predictions_.find({size, pair});
  if (known != healthy_predictions_.end()) return known->second;
  return healthy_predictions_.emplace(std::pair(size, pair), healthy().predict(size, given))
      .first->second;
}

bool Predictor::scales(Bytes size) {
  AskedCall call(model_, size, {});
  return scaled_.applies(call);
}

RepresentativeCall Predictor::representative(Bytes size, double max_messages) {
  AskedCall call(model_, size, {});
  return scaled_.representative(call, max_messages);
}

}  // namespace collsim
