#include "models/exchange/token_traffic.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

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

/// The chance that at least one of `count` different choices among `pool` is one of `some`.
double hit_chance(double pool, double some, std::uint32_t count) {
  double none = 1;
  for (std::uint32_t i = 0; i < count; ++i) none *= std::max(0.0, pool - some - i) / (pool - i);
  return 1 - none;
}

Chances uniform_chances(const ExpertPlaces& places) {
  const std::vector<double> of_rank =
      experts_by_rank(places, std::vector<double>(places.experts, 1));
  const std::vector<double> of_host = by_host(places, of_rank);
  const double reached = std::min(places.hosts(), places.hosts_per_token);
  const double share = reached / places.hosts();
  const double pool = places.experts * share;
  Chances chances;
  for (const double some : of_rank) {
    chances.ranks.push_back(share * hit_chance(pool, some, places.top_k));
    chances.experts.push_back(places.top_k * some / places.experts);
  }
  for (const double some : of_host) {
    chances.hosts.push_back(share * hit_chance(pool, some, places.top_k));
  }
  return chances;
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

Chances weighted_chances(const ExpertPlaces& places, const Skew& skew) {
  const std::vector<double> weights = weights_of(skew, places.experts, "experts");
  const auto likely = std::count_if(weights.begin(), weights.end(), [](double w) { return w > 0; });
  if (likely < static_cast<std::ptrdiff_t>(places.top_k)) {
    throw InputError(fmt::format("--skew: {} sends tokens to {} experts", skew.name, likely),
                     fmt::format("at least {}, as --top-k says", places.top_k));
  }
  const std::vector<double> of_rank = experts_by_rank(places, weights);
  const std::vector<double> of_host = by_host(places, of_rank);
  const std::vector<double> host_chance = chosen_hosts(places, of_host);
  std::vector<double> chance_of_expert;
  for (std::uint32_t expert = 0; expert < places.experts; ++expert) {
    chance_of_expert.push_back(host_chance[places.host_of_rank[places.rank_of(expert)]]);
  }
  const double time = race_time(weights, chance_of_expert, places.top_k);
  Chances chances;
  std::vector<double> rung(places.experts);
  for (std::uint32_t i = 0; i < places.experts; ++i) {
    rung[i] = chance_of_expert[i] * -std::expm1(-weights[i] * time);
  }
  chances.experts = experts_by_rank(places, rung);
  for (std::uint32_t rank = 0; rank < places.ranks(); ++rank) {
    chances.ranks.push_back(host_chance[places.host_of_rank[rank]] *
                            -std::expm1(-of_rank[rank] * time));
  }
  for (std::size_t host = 0; host < of_host.size(); ++host) {
    chances.hosts.push_back(host_chance[host] * -std::expm1(-of_host[host] * time));
  }
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
  Chances chances;
  if (skew.kind == Skew::Kind::uniform) chances = uniform_chances(places);
  if (skew.kind == Skew::Kind::balanced) chances = balanced_chances(places);
  if (skew.kind == Skew::Kind::weighted) chances = weighted_chances(places, skew);
  chances.hosts.resize(places.ranks());  // as wide as the others
  return {std::move(tokens), TrafficMatrix::of_equal_rows(std::move(chances.ranks)),
          TrafficMatrix::of_equal_rows(std::move(chances.experts)),
          TrafficMatrix::of_equal_rows(std::move(chances.hosts))};
}

}  // namespace collsim
