#include "models/prediction/ring_shapes.h"

#include <algorithm>
#include <utility>

namespace collsim {

namespace {

void add_place(Ring& ring, const RingPlace& place) {
  const auto same = std::find_if(ring.begin(), ring.end(), [&](const RingPlace& other) {
    return other.slowest == place.slowest && alike(other.hop, place.hop);
  });
  if (same == ring.end()) {
    ring.push_back(place);
  } else {
    same->weight += place.weight;
  }
}

bool uses(const Wire& wire, ResourceId resource) {
  return std::find(wire.resources.begin(), wire.resources.end(), resource) != wire.resources.end();
}

}  // namespace

const std::vector<LaidHop>& RingShapes::hops(std::uint32_t channel) {
  const auto [found, added] = hops_.try_emplace(channel);
  if (!added) return found->second;
  if (!wires_) {
    wires_.emplace(planner_.topology(), planner_.spec().gpus, planner_.cost(),
                   planner_.hop_rules(NcclAlgorithm::ring));
  }
  const Order& ring = order(channel);
  const Rank per_node = planner_.ranks() / planner_.nccl()->nodes();
  for (std::size_t i = 0; i < ring.size(); ++i) {
    const Rank from = ring[i];
    const Rank to = ring[(i + 1) % ring.size()];
    if (from / per_node >= window_of_nodes) continue;
    found->second.push_back({from, to, wires_->lay(channel, from, to)});
    kinds_.insert(found->second.back().wire.kind);
  }
  return found->second;
}

const std::vector<Ring>& RingShapes::rings(std::uint32_t channels) {
  const auto [found, added] = rings_.try_emplace(channels);
  if (!added) return found->second;
  std::map<Order, std::vector<std::uint32_t>> in_step;  // channels of equal rings
  for (std::uint32_t channel = 0; channel < channels; ++channel) {
    in_step[order(channel)].push_back(channel);
    hops(channel);
  }
  LinkUsers users(*wires_);
  for (std::uint32_t channel = 0; channel < channels; ++channel) {
    for (const LaidHop& hop : hops(channel)) users.add(hop.wire);
  }
  std::vector<Ring>& rings = found->second;
  for (const auto& [order, of_order] : in_step) {
    for (const std::uint32_t channel : of_order) {
      Ring one = ring(channel, of_order, channels, users);
      if (std::find(rings.begin(), rings.end(), one) == rings.end()) {
        rings.push_back(std::move(one));
      }
    }
  }
  return rings;
}

/// `in_step`: the channels with the same ring.
Ring RingShapes::ring(std::uint32_t channel, const std::vector<std::uint32_t>& in_step,
                      std::uint32_t channels, const LinkUsers& users) {
  Ring ring;
  const std::vector<LaidHop>& own = hops(channel);
  for (std::size_t i = 0; i < own.size(); ++i) {
    RingPlace place;
    place.weight = 1;
    const LaidHop& before = own[(i + own.size() - 1) % own.size()];
    place.slowest = std::max(own[i].wire.kind, before.wire.kind);
    place.hop = hop_class(own[i].wire, users, [&](ResourceId narrowest) {
      return static_cast<double>(
          std::count_if(in_step.begin(), in_step.end(),
                        [&](std::uint32_t other) { return uses(hops(other)[i].wire, narrowest); }));
    });
    if (!own[i].wire.network.empty()) count_tasks(own[i], channels, place.hop);
    add_place(ring, place);
  }
  // Where all hops are alike, all rings are in step.
  if (ring.size() == 1) {
    HopClass& hop = ring.front().hop;
    hop.together += hop.beside;
    hop.beside = 0;
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

/// Hops from the root to every rank, or from every rank to it.
std::vector<Rank> RingShapes::distances(std::uint32_t channel) const {
  const Order& ring = order(channel);
  const auto count = static_cast<Rank>(ring.size());
  const auto root =
      static_cast<Rank>(std::find(ring.begin(), ring.end(), planner_.spec().root) - ring.begin());
  const bool to_root = planner_.spec().collective == Collective::reduce;
  std::vector<Rank> distances(count);
  for (Rank i = 0; i < count; ++i) {
    const Rank after = (i + count - root) % count;
    distances[ring[i]] = to_root ? (after + count - 1) % count : after;
  }
  return distances;
}

double RingShapes::turn(std::uint32_t channels) {
  const auto [found, added] = turns_.try_emplace(channels, 0);
  if (!added) return found->second;
  std::set<std::vector<Rank>> different;
  for (std::uint32_t channel = 0; channel < channels; ++channel) {
    different.insert(distances(channel));
  }
  for (auto one = different.begin(); one != different.end(); ++one) {
    for (auto other = different.begin(); other != one; ++other) {
      double most = 0;
      double least = 0;
      for (std::size_t rank = 0; rank < one->size(); ++rank) {
        const double ahead = static_cast<double>((*one)[rank]) - (*other)[rank];
        most = std::max(most, ahead);
        least = std::min(least, ahead);
      }
      found->second = std::max(found->second, (most - least) / 2);
    }
  }
  return found->second;
}

}  // namespace collsim
