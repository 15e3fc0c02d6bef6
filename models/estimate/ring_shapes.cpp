#include "models/estimate/ring_shapes.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace collsim {

namespace {

bool uses(const Wire& wire, ResourceId resource) {
  const auto is_among = [&](const auto& all) {
    return std::find(all.begin(), all.end(), resource) != all.end();
  };
  return is_among(wire.resources) || is_among(wire.network);
}

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

}  // namespace

bool alike(const RingPlace& one, const RingPlace& other) {
  return one.slowest == other.slowest && one.speed == other.speed && alike(one.hop, other.hop);
}

void add_place(Ring& ring, const RingPlace& place) {
  const auto same = std::find_if(ring.begin(), ring.end(),
                                 [&](const RingPlace& other) { return alike(other, place); });
  if (same == ring.end()) {
    ring.push_back(place);
  } else {
    same->weight += place.weight;
  }
}

const std::vector<LaidHop>& RingShapes::hops(std::uint32_t channel) {
  const auto [found, added] = hops_.try_emplace(channel);
  if (!added) return found->second;
  if (!wires_) {
    wires_ = view_.kept_wires(NcclAlgorithm::ring);
  }
  const Order& ring = order(channel);
  for (std::size_t i = 0; i < ring.size(); ++i) {
    const Rank from = ring[i];
    const Rank to = ring[(i + 1) % ring.size()];
    if (!view_.shows_hop(from, to)) continue;
    found->second.push_back({from, to, wires_->lay(channel, from, to)});
    kinds_.insert(found->second.back().wire.kind);
  }
  return found->second;
}

const std::vector<Ring>& RingShapes::rings(const UsedChannels& channels) {
  const auto [found, added] = rings_.try_emplace(channels);
  if (!added) return found->second;
  // Hops are numbered as they are laid: first all of them, then who uses their links.
  for (std::uint32_t channel = 0; channel < channels.count; ++channel) hops(channel);
  LinkUsers users(*wires_);
  for (std::uint32_t channel = 0; channel < channels.count; ++channel) {
    for (const LaidHop& hop : hops(channel)) users.add(hop.wire, channels.weight(channel));
  }
  found->second = unlike_shapes<Ring>(
      channels,
      channels_in_step(channels.count, [&](std::uint32_t channel) { return order(channel); }),
      [&](std::uint32_t channel, const std::vector<std::uint32_t>& in_step) {
        return ring(channel, in_step, channels, users);
      });
  return found->second;
}

bool RingShapes::is_crossing(const LaidHop& hop) const {
  return view_.node_of(hop.from) != view_.node_of(hop.to);
}

/// How many hops between nodes one that no fault touches stands for: a ring has one out of each.
double RingShapes::weight_of_crossing(const std::vector<LaidHop>& hops) const {
  double crossing = 0;
  double touched = 0;
  for (const LaidHop& hop : hops) {
    if (!is_crossing(hop)) continue;
    ++crossing;
    if (is_touched(hop)) ++touched;
  }
  if (!view_.has_like_nodes() || crossing == touched) return 1;
  return (compiler_.nccl()->nodes() - touched) / (crossing - touched);
}

/// `in_step`: the channels with the same ring.
Ring RingShapes::ring(std::uint32_t channel, const std::vector<std::uint32_t>& in_step,
                      const UsedChannels& channels, const LinkUsers& users) {
  Ring ring;
  const std::vector<LaidHop>& own = hops(channel);
  const double of_crossing = weight_of_crossing(own);
  for (std::size_t i = 0; i < own.size(); ++i) {
    RingPlace place;
    place.weight = is_touched(own[i])    ? 1
                   : is_crossing(own[i]) ? of_crossing
                                         : view_.weight(view_.node_of(own[i].from));
    place.speed = view_.speed(own[i].from);
    const LaidHop& before = own[(i + own.size() - 1) % own.size()];
    place.slowest = std::max(own[i].wire.kind, before.wire.kind);
    place.hop = hop_class(own[i].wire, users, [&](ResourceId narrowest) {
      return static_cast<double>(
          std::count_if(in_step.begin(), in_step.end(),
                        [&](std::uint32_t other) { return uses(hops(other)[i].wire, narrowest); }));
    });
    if (!own[i].wire.network.empty()) count_tasks(own[i], channels.count, place.hop);
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

/// What the thread of the hop's sender has to do on all channels.
void RingShapes::count_tasks(const LaidHop& hop, std::uint32_t channels, HopClass& counted) {
  for (std::uint32_t channel = 0; channel < channels; ++channel) {
    for (const LaidHop& other : hops(channel)) {
      if (other.wire.network.empty()) continue;
      counted.sends += other.from == hop.from ? 1 : 0;
      counted.receives += other.to == hop.from ? 1 : 0;
    }
  }
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
