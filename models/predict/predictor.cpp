#include "models/predict/predictor.h"

#include <algorithm>

#include "models/estimate/hop_cache.h"
#include "models/simulate/likely_seconds.h"

namespace collsim {

namespace {

/// No simulation takes so many times what formulas say: 1.14 at the most, of 330 calls of 32 to 512
/// GPUs of six clusters.
constexpr double max_off_of_estimates = 1.5;

/// From here on bandwidth alone counts, so that a smaller call shows how far formulas are off.
constexpr Bytes min_smaller_call{16 << 20};

Bytes half_of(Bytes size) {
  constexpr std::int64_t grain = 16;
  return {size.count / (2 * grain) * grain};
}

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
  Prediction prediction = within_budget(size, given);
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

Prediction Predictor::within_budget(Bytes size, const Given& given) {
  try {
    return simulate(size, given);
  } catch (const TooLong& stop) {
    return in_part(size, given, stop.times);
  }
}

/// Tells it by the largest call of a half, a quarter, ... of the bytes that is not TooLong as well.
Prediction Predictor::in_part(Bytes size, const Given& given, double times) {
  const Given choice = given ? given : compiler_->decide(size).candidate;
  for (Bytes part = half_of(size); part >= min_smaller_call; part = half_of(part)) {
    if (times * static_cast<double>(part.count) > static_cast<double>(size.count)) continue;
    try {
      return grown(simulate(part, choice), size, choice);
    } catch (const TooLong&) {
      continue;
    }
  }
  Prediction estimated = estimate(size, choice);
  estimated.extent = Extent::part;  // nothing of it is simulated
  return estimated;
}

/// A larger call of the same algorithm is as far off its estimate, in proportion: over TCP formulas
/// may be six times too fast at any size.
Prediction Predictor::grown(const Prediction& smaller, Bytes size, const Given& choice) {
  Prediction whole = estimate(size, choice);
  const double growth = whole.time.value / estimate(smaller.size, choice).time.value;
  whole.time = growth * smaller.time;
  whole.mean_over_ranks = growth * smaller.mean_over_ranks;
  clamp_to(whole, whole.bounds.largest());
  whole.transfers = smaller.transfers;
  whole.classes = smaller.classes;
  whole.extent = Extent::part;
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

RepresentativeCall Predictor::representative(Bytes size, double max_seconds) {
  const Given choice =
      compiler_->nccl() != nullptr ? Given(compiler_->decide(size).candidate) : std::nullopt;
  for (Bytes part = size;; part = half_of(part)) {
    AskedCall call(model_, part, choice);
    RepresentativeCall found = scaled_.representative(call, max_seconds);
    found.part = static_cast<double>(part.count) / static_cast<double>(size.count);
    const bool is_last = half_of(part) < min_smaller_call;
    if (is_last || likely_seconds_by_message(found.call) <= max_seconds) return found;
  }
}

}  // namespace collsim
