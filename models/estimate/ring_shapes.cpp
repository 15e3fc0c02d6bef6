#include "models/estimate/ring_shapes.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace collsim {

namespace {

/// The largest mean of what a rank waits for another along a closed chain of them (R. Karp, "A
/// characterization of the minimum cycle mean in a digraph", 1978): each waits for another as long
/// as it comes after it on some ring.
double longest_turn(const std::vector<std::vector<double>>& distances) {
  // Of many ranks those of the first nodes are like the others.
  constexpr std::size_t max_ranks = 128;
  const std::size_t count = std::min(distances.front().size(), max_ranks);
  constexpr double never = -std::numeric_limits<double>::infinity();
  const auto wait = [&](std::size_t one, std::size_t other) {
    if (one == other) return 0.0;
    double longest = 0;
    for (const auto& ring : distances) longest = std::max(longest, ring[other] - ring[one]);
    return longest > 0 ? longest : never;
  };
  std::vector<double> waits(count * count);
  for (std::size_t one = 0; one < count; ++one) {
    for (std::size_t other = 0; other < count; ++other)
      waits[one * count + other] = wait(one, other);
  }
  // The longest chains by length and last rank.
  std::vector<std::vector<double>> chains{std::vector<double>(count)};
  for (std::size_t length = 1; length <= count; ++length) {
    std::vector<double> next(count, never);
    for (std::size_t one = 0; one < count; ++one) {
      for (std::size_t other = 0; other < count; ++other) {
        next[other] = std::max(next[other], chains.back()[one] + waits[one * count + other]);
      }
    }
    chains.push_back(std::move(next));
  }
  double longest = 0;
  for (std::size_t rank = 0; rank < count; ++rank) {
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t length = 0; length < count; ++length) {
      least = std::min(least, (chains[count][rank] - chains[length][rank]) /
                                  static_cast<double>(count - length));
    }
    longest = std::max(longest, least);
  }
  return longest;
}

/// Adds a place, or counts it where one like it is there.
void add_place(Ring& ring, const RingPlace& place) {
  const auto same = std::find_if(ring.begin(), ring.end(), [&](const RingPlace& other) {
    return other.slowest == place.slowest && other.speed == place.speed &&
           alike(other.hop, place.hop);
  });
  if (same == ring.end()) {
    ring.push_back(place);
  } else {
    same->weight += place.weight;
  }
}

}  // namespace

const std::vector<LaidHops::Id>& RingShapes::hops(std::uint32_t channel) {
  const auto [found, added] = shown_.try_emplace(channel);
  if (!added) return found->second;
  const Order& ring = order(channel);
  LaidHops& laid = hops_.laid(NcclAlgorithm::ring);
  for (std::size_t i = 0; i < ring.size(); ++i) {
    const Rank from = ring[i];
    const Rank to = ring[(i + 1) % ring.size()];
    if (view_.shows_hop(from, to)) found->second.push_back(laid.lay(channel, from, to, from));
  }
  return found->second;
}

const std::vector<Ring>& RingShapes::rings(const UsedChannels& channels) {
  const auto [found, added] = rings_.try_emplace(channels);
  if (!added) return found->second;
  for (std::uint32_t channel = 0; channel < channels.count; ++channel) hops(channel);
  const HopClasses& classes = hops_.classes(NcclAlgorithm::ring, channels);
  const LinkConditions now = hops_.now(hops_.laid(NcclAlgorithm::ring));
  found->second = unlike_shapes<Ring>(
      channels, [&](std::uint32_t channel) { return ring(channel, classes, now); });
  return found->second;
}

/// How many hops between nodes one that no fault touches stands for: a ring has one out of each.
double RingShapes::weight_of_crossing(const std::vector<LaidHops::Id>& hops) {
  const LaidHops& laid = hops_.laid(NcclAlgorithm::ring);
  double crossing = 0;
  double touched = 0;
  for (const LaidHops::Id id : hops) {
    if (!is_crossing(laid.hop(id))) continue;
    ++crossing;
    if (is_touched(laid.hop(id))) ++touched;
  }
  if (!view_.has_like_nodes() || crossing == touched) return 1;
  return (compiler_.nccl()->nodes() - touched) / (crossing - touched);
}

Ring RingShapes::ring(std::uint32_t channel, const HopClasses& classes, const LinkConditions& now) {
  Ring ring;
  const LaidHops& laid = hops_.laid(NcclAlgorithm::ring);
  const std::vector<LaidHops::Id>& own = hops(channel);
  const double of_crossing = weight_of_crossing(own);
  for (std::size_t i = 0; i < own.size(); ++i) {
    const LaidHops::Hop& hop = laid.hop(own[i]);
    RingPlace place;
    place.weight = is_touched(hop)    ? 1
                   : is_crossing(hop) ? of_crossing
                                      : view_.weight(view_.node_of(hop.from));
    place.speed = view_.speed(hop.from);
    place.slowest = std::max(hop.kind, laid.hop(own[(i + own.size() - 1) % own.size()]).kind);
    place.hop = classes.of(own[i], now);
    add_place(ring, place);
  }
  // Where all hops are alike, all rings are in step.
  if (ring.size() == 1 && !has_root(compiler_.spec().collective)) {
    HopClass& hop = ring.front().hop;
    hop.synchronous_users += hop.other_users;
    hop.other_users = 0;
  }
  return ring;
}

/// How far every rank is from the root on a ring, or the root from it, as a share of all the way.
std::vector<double> RingShapes::distances(std::uint32_t channel) const {
  constexpr double between_nodes = 4;  // times as long as others, roughly
  const Order& ring = order(channel);
  const auto count = static_cast<Rank>(ring.size());
  const auto root =
      static_cast<Rank>(std::find(ring.begin(), ring.end(), compiler_.spec().root) - ring.begin());
  const bool to_root = compiler_.spec().collective == Collective::reduce;
  std::vector<double> distances(count);
  double way = 0;
  // Data for the root begin at the rank after it, and so do data from it.
  for (Rank i = to_root ? 1 : 0; i < count + (to_root ? 1 : 0); ++i) {
    const Rank rank = ring[(root + i) % count];
    const Rank next = ring[(root + i + 1) % count];
    distances[rank] = way;
    if (i + (to_root ? 0 : 1) < count)
      way += view_.node_of(rank) == view_.node_of(next) ? 1 : between_nodes;
  }
  for (double& distance : distances) distance /= way;
  return distances;
}

double RingShapes::turn(std::uint32_t channels) {
  const auto [found, added] = turns_.try_emplace(channels, 0);
  if (!added) return found->second;
  std::set<std::vector<double>> different;
  for (std::uint32_t channel = 0; channel < channels; ++channel) {
    different.insert(distances(channel));
  }
  if (different.size() > 1) found->second = longest_turn({different.begin(), different.end()});
  return found->second;
}

}  // namespace collsim
