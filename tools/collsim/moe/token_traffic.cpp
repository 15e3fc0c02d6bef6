#include "tools/collsim/moe/token_traffic.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include "sim/base/division.h"

namespace collsim {

namespace {

/// A token's chances, which are the same for tokens of every rank.
struct Chances {
  std::vector<double> ranks;
  std::vector<double> experts;
  std::vector<double> hosts;
};

std::vector<double> experts_by_rank(const ExpertPlaces& places,
                                    const std::vector<double>& weights) {
  std::vector<double> sums(places.ranks());
  for (std::uint32_t expert = 0; expert < places.experts; ++expert) {
    sums[places.rank_of(expert)] += weights[expert];
  }
  return sums;
}

std::vector<double> by_host(const ExpertPlaces& places, const std::vector<double>& of_ranks) {
  std::vector<double> sums(places.hosts());
  for (std::uint32_t rank = 0; rank < places.ranks(); ++rank) {
    sums[places.host_of_rank[rank]] += of_ranks[rank];
  }
  return sums;
}

/// When, of clocks with these rates, `count` have rung on the average; each counts by its chance.
double race_time(const std::vector<double>& rates, const std::vector<double>& chance,
                 double count) {
  const double fastest = *std::max_element(rates.begin(), rates.end());
  double low = 0;
  double high = 1 / fastest;
  const auto rung = [&](double time) {
    double sum = 0;
    for (std::size_t i = 0; i < rates.size(); ++i) sum += chance[i] * -std::expm1(-rates[i] * time);
    return sum;
  };
  constexpr double beyond_all = 1e15;  // no clock that matters is slower by so much
  while (rung(high) < count && high * fastest < beyond_all) high *= 2;
  constexpr int halvings = 100;  // to the last digit
  for (int i = 0; i < halvings; ++i) {
    const double middle = (low + high) / 2;
    (rung(middle) < count ? low : high) = middle;
  }
  return high;
}

/// The chance that each host is among those that a token may go to.
std::vector<double> chosen_hosts(const ExpertPlaces& places, const std::vector<double>& weights) {
  std::vector<double> chances(places.hosts(), 1);
  if (places.hosts_per_token >= places.hosts()) return chances;
  const double time = race_time(weights, chances, places.hosts_per_token);
  for (std::size_t i = 0; i < chances.size(); ++i) chances[i] = -std::expm1(-weights[i] * time);
  return chances;
}

/// How many experts of each weight a token may go to, on the average.
using ExpertPool = std::map<double, double>;

/// Adds the experts of a rank, each counted so often.
void add_experts(const ExpertPlaces& places, const std::vector<double>& weights, std::uint32_t rank,
                 double each, ExpertPool& pool) {
  for (std::uint32_t i = places.first_expert(rank); i < places.first_expert(rank + 1); ++i) {
    pool[weights[i]] += each;
  }
}

/// How many of a pool have rung at a time, each a clock with its weight as its rate, and the rate
/// of those that have not.
std::pair<double, double> rung_and_left(const ExpertPool& pool, double time) {
  double rung = 0;
  double left = 0;
  for (const auto& [weight, count] : pool) {
    const double silent = std::exp(-weight * time);
    rung += count * (1 - silent);
    left += count * weight * silent;
  }
  return {rung, left};
}

/// The chance that `count` of the others are drawn before any of some that weigh so much together.
/// Experts are drawn one after the other, without those drawn before, as clocks ring. The i-th of
/// the others comes first with the chance of what is left of them then. Exact for equal weights.
double miss_chance(const ExpertPool& others, double weight, std::uint32_t count) {
  constexpr double none = 1e-11;  // of an expert
  constexpr int max_steps = 200;
  double number = 0;
  for (const auto& [each, of_weight] : others) number += each > 0 ? of_weight : 0;
  if (weight <= 0) return 1;
  double chance = 1;
  double time = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    if (number - i <= none) return 0;
    auto [rung, left] = rung_and_left(others, time);
    for (int step = 0; step < max_steps && left > 0 && i - rung > none; ++step) {
      time += (i - rung) / left;  // Newton's, which comes from below
      std::tie(rung, left) = rung_and_left(others, time);
    }
    chance *= left / (left + weight);
  }
  return chance;
}

/// Where the hosts that a token goes to hold so many of these experts on the average, if it goes to
/// one host, counted from 0.
ExpertPool pool_beside(const ExpertPlaces& places, const std::vector<double>& weights,
                       const std::vector<double>& host_chance, std::uint32_t home) {
  const double reached = std::min(places.hosts(), places.hosts_per_token);
  const double others = reached - host_chance[home];
  ExpertPool pool;
  for (std::uint32_t rank = 0; rank < places.ranks(); ++rank) {
    const std::uint32_t host = places.host_of_rank[rank];
    if (host == home) continue;
    const double each = others > 0 ? host_chance[host] * (reached - 1) / others : 0;
    add_experts(places, weights, rank, std::min(1.0, each), pool);
  }
  return pool;
}

void add_hit_chances(const ExpertPlaces& places, const std::vector<double>& weights,
                     const std::vector<double>& host_chance, Chances& chances) {
  const std::vector<double> of_rank = experts_by_rank(places, weights);
  const std::vector<double> of_host = by_host(places, of_rank);
  chances.ranks.resize(places.ranks());
  for (std::uint32_t host = 0; host < places.hosts(); ++host) {
    const ExpertPool beside = pool_beside(places, weights, host_chance, host);
    const auto hit = [&](const ExpertPool& others, double weight) {
      return host_chance[host] * (1 - miss_chance(others, weight, places.top_k));
    };
    chances.hosts.push_back(hit(beside, of_host[host]));
    ExpertPool all = beside;
    for (std::uint32_t rank = 0; rank < places.ranks(); ++rank) {
      if (places.host_of_rank[rank] == host) add_experts(places, weights, rank, 1, all);
    }
    for (std::uint32_t rank = 0; rank < places.ranks(); ++rank) {
      if (places.host_of_rank[rank] != host) continue;
      ExpertPool others = all;
      add_experts(places, weights, rank, -1, others);
      chances.ranks[rank] = hit(others, of_rank[rank]);
    }
  }
}

/// Of a router that draws experts by their weights, which are equal if it is a uniform one.
Chances weighted_chances(const ExpertPlaces& places, const Skew& skew) {
  const std::vector<double> weights = weights_of(skew, places.experts, "experts");
  const auto likely = std::count_if(weights.begin(), weights.end(), [](double w) { return w > 0; });
  if (likely < static_cast<std::ptrdiff_t>(places.top_k)) {
    throw InputError(fmt::format("--skew: {} sends tokens to {} experts", skew.name, likely),
                     fmt::format("at least {}, as --top-k says", places.top_k));
  }
  const std::vector<double> host_chance =
      chosen_hosts(places, by_host(places, experts_by_rank(places, weights)));
  std::vector<double> chance_of_expert;
  chance_of_expert.reserve(places.experts);
  for (std::uint32_t expert = 0; expert < places.experts; ++expert) {
    chance_of_expert.push_back(host_chance[places.host_of_rank[places.rank_of(expert)]]);
  }
  const double time = race_time(weights, chance_of_expert, places.top_k);
  std::vector<double> rung(places.experts);
  for (std::uint32_t i = 0; i < places.experts; ++i) {
    rung[i] = chance_of_expert[i] * -std::expm1(-weights[i] * time);
  }
  Chances chances;
  chances.experts = experts_by_rank(places, rung);
  add_hit_chances(places, weights, host_chance, chances);
  return chances;
}

/// Adds a token of that weight to chances.
void add_token(const ExpertPlaces& places, const std::vector<std::uint32_t>& experts, double weight,
               Chances& chances) {
  std::set<std::uint32_t> ranks;
  std::set<std::uint32_t> hosts;
  for (const std::uint32_t expert : experts) {
    const std::uint32_t rank = places.rank_of(expert);
    chances.experts[rank] += weight;
    if (ranks.insert(rank).second) chances.ranks[rank] += weight;
    if (hosts.insert(places.host_of_rank[rank]).second) {
      chances.hosts[places.host_of_rank[rank]] += weight;
    }
  }
}

Chances no_chances(const ExpertPlaces& places) {
  return {std::vector<double>(places.ranks()), std::vector<double>(places.ranks()),
          std::vector<double>(places.hosts())};
}

Chances balanced_chances(const ExpertPlaces& places) {
  const std::uint32_t stride = (places.experts + places.top_k - 1) / places.top_k;
  Chances chances = no_chances(places);
  for (std::uint32_t first = 0; first < places.experts; ++first) {
    std::vector<std::uint32_t> experts;
    for (std::uint32_t i = 0; i < places.top_k; ++i) {
      experts.push_back((first + i * stride) % places.experts);
    }
    add_token(places, experts, 1.0 / places.experts, chances);
  }
  return chances;
}

void put_row(const Chances& chances, Rank from, TokenTraffic& traffic) {
  for (Rank to = 0; to < traffic.ranks.ranks(); ++to) {
    traffic.ranks.add(from, to, chances.ranks[to]);
    traffic.experts.add(from, to, chances.experts[to]);
  }
  for (Rank host = 0; host < chances.hosts.size(); ++host) {
    traffic.hosts.add(from, host, chances.hosts[host]);
  }
}

void require_token(const ExpertPlaces& places, const RoutedToken& token) {
  if (token.rank >= places.ranks()) {
    throw InputError(token.place, fmt::format("rank {} of {} ranks", token.rank, places.ranks()),
                     "a rank; they count from 0");
  }
  for (const std::uint32_t expert : token.experts) {
    if (expert < places.experts) continue;
    throw InputError(token.place, fmt::format("expert {} of {}", expert, places.experts),
                     "an expert; they count from 0");
  }
}

TokenTraffic routed_traffic(const ExpertPlaces& places, const Skew& skew, TokenTraffic traffic) {
  std::vector<Chances> chances(places.ranks(), no_chances(places));
  std::fill(traffic.tokens.begin(), traffic.tokens.end(), 0);
  for (const RoutedToken& token : skew.tokens) {
    require_token(places, token);
    traffic.tokens[token.rank] += 1;
  }
  for (const RoutedToken& token : skew.tokens) {
    add_token(places, token.experts, 1 / traffic.tokens[token.rank], chances[token.rank]);
  }
  const double mean = static_cast<double>(skew.tokens.size()) / places.ranks();
  for (Rank rank = 0; rank < places.ranks(); ++rank) {
    traffic.tokens[rank] /= mean;
    put_row(chances[rank], rank, traffic);
  }
  return traffic;
}

void require_fit(const ExpertPlaces& places) {
  const double reached = std::min(places.hosts(), places.hosts_per_token);
  const double pool = places.experts * reached / places.hosts();
  if (places.top_k <= pool) return;
  throw InputError(fmt::format("--top-k: {} of {:g} experts that a token may go to", places.top_k,
                               std::floor(pool)),
                   "at most as many; more --experts or more --hosts-per-token");
}

}  // namespace

std::uint32_t ExpertPlaces::hosts() const {
  return *std::max_element(host_of_rank.begin(), host_of_rank.end()) + 1;
}

std::uint32_t ExpertPlaces::first_expert(std::uint32_t rank) const {
  return static_cast<std::uint32_t>(
      divide_up(static_cast<std::uint64_t>(rank) * experts, std::uint64_t{ranks()}));
}

std::uint32_t ExpertPlaces::rank_of(std::uint32_t expert) const {
  return static_cast<std::uint32_t>(static_cast<std::uint64_t>(expert) * ranks() / experts);
}

TokenTraffic token_traffic(const ExpertPlaces& places, const Skew& skew) {
  require_fit(places);
  std::vector<double> tokens(places.ranks(), 1);
  if (skew.kind == Skew::Kind::routed) {
    return routed_traffic(places, skew,
                          {std::move(tokens), TrafficMatrix(places.ranks()),
                           TrafficMatrix(places.ranks()), TrafficMatrix(places.ranks())});
  }
  Chances chances =
      skew.kind == Skew::Kind::balanced ? balanced_chances(places) : weighted_chances(places, skew);
  chances.hosts.resize(places.ranks());  // as wide as the others
  return {std::move(tokens), TrafficMatrix::of_equal_rows(std::move(chances.ranks)),
          TrafficMatrix::of_equal_rows(std::move(chances.experts)),
          TrafficMatrix::of_equal_rows(std::move(chances.hosts))};
}

}  // namespace collsim
