#include "tools/collsim/diagnose/next_measurement.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace collsim {

namespace {

constexpr std::array sizes{Bytes{64 << 10}, Bytes{4 << 20}, Bytes{256 << 20}};
/// Calls of more ranks are told apart by their estimates: a simulation of all_to_all takes longer
/// than all the rest.
constexpr Rank max_ranks_simulated = 32;
constexpr std::array collectives{Collective::all_reduce, Collective::all_gather,
                                 Collective::send_recv, Collective::all_to_all};

/// The collectives on all nodes, and on one.
std::vector<RecordedCall> candidates(const RecordedCall& measured) {
  std::vector<RecordedCall> calls;
  for (const bool one_node : {false, true}) {
    const Rank per_node = measured.ranks / measured.nodes;
    if (one_node && (measured.nodes == 1 || per_node == 1)) continue;
    for (const Collective collective : collectives) {
      RecordedCall call = measured;
      call.collective = collective;
      call.root = 0;
      call.calls = 0;
      if (one_node) call.ranks = per_node;
      if (one_node) call.nodes = 1;
      calls.push_back(call);
    }
  }
  return calls;
}

using Logs = std::array<double, sizes.size()>;

/// By estimate; nothing where the changed machine does not run the call.
std::optional<Logs> log_times(const LogPredictor& predictor, const RecordedCall& call,
                              const FittedCause& cause) {
  return if_possible([&] {
    const Deviation change = cause.hypothesis.change(cause.value);
    Predictor by_formula = predictor.call_on(call, change, by_formulas());
    Logs times{};
    std::transform(sizes.begin(), sizes.end(), times.begin(),
                   [&](Bytes size) { return std::log(by_formula.predict(size).time.value); });
    return times;
  });
}

double apart(const NextMeasurement& next) {
  return std::abs(std::log(next.first.value / next.second.value));
}

}  // namespace

std::optional<NextMeasurement> next_measurement(const LogPredictor& predictor,
                                                const RecordedCall& call, const FittedCause& first,
                                                const FittedCause& second) {
  constexpr double least = 0.1;
  std::optional<NextMeasurement> best;
  for (const RecordedCall& candidate : candidates(call)) {
    const auto a = log_times(predictor, candidate, first);
    const auto b = log_times(predictor, candidate, second);
    if (!a || !b) continue;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      NextMeasurement next{candidate, sizes[i], {std::exp((*a)[i])}, {std::exp((*b)[i])}};
      // A tenth more, so that of nearly equals the first is kept.
      if (apart(next) > (best ? 1.1 * apart(*best) : least)) best = std::move(next);
    }
  }
  if (!best) return best;
  best->causes = {first, second};
  if (best->call.ranks > max_ranks_simulated) return best;
  const auto with = [&](const FittedCause& cause) {
    return predictor.time_of(best->call, cause.hypothesis.change(cause.value), best->size,
                             by_quick_simulation());
  };
  const auto with_first = with(first);
  const auto with_second = with(second);
  if (!with_first || !with_second) return std::nullopt;
  best->first = *with_first;
  best->second = *with_second;
  return apart(*best) > least ? best : std::nullopt;
}

}  // namespace collsim
