#include "tools/collsim/crossover/crossover_report.h"

#include <algorithm>
#include <cassert>
#include <limits>
#include <list>
#include <map>
#include <utility>

#include "tools/collsim/crossover/nccl_variants.h"

namespace collsim {

namespace {

using Side = VariantTimes::Side;

/// An algorithm's or a protocol's ways, and what reports call it.
struct NamedSide {
  std::string name;
  Side ways;
};

template <typename KeyOf>
std::vector<NamedSide> sides_of(const NcclVariants& ways, KeyOf key_of) {
  std::map<decltype(key_of(ways.pairs().front())), Side> sides;
  for (std::size_t way = 0; way < ways.pairs().size(); ++way) {
    sides[key_of(ways.pairs()[way])].push_back(way);
  }
  std::vector<NamedSide> named;
  named.reserve(sides.size());
  for (const auto& [key, side] : sides) named.push_back({report_name(key), side});
  return named;
}

/// The last of the crossovers of the times, simulated where they need to be.
Crossover simulated_crossover(VariantTimes& times, const std::vector<Bytes>& sizes,
                              const Side& first, const Side& second) {
  const auto leads = [&](Bytes size) { return times.leads(first, second, size); };
  const auto likely_leads = [&](Bytes size) {
    return times.likely(times.likely_fastest(first, size), size) <=
           times.likely(times.likely_fastest(second, size), size);
  };
  constexpr double tolerance = 0.03;
  return last_crossover(sizes, leads, likely_leads, tolerance);
}

double min_estimate(const NcclVariants& ways, const Side& side, Bytes size) {
  double least = std::numeric_limits<double>::infinity();
  for (const std::size_t way : side) least = std::min(least, ways.nccl_estimate(way, size));
  return least;
}

void add_pairs(NcclVariants& ways, const std::vector<NamedSide>& sides,
               const std::vector<Bytes>& sizes, std::vector<PairCrossover>& pairs) {
  for (auto a = sides.begin(); a != sides.end(); ++a) {
    for (auto b = std::next(a); b != sides.end(); ++b) {
      pairs.push_back({a->name, b->name, simulated_crossover(ways.times(), sizes, a->ways, b->ways),
                       bisect_crossover(
                           sizes, [&](Bytes size) { return min_estimate(ways, a->ways, size); },
                           [&](Bytes size) { return min_estimate(ways, b->ways, size); })});
    }
  }
}

ChoiceRegret follow(NcclVariants& ways, const std::vector<Bytes>& sizes) {
  VariantTimes& times = ways.times();
  ChoiceRegret following;
  Regret& regret = following.regret;
  for (const Bytes size : sizes) {
    const std::size_t fastest = times.fastest(times.all(), size);
    const std::size_t chosen = ways.chosen(size);
    const double lost =
        chosen == fastest ? 0 : times.simulated(chosen, size) / times.simulated(fastest, size) - 1;
    ++regret.sizes;
    regret.mean += lost;
    if (lost <= 0) ++regret.best;
    if (regret.sizes > 1 && lost <= regret.worst) continue;
    regret.worst = lost;
    following.worst_size = size;
    following.choice = ways.name(chosen);
    following.choice_time.value = times.simulated(chosen, size);
    following.fastest = ways.name(fastest);
    following.fastest_time.value = times.simulated(fastest, size);
  }
  regret.mean /= static_cast<double>(regret.sizes);
  return following;
}

/// Two sizes, a crossover between them, and how near they are to come to each other.
struct Bracket {
  Bytes low;
  Bytes high;
  double tolerance = 0;
};

/// The size between two in whole floats; none where they are near enough.
std::optional<Bytes> middle_of(const Bracket& bracket) {
  const auto& [low, high, tolerance] = bracket;
  const double enough = tolerance * static_cast<double>(low.count);
  if (high.count - low.count <= std::max(float_size.count, static_cast<std::int64_t>(enough))) {
    return std::nullopt;
  }
  const Bytes middle{(low.count + high.count) / 2 / float_size.count * float_size.count};
  if (!(low < middle)) return std::nullopt;
  return middle;
}

/// Narrows it; `after` tells of a size whether the crossover lies below it.
Bracket bisect(Bracket bracket, const std::function<bool(Bytes)>& after) {
  while (const auto middle = middle_of(bracket)) {
    (after(*middle) ? bracket.high : bracket.low) = *middle;
  }
  return bracket;
}

/// The same where `likely` guesses what `after` says, at little cost: it is asked first close to
/// both sides of the guess, and each answer makes the next guess better.
Bracket guess_and_bisect(Bracket bracket, const std::function<bool(Bytes)>& after,
                         const std::function<bool(Bytes)>& likely) {
  constexpr int guesses = 4;
  for (int guess = 0; guess < guesses && middle_of(bracket); ++guess) {
    const Bracket near = bisect({bracket.low, bracket.high, bracket.tolerance / 4}, likely);
    for (const Bytes size : {near.high, near.low}) {
      if (!(bracket.low < size && size < bracket.high)) continue;
      (after(size) ? bracket.high : bracket.low) = size;
    }
  }
  return bisect(bracket, after);
}

/// An exact closed form tells what a simulation would.
Seconds simulated_time(Predictor& predictor, Bytes size) {
  const Prediction estimate = predictor.estimate(size);
  const bool is_exact = estimate.method == EstimateMethod::closed_form;
  return is_exact ? estimate.time : predictor.predict(size).time;
}

/// Dozens of sizes of every algorithm and protocol are simulated.
constexpr SimulationBudget of_crossover{.max_ranks = 256, .max_seconds = 0.3};
/// Of hundreds of numbers of ranks. A long ring whose chunks are unlike by a hair, or no more ranks
/// than the budget allows, stands for the whole: crossovers move by less than their tolerance.
constexpr SimulationBudget of_textbooks{.max_ranks = 256, .max_seconds = 0.01};

}  // namespace

Crossover last_crossover(const std::vector<Bytes>& sizes,
                         const std::function<bool(Bytes)>& first_leads,
                         const std::function<bool(Bytes)>& likely_leads, double tolerance) {
  assert(!sizes.empty());
  Crossover crossover;
  crossover.first_before = first_leads(sizes.front());
  crossover.first_after = first_leads(sizes.back());
  const auto is_after = [&](const std::function<bool(Bytes)>& leads) {
    return [&](Bytes size) { return leads(size) == crossover.first_after; };
  };
  // From the largest size down: the last change.
  for (std::size_t i = sizes.size() - 1; i > 0; --i) {
    if (first_leads(sizes[i - 1]) == crossover.first_after) continue;
    const Bracket found = guess_and_bisect({sizes[i - 1], sizes[i], tolerance},
                                           is_after(first_leads), is_after(likely_leads));
    crossover.size = static_cast<double>(found.high.count);
    break;
  }
  return crossover;
}

Crossover bisect_crossover(const std::vector<Bytes>& sizes,
                           const std::function<double(Bytes)>& first,
                           const std::function<double(Bytes)>& second) {
  const auto leads = [&](Bytes size) { return first(size) <= second(size); };
  constexpr double tolerance = 0.01;
  return last_crossover(sizes, leads, leads, tolerance);
}

CrossoverReport find_crossovers(const CallCompiler& compiler, const std::vector<Bytes>& sizes) {
  assert(!sizes.empty());
  Predictor predictor(compiler, by_simulation(of_crossover));
  NcclVariants ways(predictor);
  CrossoverReport report;
  report.ranks = compiler.ranks();
  report.following = follow(ways, sizes);
  add_pairs(ways, sides_of(ways, [](const NcclVariants::Pair& pair) { return pair.first; }), sizes,
            report.pairs);
  add_pairs(ways, sides_of(ways, [](const NcclVariants::Pair& pair) { return pair.second; }), sizes,
            report.pairs);
  return report;
}

CrossoverReport find_textbook_crossovers(const std::vector<CallCompiler>& compilers,
                                         const std::vector<Bytes>& sizes) {
  assert(!compilers.empty() && !sizes.empty());
  CrossoverReport report;
  report.ranks = compilers.front().ranks();
  std::list<Predictor> predictors;  // the ways refer to them
  std::vector<Way> ways;
  for (const CallCompiler& compiler : compilers) {
    Predictor& predictor = predictors.emplace_back(compiler, by_simulation(of_textbooks));
    ways.push_back({compiler.spec().run.algorithm,
                    [&predictor](Bytes size) { return simulated_time(predictor, size).value; },
                    [&predictor](Bytes size) { return predictor.estimate(size).time.value; }});
  }
  VariantTimes times(ways, drift_of(compilers.front()));
  for (std::size_t a = 0; a < ways.size(); ++a) {
    for (std::size_t b = a + 1; b < ways.size(); ++b) {
      const auto estimated = [](const Way& way) {
        return [&](Bytes size) { return *way.estimate(size); };
      };
      report.pairs.push_back({ways[a].name, ways[b].name,
                              simulated_crossover(times, sizes, {a}, {b}),
                              bisect_crossover(sizes, estimated(ways[a]), estimated(ways[b]))});
    }
  }
  return report;
}

}  // namespace collsim
