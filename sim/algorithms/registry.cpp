#include "sim/algorithms/registry.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <utility>

#include "sim/algorithms/all_reduce.h"
#include "sim/algorithms/multimem.h"
#include "sim/algorithms/other_collectives.h"
#include "sim/algorithms/written_schedule.h"
#include "sim/base/did_you_mean.h"
#include "sim/base/input_error.h"

namespace collsim {

namespace {

struct Choice {
  const Algorithm* algorithm = nullptr;
  const Algorithm* inter = nullptr;
  /// Instead of both: what a person wrote into a file.
  std::shared_ptr<const WrittenSchedule> written{};
};

Choice choose_file(Collective collective, std::string_view name) {
  Choice choice;
  choice.written = read_schedule_file(std::string(name));
  if (choice.written->collective == collective) return choice;
  throw InputError(fmt::format("'{}' is a schedule of {}, not of {}", name,
                               to_string(choice.written->collective), to_string(collective)),
                   fmt::format("-c {}", to_string(choice.written->collective)));
}

const Algorithm* find(Collective collective, std::string_view name) {
  for (const Algorithm& algorithm : algorithms()) {
    if (algorithm.collective == collective && algorithm.name == name) return &algorithm;
  }
  return nullptr;
}

/// Whether it can be the algorithm between nodes of a composed one.
bool joins_nodes(const Algorithm& algorithm) {
  return !algorithm.composed && switch_schedule_of(algorithm) == nullptr;
}

Choice choose(Collective collective, std::string_view name) {
  if (names_schedule_file(name)) return choose_file(collective, name);
  const std::size_t colon = name.find(':');
  Choice choice{find(collective, name.substr(0, colon)), nullptr};
  bool known = choice.algorithm != nullptr;
  if (known && choice.algorithm->composed) {
    const bool named = colon != std::string_view::npos;
    choice.inter =
        find(collective, named ? name.substr(colon + 1) : choice.algorithm->default_inter);
    known = choice.inter != nullptr && joins_nodes(*choice.inter);
  } else {
    known = known && colon == std::string_view::npos;
  }
  if (known) return choice;
  throw InputError(fmt::format("there is no {} algorithm '{}'", to_string(collective), name),
                   names_instead_of(name, algorithm_names(collective)));
}

std::optional<std::string> why_unsupported(const Choice& choice, const Placement& placement) {
  return choice.written ? why_not_for(*choice.written, placement.ranks())
                        : choice.algorithm->unsupported(placement, choice.inter);
}

void require_supported(const Choice& choice, const Placement& placement) {
  const auto reason = why_unsupported(choice, placement);
  if (!reason) return;
  const std::size_t semicolon = reason->find("; ");
  throw InputError(reason->substr(0, semicolon), reason->substr(semicolon + 2));
}

/// How many orders there are to rotate through.
std::uint32_t rotations(Collective collective, const Placement& placement) {
  const bool free = collective == Collective::all_reduce || collective == Collective::broadcast ||
                    collective == Collective::reduce;
  const auto nodes = placement.ranks_by_node();
  const bool equal = std::all_of(nodes.begin(), nodes.end(), [&](const auto& node) {
    return node.size() == nodes.front().size();
  });
  if (!free || !equal || nodes.size() < 2) return 1;
  return static_cast<std::uint32_t>(nodes.front().size());
}

/// The rank at every place, where each node's are rotated.
std::vector<Rank> rotated_ranks(const Placement& placement, std::uint32_t places) {
  std::vector<Rank> ranks(placement.ranks());
  for (const auto& node : placement.ranks_by_node()) {
    for (std::size_t i = 0; i < node.size(); ++i) ranks[node[i]] = node[(i + places) % node.size()];
  }
  return ranks;
}

Schedule schedule_of(const Choice& choice, const Placement& placement, std::vector<Rank> ranks,
                     Rank root) {
  const auto place_of_root =
      static_cast<Rank>(std::find(ranks.begin(), ranks.end(), root) - ranks.begin());
  if (choice.written) {
    const TransferList list =
        transfers_of(*choice.written, placement.ranks(), ranks_per_node(placement), place_of_root);
    ScheduleBuilder builder(placement.ranks(), list.chunks);
    Group all(builder, std::move(ranks));
    emit(list, all);
    return std::move(builder).build();
  }
  if (const SwitchSchedule schedule = switch_schedule_of(*choice.algorithm)) {
    return schedule(placement.ranks());
  }
  ScheduleBuilder builder(placement.ranks(), choice.algorithm->chunks(placement, choice.inter));
  Group all(builder, std::move(ranks));
  all.set_root(place_of_root);
  choice.algorithm->emit(all, placement, choice.inter);
  return std::move(builder).build();
}

/// "hierarchical:ring" of "hierarchical".
std::string full_name(const Choice& choice, std::string_view name) {
  if (choice.written) return std::string(name);
  if (choice.inter == nullptr) return std::string(choice.algorithm->name);
  return fmt::format("{}:{}", choice.algorithm->name, choice.inter->name);
}

}  // namespace

std::vector<std::vector<Rank>> Placement::ranks_by_node() const {
  std::map<std::uint32_t, std::size_t> position;
  std::vector<std::vector<Rank>> nodes;
  for (Rank rank = 0; rank < ranks(); ++rank) {
    const auto [entry, added] = position.try_emplace(node_of_rank[rank], nodes.size());
    if (added) nodes.emplace_back();
    nodes[entry->second].push_back(rank);
  }
  return nodes;
}

Rank Placement::nodes() const {
  std::vector<std::uint32_t> nodes = node_of_rank;
  std::sort(nodes.begin(), nodes.end());
  return static_cast<Rank>(std::unique(nodes.begin(), nodes.end()) - nodes.begin());
}

Rank ranks_per_node(const Placement& placement) {
  const auto nodes = placement.ranks_by_node();
  const bool equal = std::all_of(nodes.begin(), nodes.end(), [&](const auto& node) {
    return node.size() == nodes.front().size();
  });
  return equal && !nodes.empty() ? static_cast<Rank>(nodes.front().size()) : 1;
}

Placement uniform_placement(Rank ranks, Rank per_node) {
  Placement placement;
  placement.node_of_rank.reserve(ranks);
  for (Rank rank = 0; rank < ranks; ++rank) placement.node_of_rank.push_back(rank / per_node);
  return placement;
}

std::optional<std::string> supports_everything(const Placement& /*placement*/,
                                               const Algorithm* /*inter*/) {
  return std::nullopt;
}

std::uint32_t one_chunk(const Placement& /*placement*/, const Algorithm* /*inter*/) {
  return 1;
}

std::uint32_t chunk_per_rank(const Placement& placement, const Algorithm* /*inter*/) {
  return placement.ranks();
}

std::span<const Algorithm> algorithms() {
  static const std::array table{
      all_reduce_ring,
      all_reduce_tree,
      all_reduce_double_binary_tree,
      all_reduce_hierarchical,
      all_reduce_recursive_halving_doubling,
      all_reduce_parameter_server,
      all_reduce_one_shot,
      all_reduce_two_shot,
      all_reduce_multimem_one_shot,
      all_reduce_multimem_two_shot,
      all_gather_ring,
      all_gather_one_shot,
      all_gather_multimem,
      reduce_scatter_ring,
      reduce_scatter_one_shot,
      reduce_scatter_multimem,
      broadcast_ring,
      broadcast_tree,
      reduce_ring,
      reduce_tree,
      send_recv_direct,
      all_to_all_direct,
      gather_direct,
      scatter_direct,
      barrier_dissemination,
  };
  return table;
}

std::vector<std::string> algorithm_names(Collective collective) {
  std::vector<std::string> names;
  for (const Algorithm& algorithm : algorithms()) {
    if (algorithm.collective != collective) continue;
    names.emplace_back(algorithm.name);
    if (!algorithm.composed) continue;
    for (const Algorithm& inter : algorithms()) {
      if (inter.collective == collective && joins_nodes(inter)) {
        names.push_back(fmt::format("{}:{}", algorithm.name, inter.name));
      }
    }
  }
  return names;
}

std::optional<std::string> why_unsupported(Collective collective, std::string_view name,
                                           const Placement& placement) {
  return why_unsupported(choose(collective, name), placement);
}

bool needs_adding_switch(Collective collective, std::string_view name) {
  const Choice choice = choose(collective, name);
  return choice.algorithm != nullptr && switch_schedule_of(*choice.algorithm) != nullptr;
}

Growth growth_of(Collective collective, std::string_view name) {
  const Choice choice = choose(collective, name);
  if (choice.written) return Growth::none;
  return choice.inter != nullptr ? choice.inter->growth : choice.algorithm->growth;
}

std::vector<std::vector<Rank>> channel_orders(Collective collective, const Placement& placement,
                                              std::uint32_t channels, ChannelOrder order) {
  const std::uint32_t count =
      order == ChannelOrder::rotated ? std::min(channels, rotations(collective, placement)) : 1;
  std::vector<std::vector<Rank>> orders;
  for (std::uint32_t places = 0; places < count; ++places) {
    orders.push_back(rotated_ranks(placement, places));
  }
  return orders;
}

std::uint32_t chunks_of(Collective collective, std::string_view name, const Placement& placement) {
  const Choice choice = choose(collective, name);
  require_supported(choice, placement);
  if (choice.written) {
    return chunks_of(*choice.written, placement.ranks(), ranks_per_node(placement), 0);
  }
  return choice.algorithm->chunks(placement, choice.inter);
}

Plan make_plan(Collective collective, std::string_view name, const Placement& placement,
               std::uint32_t channels, Rank root, ChannelOrder order) {
  if (placement.ranks() == 0 || channels == 0) {
    throw InputError("a plan without ranks or channels", "at least one of each");
  }
  if (has_root(collective) && root >= placement.ranks()) {
    throw InputError(fmt::format("root {} of {} ranks", root, placement.ranks()),
                     fmt::format("0 to {}", placement.ranks() - 1));
  }
  const Choice choice = choose(collective, name);
  require_supported(choice, placement);
  Plan plan;
  plan.collective = collective;
  plan.root = has_root(collective) ? root : 0;
  plan.algorithm = full_name(choice, name);
  for (std::vector<Rank>& ranks : channel_orders(collective, placement, channels, order)) {
    plan.schedules.push_back(schedule_of(choice, placement, std::move(ranks), plan.root));
  }
  const auto orders = static_cast<std::uint32_t>(plan.schedules.size());
  for (std::uint32_t channel = 0; channel < channels; ++channel) {
    plan.schedule_of_channel.push_back(channel % orders);
  }
  return plan;
}

}  // namespace collsim
