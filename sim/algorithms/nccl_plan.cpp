#include "sim/algorithms/nccl_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "sim/algorithms/nccl_schedules.h"
#include "sim/input_error.h"

namespace collsim {

namespace {

/// The same ring, beginning at rank 0, so that equal rings are equal.
std::vector<Rank> from_rank_zero(const std::vector<Rank>& ring) {
  std::vector<Rank> turned = ring;
  std::rotate(turned.begin(), std::find(turned.begin(), turned.end(), Rank{0}), turned.end());
  return turned;
}

/// What makes two channels' schedules equal.
std::vector<Rank> key_of(const NcclChannel& channel, NcclAlgorithm algorithm) {
  if (algorithm == NcclAlgorithm::ring) return from_rank_zero(channel.ring);
  std::vector<Rank> key;
  for (Rank rank = 0; rank < channel.tree.size(); ++rank) {
    key.push_back(channel.tree.parent[rank].value_or(rank));
  }
  return key;
}

Schedule schedule_of(Collective collective, NcclAlgorithm algorithm, const NcclChannel& channel,
                     Rank root) {
  if (algorithm == NcclAlgorithm::tree) return nccl_tree_schedule(channel.tree);
  return nccl_ring_schedule(collective, from_rank_zero(channel.ring), root);
}

}  // namespace

std::optional<std::string> why_no_nccl_plan(Collective collective, NcclAlgorithm algorithm) {
  std::string accepted;
  switch (collective) {
    case Collective::all_reduce:
      if (algorithm == NcclAlgorithm::ring || algorithm == NcclAlgorithm::tree) return std::nullopt;
      accepted = "ring or tree";
      break;
    case Collective::all_gather:
    case Collective::reduce_scatter:
    case Collective::broadcast:
    case Collective::reduce:
      if (algorithm == NcclAlgorithm::ring) return std::nullopt;
      accepted = "ring";
      break;
    default:
      accepted = "all_reduce, all_gather, reduce_scatter, broadcast or reduce";
  }
  return fmt::format("no plan for {} with NCCL's {}; {}", to_string(collective),
                     to_string(algorithm), accepted);
}

Plan make_nccl_plan(Collective collective, NcclAlgorithm algorithm, const NcclChannels& channels,
                    std::uint32_t used_channels, Rank root) {
  if (const auto reason = why_no_nccl_plan(collective, algorithm)) {
    const std::size_t semicolon = reason->find("; ");
    throw InputError(reason->substr(0, semicolon), reason->substr(semicolon + 2));
  }
  if (used_channels == 0 || used_channels > channels.channels.size()) {
    throw InputError(fmt::format("{} channels", used_channels),
                     fmt::format("1 to {}", channels.channels.size()));
  }
  const auto ranks = static_cast<Rank>(channels.channels.front().ring.size());
  if (has_root(collective) && root >= ranks) {
    throw InputError(fmt::format("root {} of {} ranks", root, ranks),
                     fmt::format("0 to {}", ranks - 1));
  }
  Plan plan;
  plan.collective = collective;
  plan.algorithm = fmt::format("nccl_{}", to_string(algorithm));
  plan.fans_out = algorithm == NcclAlgorithm::tree;
  plan.root = has_root(collective) ? root : 0;
  std::map<std::vector<Rank>, std::uint32_t> known;
  for (std::uint32_t i = 0; i < used_channels; ++i) {
    const NcclChannel& channel = channels.channels[i];
    const auto next = static_cast<std::uint32_t>(plan.schedules.size());
    const auto [entry, added] = known.try_emplace(key_of(channel, algorithm), next);
    if (added) plan.schedules.push_back(schedule_of(collective, algorithm, channel, root));
    plan.schedule_of_channel.push_back(entry->second);
  }
  return plan;
}

}  // namespace collsim
