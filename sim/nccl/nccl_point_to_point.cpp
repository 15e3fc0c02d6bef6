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

/// The place of each rank in the order in which groups of ranks follow each other.
std::vector<Rank> places_of(const Nodes& nodes, Rank ranks) {
  std::vector<Rank> places(ranks);
  Rank next = 0;
  for (const auto& node : nodes) {
    for (const Rank rank : node) places[rank] = next++;
  }
  return places;
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

/// What one rank sends another.
struct PairMessage {
  Rank from = 0;
  Rank to = 0;
  std::uint32_t block = 0;
};

/// All messages, by sender.
std::vector<PairMessage> messages_of(Collective collective, Rank ranks, Rank root) {
  std::vector<PairMessage> messages;
  for (Rank rank = 0; rank < ranks; ++rank) {
    if (collective == Collective::send_recv && ranks > 1) {
      messages.push_back({rank, (rank + 1) % ranks, rank});
    } else if (collective == Collective::all_to_all) {
      for (Rank to = 0; to < ranks; ++to) {
        if (to != rank) messages.push_back({rank, to, rank * ranks + to});
      }
    } else if (rank != root) {
      const bool gathers = collective == Collective::gather;
      messages.push_back(gathers ? PairMessage{rank, root, rank} : PairMessage{root, rank, rank});
    }
  }
  return messages;
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

/// The schedules of all channels while messages are added. Channels without messages share one.
class ChannelWriters {
 public:
  ChannelWriters(Rank ranks, std::uint32_t chunks, std::uint32_t channels)
      : empty_(ranks, 2 * peers_at_once, chunks), writers_(channels), places_(channels) {
    empty_.phase("exchange");
  }

  /// In the same place at the sender and at the receiver: all ranks count rounds alike.
  std::uint32_t next_place(std::uint32_t channel) { return places_[channel]++; }
  void add(std::uint32_t channel, Rank from, Rank to, std::uint32_t place, std::uint32_t chunk) {
    if (!writers_[channel]) writers_[channel] = empty_;
    ScheduleWriter& writer = *writers_[channel];
    const std::uint32_t lane = 2 * (place % peers_at_once);
    const PeerGroupId group = writer.group({from, to, lane});
    writer.append(from, lane, PrimitiveKind::send, {chunk, 1}, 0, group);
    writer.append(to, lane + 1, PrimitiveKind::recv, {chunk, 1}, group, 0);
  }
  void build_into(Plan& plan) && {
    std::optional<std::uint32_t> empty;
    for (std::optional<ScheduleWriter>& writer : writers_) {
      auto number = static_cast<std::uint32_t>(plan.schedules.size());
      if (!writer && empty) number = *empty;
      if (!writer) empty = number;
      plan.schedule_of_channel.push_back(number);
      if (number < plan.schedules.size()) continue;
      plan.schedules.push_back(std::move(writer ? *writer : empty_).build());
    }
  }

 private:
  ScheduleWriter empty_;
  std::vector<std::optional<ScheduleWriter>> writers_;
  std::vector<std::uint32_t> places_;
};

}  // namespace

Plan make_nccl_point_to_point_plan(Collective collective, const Placement& placement,
                                   std::uint32_t channels, std::uint32_t parts, Rank root,
                                   const std::function<bool(Rank from, Rank to)>& sends) {
  assert(std::has_single_bit(channels) && parts > 0 && parts <= channels);
  require_exchange(collective);
  const Rank ranks = placement.ranks();
  if (has_root(collective) && root >= ranks) {
    throw InputError(fmt::format("root {} of {} ranks", root, ranks),
                     fmt::format("0 to {}", ranks - 1));
  }
  const std::uint32_t chunks =
      checked_count(std::uint64_t{blocks(collective, ranks)} * parts, "chunks", "fewer ranks (-n)");
  const MessageRounds rounds(placement, channels);
  const std::vector<Rank> places = places_of(nodes_of_rounds(placement.ranks_by_node()), ranks);
  std::vector<std::vector<PairMessage>> by_round(rounds.rounds());
  for (const PairMessage& each : messages_of(collective, ranks, root)) {
    if (sends && !sends(each.from, each.to)) continue;
    by_round[rounds.round(places[each.from], places[each.to])].push_back(each);
  }
  ChannelWriters writers(ranks, chunks, channels);
  for (std::uint32_t round = 0; round < by_round.size(); ++round) {
    for (std::uint32_t part = 0; part < parts; ++part) {
      const std::uint32_t channel = rounds.channel_of(round, part);
      const std::uint32_t place = writers.next_place(channel);
      for (const auto& [from, to, block] : by_round[round]) {
        writers.add(channel, from, to, place, block * parts + part);
      }
    }
  }
  Plan plan;
  plan.collective = collective;
  plan.algorithm = "nccl_point_to_point";
  plan.root = has_root(collective) ? root : 0;
  plan.channels_divide_chunks = true;
  std::move(writers).build_into(plan);
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

std::uint32_t MessageRounds::round(Rank from, Rank to) const {
  const auto groups = static_cast<std::uint32_t>(place_of_distance_.size());
  const std::uint32_t distance = (to / size_ + groups - from / size_) % groups;
  const std::uint32_t offset = (to % size_ + size_ - from % size_) % size_;
  return place_of_distance_[distance] * size_ + offset;
}

std::uint32_t MessageRounds::channel_of(std::uint32_t round, std::uint32_t part) const {
  return (base_channel(round, per_node_, nodes_, channels_) + part) % channels_;
}

}  // namespace collsim
