#include "sim/nccl/nccl_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <vector>

#include "sim/base/input_error.h"
#include "sim/base/parallel.h"
#include "sim/nccl/nccl_schedules.h"

namespace collsim {

namespace {

/// NCCL's MAXCHANNELS.
constexpr std::size_t max_nccl_channels = 64;

Rank ranks_of(const NcclChannels& channels) {
  return static_cast<Rank>(channels.channels.front().ring.size());
}

/// The same ring, beginning at rank 0, so that equal rings are equal.
std::vector<Rank> from_rank_zero(const std::vector<Rank>& ring) {
  std::vector<Rank> turned = ring;
  std::rotate(turned.begin(), std::find(turned.begin(), turned.end(), Rank{0}), turned.end());
  return turned;
}

bool is_striped(NcclAlgorithm algorithm) {
  return algorithm == NcclAlgorithm::nvls || algorithm == NcclAlgorithm::nvls_tree ||
         algorithm == NcclAlgorithm::collnet_direct;
}

const NcclStripes& stripes_of(NcclAlgorithm algorithm, const NcclChannels& channels) {
  return algorithm == NcclAlgorithm::collnet_direct ? channels.collnet : channels.nvls;
}

/// Whether a channel runs what search has found for it: the others are all alike, as many as one
/// likes.
bool follows_channels(NcclAlgorithm algorithm) {
  return algorithm == NcclAlgorithm::ring || algorithm == NcclAlgorithm::tree ||
         algorithm == NcclAlgorithm::collnet_chain;
}

/// What makes two channels' schedules equal.
std::vector<Rank> key_of(const NcclChannels& channels, std::uint32_t number,
                         NcclAlgorithm algorithm) {
  if (algorithm == NcclAlgorithm::nvls_tree) return {number % 2};
  if (!follows_channels(algorithm)) return {};
  const NcclChannel& channel = channels.channels[number];
  if (algorithm == NcclAlgorithm::ring) return from_rank_zero(channel.ring);
  std::vector<Rank> key;
  if (algorithm == NcclAlgorithm::collnet_chain) {
    for (const auto& chain : channel.chains) key.insert(key.end(), chain.begin(), chain.end());
    return key;
  }
  for (Rank rank = 0; rank < channel.tree.size(); ++rank) {
    key.push_back(channel.tree.parent[rank].value_or(rank));
  }
  return key;
}

Schedule schedule_of(Collective collective, NcclAlgorithm algorithm, const NcclChannels& channels,
                     std::uint32_t number, Rank root, bool in_place) {
  switch (algorithm) {
    case NcclAlgorithm::tree:
      return nccl_tree_schedule(channels.channels[number].tree);
    case NcclAlgorithm::ring:
      return nccl_ring_schedule(collective, from_rank_zero(channels.channels[number].ring), root,
                                in_place);
    case NcclAlgorithm::collnet_direct:
      return nccl_collnet_direct_schedule(collective, channels.collnet);
    case NcclAlgorithm::collnet_chain:
      return nccl_collnet_chain_schedule(channels.channels[number].chains);
    case NcclAlgorithm::nvls:
      return nccl_nvls_schedule(collective, channels.nvls);
    case NcclAlgorithm::nvls_tree: {
      const Rank nodes = channels.nvls.node_count();
      return nccl_nvls_tree_schedule(
          channels.nvls, number % 2 == 0 ? binary_tree(nodes) : second_binary_tree(nodes));
    }
    case NcclAlgorithm::pat:
      break;
  }
  return nccl_pat_schedule(collective, ranks_of(channels), in_place);
}

/// Throws InputError where the machine has not what the algorithm runs on.
void require_heads(Collective collective, NcclAlgorithm algorithm, const NcclChannels& channels) {
  if (algorithm == NcclAlgorithm::collnet_chain && channels.channels.front().chains.empty()) {
    throw InputError("no chains for NCCL's collnet_chain", "channels that have some");
  }
  if (!is_striped(algorithm)) return;
  const NcclStripes& stripes = stripes_of(algorithm, channels);
  const bool every_rank =
      !stripes.heads.empty() && stripes.stripes() == stripes.nodes.front().size();
  if (stripes.heads.empty() || (collective != Collective::all_reduce && !every_rank)) {
    throw InputError(
        fmt::format("{} of {} ranks a node head stripes for {} with NCCL's {}", stripes.stripes(),
                    stripes.nodes.empty() ? 0 : stripes.nodes.front().size(), to_string(collective),
                    to_string(algorithm)),
        "one at least; all, but for all_reduce");
  }
}

/// What a collective can be run with, for a person.
std::string list_of(std::span<const NcclAlgorithm> algorithms) {
  std::string list;
  for (std::size_t i = 0; i < algorithms.size(); ++i) {
    if (i > 0) list += i + 1 == algorithms.size() ? " or " : ", ";
    list += to_string(algorithms[i]);
  }
  return list;
}

constexpr std::array all_reduce_algorithms{
    NcclAlgorithm::ring,      NcclAlgorithm::tree,           NcclAlgorithm::nvls,
    NcclAlgorithm::nvls_tree, NcclAlgorithm::collnet_direct, NcclAlgorithm::collnet_chain};
constexpr std::array gather_algorithms{NcclAlgorithm::ring, NcclAlgorithm::nvls,
                                       NcclAlgorithm::collnet_direct, NcclAlgorithm::pat};
constexpr std::array rooted_algorithms{NcclAlgorithm::ring};

std::span<const NcclAlgorithm> algorithms_of(Collective collective) {
  switch (collective) {
    case Collective::all_reduce:
      return all_reduce_algorithms;
    case Collective::all_gather:
    case Collective::reduce_scatter:
      return gather_algorithms;
    case Collective::broadcast:
    case Collective::reduce:
      return rooted_algorithms;
    default:
      return {};
  }
}

}  // namespace

std::optional<std::string> why_no_nccl_plan(Collective collective, NcclAlgorithm algorithm) {
  const auto known = algorithms_of(collective);
  if (std::find(known.begin(), known.end(), algorithm) != known.end()) return std::nullopt;
  return fmt::format("no plan for {} with NCCL's {}; {}", to_string(collective),
                     to_string(algorithm),
                     known.empty() ? "all_reduce, all_gather, reduce_scatter, broadcast or reduce"
                                   : list_of(known));
}

std::vector<std::uint32_t> nccl_schedules(NcclAlgorithm algorithm, const NcclChannels& channels,
                                          std::uint32_t used_channels) {
  std::map<std::vector<Rank>, std::uint32_t> known;
  std::vector<std::uint32_t> schedules;
  schedules.reserve(used_channels);
  for (std::uint32_t i = 0; i < used_channels; ++i) {
    const auto next = static_cast<std::uint32_t>(known.size());
    schedules.push_back(known.try_emplace(key_of(channels, i, algorithm), next).first->second);
  }
  return schedules;
}

Plan make_nccl_plan(Collective collective, NcclAlgorithm algorithm, const NcclChannels& channels,
                    std::uint32_t used_channels, Rank root, bool in_place) {
  if (const auto reason = why_no_nccl_plan(collective, algorithm)) {
    const std::size_t semicolon = reason->find("; ");
    throw InputError(reason->substr(0, semicolon), reason->substr(semicolon + 2));
  }
  const std::size_t max_channels =
      follows_channels(algorithm) ? channels.channels.size() : max_nccl_channels;
  if (used_channels == 0 || used_channels > max_channels) {
    throw InputError(fmt::format("{} channels", used_channels),
                     fmt::format("1 to {}", max_channels));
  }
  const Rank ranks = ranks_of(channels);
  if (has_root(collective) && root >= ranks) {
    throw InputError(fmt::format("root {} of {} ranks", root, ranks),
                     fmt::format("0 to {}", ranks - 1));
  }
  require_heads(collective, algorithm, channels);
  Plan plan;
  plan.collective = collective;
  plan.algorithm = fmt::format("nccl_{}", to_string(algorithm));
  plan.several_peers = algorithm == NcclAlgorithm::tree;
  plan.root = has_root(collective) ? root : 0;
  if (algorithm == NcclAlgorithm::pat) plan.min_credits = nccl_pat_aggregation(ranks);
  // Equal schedules are one; of many ranks each takes seconds.
  constexpr Rank many_ranks = 1024;
  plan.schedule_of_channel = nccl_schedules(algorithm, channels, used_channels);
  std::vector<std::uint32_t> unlike;  // channels
  for (std::uint32_t i = 0; i < used_channels; ++i) {
    if (plan.schedule_of_channel[i] == unlike.size()) unlike.push_back(i);
  }
  plan.schedules.resize(unlike.size());
  for_each_in_parallel(unlike.size(), ranks >= many_ranks ? used_channels : 1, [&](std::size_t i) {
    plan.schedules[i] = schedule_of(collective, algorithm, channels, unlike[i], root, in_place);
  });
  return plan;
}

}  // namespace collsim
