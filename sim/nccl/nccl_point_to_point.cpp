#include "sim/nccl/nccl_point_to_point.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cassert>
#include <optional>
#include <utility>
#include <vector>

#include "sim/base/checked_count.h"
#include "sim/base/division.h"
#include "sim/base/input_error.h"
#include "sim/plan/schedule_writer.h"

namespace collsim {

namespace {

constexpr std::uint32_t peers_at_once = 8;

/// Ranks of a group: a node's, or where there are several nodes at most `peers_at_once` of them.
std::size_t group_size(std::size_t per_node, std::size_t nodes) {
  std::size_t size = per_node;
  while (nodes > 1 && (size > peers_at_once || per_node % size != 0)) --size;
  return size;
}

/// Ranks by node.
using Nodes = std::vector<std::vector<Rank>>;

std::size_t fullest(const Nodes& nodes) {
  std::size_t most = 0;
  for (const auto& node : nodes) most = std::max(most, node.size());
  return most;
}

/// All in one where nodes are not equally full: NCCL then goes through the ranks without regard to
/// nodes (NCCL src/init.cc).
Nodes nodes_of_rounds(Nodes nodes) {
  const bool equal = std::all_of(nodes.begin(), nodes.end(), [&](const auto& node) {
    return node.size() == nodes.front().size();
  });
  if (equal) return nodes;
  Nodes one(1);
  for (const auto& node : nodes) one.front().insert(one.front().end(), node.begin(), node.end());
  std::sort(one.front().begin(), one.front().end());
  return one;
}

/// The ranks in groups of equal size, in one node's case one group.
std::vector<std::vector<Rank>> groups_of(const Nodes& nodes) {
  const std::size_t per_node = nodes.front().size();
  const std::size_t size = group_size(per_node, nodes.size());
  std::vector<std::vector<Rank>> groups;
  for (const auto& node : nodes) {
    for (std::size_t i = 0; i < per_node; i += size) {
      const auto begin = node.begin() + static_cast<std::ptrdiff_t>(i);
      groups.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(size));
    }
  }
  return groups;
}

/// To whom every rank sends, by round. Groups meet at triangular distances, which modulo a power of
/// two are all distances.
std::vector<std::vector<Rank>> rounds_of(const std::vector<std::vector<Rank>>& groups) {
  const std::size_t count = groups.size();
  const std::size_t size = groups.front().size();
  const std::size_t power = std::bit_ceil(count);
  std::vector<std::vector<Rank>> rounds;
  std::size_t distance = 0;
  for (std::size_t i = 0; i < power; distance = (distance + ++i) % power) {
    for (std::size_t offset = 0; distance < count && offset < size; ++offset) {
      std::vector<Rank>& to = rounds.emplace_back(count * size);
      for (std::size_t group = 0; group < count; ++group) {
        for (std::size_t member = 0; member < size; ++member) {
          to[groups[group][member]] = groups[(group + distance) % count][(member + offset) % size];
        }
      }
    }
  }
  return rounds;
}

std::uint32_t reversed_bits(std::uint32_t value, std::uint32_t channels) {
  std::uint32_t reversed = 0;
  for (std::uint32_t bit = 1; bit < channels; bit *= 2) {
    reversed = 2 * reversed + ((value & bit) != 0 ? 1 : 0);
  }
  return reversed;
}

/// Over several nodes, the rounds that may run at once share a channel.
std::uint32_t base_channel(std::uint32_t round, std::uint32_t per_node, std::size_t nodes,
                           std::uint32_t channels) {
  if (nodes == 1) return reversed_bits(round, channels);
  const std::uint32_t local_bases = divide_up(per_node, peers_at_once);
  const std::uint32_t base = round / per_node * local_bases + round % per_node / peers_at_once;
  return reversed_bits(base, channels);
}

/// The block that goes from one rank to the other, if any does.
std::optional<std::uint32_t> block_between(Collective collective, Rank ranks, Rank root, Rank from,
                                           Rank to) {
  if (from == to) return std::nullopt;
  switch (collective) {
    case Collective::all_to_all:
      return from * ranks + to;
    case Collective::send_recv:
      if (to == (from + 1) % ranks) return from;
      return std::nullopt;
    case Collective::gather:
      if (to == root) return from;
      return std::nullopt;
    case Collective::scatter:
      if (from == root) return to;
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

void require_exchange(Collective collective) {
  switch (collective) {
    case Collective::all_to_all:
    case Collective::send_recv:
    case Collective::gather:
    case Collective::scatter:
      return;
    default:
      throw InputError(fmt::format("{} is not made of sends and receives", to_string(collective)),
                       "send_recv, all_to_all, gather or scatter");
  }
}

/// The schedule of one channel while messages are added.
class Channel {
 public:
  Channel(Rank ranks, std::uint32_t chunks) : writer_(ranks, 2 * peers_at_once, chunks) {
    writer_.phase("exchange");
  }

  /// In the same place at the sender and at the receiver: all ranks count rounds alike.
  void add(Rank from, Rank to, std::uint32_t place, std::uint32_t chunk) {
    const std::uint32_t lane = 2 * (place % peers_at_once);
    const PeerGroupId group = writer_.group({from, to, lane});
    writer_.append(from, lane, PrimitiveKind::send, {chunk, 1}, 0, group);
    writer_.append(to, lane + 1, PrimitiveKind::recv, {chunk, 1}, group, 0);
  }
  std::uint32_t next_place() { return places_++; }
  Schedule build() && { return std::move(writer_).build(); }

 private:
  ScheduleWriter writer_;
  std::uint32_t places_ = 0;
};

}  // namespace

Plan make_nccl_point_to_point_plan(Collective collective, const Placement& placement,
                                   std::uint32_t channels, std::uint32_t parts, Rank root) {
  assert(std::has_single_bit(channels) && parts > 0 && parts <= channels);
  require_exchange(collective);
  const Rank ranks = placement.ranks();
  if (has_root(collective) && root >= ranks) {
    throw InputError(fmt::format("root {} of {} ranks", root, ranks),
                     fmt::format("0 to {}", ranks - 1));
  }
  const Nodes by_node = placement.ranks_by_node();
  const auto groups = groups_of(nodes_of_rounds(by_node));
  const std::size_t nodes = by_node.size();
  const auto per_node = static_cast<std::uint32_t>(fullest(by_node));
  const std::uint32_t chunks =
      checked_count(std::uint64_t{blocks(collective, ranks)} * parts, "chunks", "fewer ranks (-n)");
  std::vector<Channel> writers(channels, Channel(ranks, chunks));
  const auto rounds = rounds_of(groups);
  for (std::uint32_t round = 0; round < rounds.size(); ++round) {
    const std::uint32_t base = base_channel(round, per_node, nodes, channels);
    for (std::uint32_t part = 0; part < parts; ++part) {
      Channel& channel = writers[(base + part) % channels];
      const std::uint32_t place = channel.next_place();
      for (Rank from = 0; from < ranks; ++from) {
        const Rank to = rounds[round][from];
        const auto block = block_between(collective, ranks, root, from, to);
        if (block) channel.add(from, to, place, *block * parts + part);
      }
    }
  }
  Plan plan;
  plan.collective = collective;
  plan.algorithm = "nccl_point_to_point";
  plan.root = has_root(collective) ? root : 0;
  plan.channels_divide_chunks = true;
  for (std::uint32_t i = 0; i < channels; ++i) {
    plan.schedules.push_back(std::move(writers[i]).build());
    plan.schedule_of_channel.push_back(i);
  }
  return plan;
}

MessageRounds::MessageRounds(const Placement& placement, std::uint32_t channels)
    : channels_(channels) {
  const Nodes by_node = placement.ranks_by_node();
  nodes_ = static_cast<std::uint32_t>(by_node.size());
  per_node_ = static_cast<std::uint32_t>(fullest(by_node));
  const Nodes met = nodes_of_rounds(by_node);
  size_ = static_cast<std::uint32_t>(group_size(met.front().size(), met.size()));
  const std::size_t groups = placement.ranks() / size_;
  const std::size_t power = std::bit_ceil(groups);
  place_of_distance_.resize(groups);
  std::uint32_t place = 0;
  std::size_t distance = 0;
  for (std::size_t i = 0; i < power; distance = (distance + ++i) % power) {
    if (distance < groups) place_of_distance_[distance] = place++;
  }
}

std::uint32_t MessageRounds::channel(Rank from, Rank to, std::uint32_t part) const {
  const auto groups = static_cast<std::uint32_t>(place_of_distance_.size());
  const std::uint32_t distance = (to / size_ + groups - from / size_) % groups;
  const std::uint32_t offset = (to % size_ + size_ - from % size_) % size_;
  const std::uint32_t round = place_of_distance_[distance] * size_ + offset;
  return (base_channel(round, per_node_, nodes_, channels_) + part) % channels_;
}

}  // namespace collsim
