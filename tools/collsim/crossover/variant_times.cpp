#include "tools/collsim/crossover/variant_times.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "models/nccl/tuning/reduction.h"

namespace collsim {

namespace {

/// Formulas of trees over TCP were found to be off by 2.4.
constexpr double never_simulated = 2.5;
/// Next to a simulated size: a formula smooths what chunks make of it.
constexpr double min_doubt = 0.005;

/// From where on bandwidth alone counts, and the errors of formulas hardly change.
constexpr double large = 1 << 24;

/// How far a size is from one byte, in octaves; from `large` on an octave counts a quarter.
double place_of(Bytes size) {
  const double bytes = std::max(1.0, static_cast<double>(size.count));
  const double beyond = std::max(0.0, std::log2(bytes / large));
  constexpr double quarter = 0.25;
  return std::log2(bytes) - (1 - quarter) * beyond;
}

double octaves(Bytes from, Bytes to) {
  return std::abs(place_of(to) - place_of(from));
}

}  // namespace

VariantTimes::VariantTimes(std::vector<Way> ways, double drift)
    : ways_(std::move(ways)), known_(ways_.size()), drift_(drift) {}

VariantTimes::Side VariantTimes::all() const {
  Side all(ways_.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return all;
}

bool VariantTimes::is_simulated(std::size_t way, Bytes size) const {
  return known_[way].simulated.count(size) != 0;
}

double VariantTimes::estimated(std::size_t way, Bytes size) {
  const auto [found, added] = known_[way].estimated.try_emplace(size, 0);
  if (added) found->second = ways_[way].estimate(size).value_or(0);
  return found->second;
}

double VariantTimes::simulated(std::size_t way, Bytes size) {
  Known& known = known_[way];
  const auto found = known.simulated.find(size);
  if (found != known.simulated.end()) return found->second;
  const double time = ways_[way].simulate(size);
  known.simulated.emplace(size, time);
  ++simulations_;
  const double estimate = estimated(way, size);
  if (estimate > 0 && time > 0) learn(way, size, std::log(time / estimate));
  return time;
}

void VariantTimes::learn(std::size_t way, Bytes size, double error) {
  Known& known = known_[way];
  const auto here = known.errors.emplace(size, error).first;
  const auto compare = [&](const std::pair<const Bytes, double>& other) {
    const double distance = std::max(1.0, octaves(size, other.first));
    known.drift = std::max(known.drift, std::abs(error - other.second) / std::sqrt(distance));
  };
  if (here != known.errors.begin()) compare(*std::prev(here));
  if (std::next(here) != known.errors.end()) compare(*std::next(here));
}

/// Between simulated sizes it changes evenly from octave to octave; beyond them it stays.
double VariantTimes::error(std::size_t way, Bytes size) const {
  const std::map<Bytes, double>& errors = known_[way].errors;
  if (errors.empty()) return 0;
  const auto above = errors.lower_bound(size);
  if (above == errors.end()) return std::prev(above)->second;
  if (above->first == size || above == errors.begin()) return above->second;
  const auto below = std::prev(above);
  const double part = octaves(below->first, size) / octaves(below->first, above->first);
  return below->second + part * (above->second - below->second);
}

/// Octaves to the nearest simulated size; infinite where there is none.
double VariantTimes::nearest(std::size_t way, Bytes size) const {
  const std::map<Bytes, double>& errors = known_[way].errors;
  const auto above = errors.lower_bound(size);
  double nearest = std::numeric_limits<double>::infinity();
  if (above != errors.end()) nearest = octaves(size, above->first);
  if (above != errors.begin()) {
    nearest = std::min(nearest, octaves(std::prev(above)->first, size));
  }
  return nearest;
}

double VariantTimes::doubt(std::size_t way, Bytes size) const {
  const double distance = nearest(way, size);
  const double wandered = distance < 1 ? distance : std::sqrt(distance);
  const double doubt = min_doubt + std::max(drift_, known_[way].drift) * wandered;
  return std::min(doubt, std::log(never_simulated));
}

VariantTimes::Range VariantTimes::range(std::size_t way, Bytes size) {
  const auto found = known_[way].simulated.find(size);
  if (found != known_[way].simulated.end()) return {found->second, found->second};
  const double estimate = estimated(way, size);
  if (estimate <= 0) return {0, std::numeric_limits<double>::infinity()};
  const double time = estimate * std::exp(error(way, size));
  const double factor = std::exp(doubt(way, size));
  return {time / factor, time * factor};
}

VariantTimes::Range VariantTimes::range(const Side& side, Bytes size) {
  assert(!side.empty());
  Range least{std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};
  for (const std::size_t way : side) {
    const Range of_way = range(way, size);
    least.low = std::min(least.low, of_way.low);
    least.high = std::min(least.high, of_way.high);
  }
  return least;
}

double VariantTimes::likely(std::size_t way, Bytes size) {
  const auto found = known_[way].simulated.find(size);
  if (found != known_[way].simulated.end()) return found->second;
  const double estimate = estimated(way, size);
  return estimate > 0 ? estimate * std::exp(error(way, size)) : simulated(way, size);
}

void VariantTimes::simulate_most_open(const Side& side, Bytes size) {
  std::optional<std::size_t> open;
  for (const std::size_t way : side) {
    if (is_simulated(way, size)) continue;
    if (!open || range(way, size).low < range(*open, size).low) open = way;
  }
  assert(open);
  simulate_near(*open, size);
}

/// Of a way that was simulated at none but far smaller sizes, first a call of 1/64 of the size: it
/// takes that much less time, and most often it settles the matter.
void VariantTimes::simulate_near(std::size_t way, Bytes size) {
  constexpr double far = 6.5;  // octaves
  constexpr std::int64_t part = 64;
  constexpr Bytes worth_it{1 << 22};
  const bool first_smaller = worth_it <= size && nearest(way, size) > far;
  const std::int64_t floats = size.count / (float_size.count * part);
  simulated(way, first_smaller ? Bytes{floats * float_size.count} : size);
}

/// Simulates the way by which one side likely leads, then what could overtake it.
bool VariantTimes::leads(const Side& first, const Side& second, Bytes size) {
  while (true) {
    const Range of_first = range(first, size);
    const Range of_second = range(second, size);
    if (of_first.high <= of_second.low) return true;
    if (of_second.high < of_first.low) return false;
    const std::size_t best_first = likely_fastest(first, size);
    const std::size_t best_second = likely_fastest(second, size);
    const bool first_ahead = likely(best_first, size) <= likely(best_second, size);
    const std::size_t ahead = first_ahead ? best_first : best_second;
    if (is_simulated(ahead, size)) {
      simulate_most_open(first_ahead ? second : first, size);
    } else {
      simulate_near(ahead, size);
    }
  }
}

std::size_t VariantTimes::likely_fastest(const Side& side, Bytes size) {
  assert(!side.empty());
  return *std::min_element(side.begin(), side.end(), [&](std::size_t a, std::size_t b) {
    return likely(a, size) < likely(b, size);
  });
}

std::size_t VariantTimes::fastest(const Side& side, Bytes size) {
  while (true) {
    const std::size_t candidate = likely_fastest(side, size);
    const double high = range(candidate, size).high;
    const bool open = std::any_of(side.begin(), side.end(), [&](std::size_t way) {
      return way != candidate && range(way, size).low < high &&
             !(is_simulated(way, size) && is_simulated(candidate, size));
    });
    if (!open) return candidate;
    simulate_most_open(side, size);
  }
}

}  // namespace collsim
