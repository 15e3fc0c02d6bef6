#include "sim/algorithms/registry.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <utility>

#include "sim/algorithms/all_reduce.h"
#include "sim/algorithms/other_collectives.h"
#include "sim/input_error.h"

namespace collsim {

namespace {

struct Choice {
  const Algorithm* algorithm = nullptr;
  const Algorithm* inter = nullptr;
};

const Algorithm* find(Collective collective, std::string_view name) {
  for (const Algorithm& algorithm : algorithms()) {
    if (algorithm.collective == collective && algorithm.name == name) return &algorithm;
  }
  return nullptr;
}

Choice choose(Collective collective, std::string_view name) {
  const std::size_t colon = name.find(':');
  Choice choice{find(collective, name.substr(0, colon)), nullptr};
  bool known = choice.algorithm != nullptr;
  if (known && choice.algorithm->composed) {
    const bool named = colon != std::string_view::npos;
    choice.inter =
        find(collective, named ? name.substr(colon + 1) : choice.algorithm->default_inter);
    known = choice.inter != nullptr && !choice.inter->composed;
  } else {
    known = known && colon == std::string_view::npos;
  }
  if (known) return choice;
  throw InputError(fmt::format("there is no {} algorithm '{}'", to_string(collective), name),
                   fmt::format("algorithms are {}", fmt::join(algorithm_names(collective), ", ")));
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

std::span<const Algorithm> algorithms() {
  static const std::array table{
      all_reduce_ring,
      all_reduce_tree,
      all_reduce_double_binary_tree,
      all_reduce_hierarchical,
      all_reduce_recursive_halving_doubling,
      all_reduce_parameter_server,
      all_reduce_all_to_all_broadcast,
      all_gather_ring,
      reduce_scatter_ring,
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
      if (inter.collective == collective && !inter.composed) {
        names.push_back(fmt::format("{}:{}", algorithm.name, inter.name));
      }
    }
  }
  return names;
}

std::optional<std::string> why_unsupported(Collective collective, std::string_view name,
                                           const Placement& placement) {
  const Choice choice = choose(collective, name);
  return choice.algorithm->unsupported(placement, choice.inter);
}

Plan make_plan(Collective collective, std::string_view name, const Placement& placement,
               std::uint32_t channels, Rank root) {
  if (placement.ranks() == 0 || channels == 0) {
    throw InputError("a plan without ranks or channels", "at least one of each");
  }
  if (has_root(collective) && root >= placement.ranks()) {
    throw InputError(fmt::format("root {} of {} ranks", root, placement.ranks()),
                     fmt::format("0 to {}", placement.ranks() - 1));
  }
  const auto [algorithm, inter] = choose(collective, name);
  if (const auto reason = algorithm->unsupported(placement, inter)) {
    const std::size_t semicolon = reason->find("; ");
    throw InputError(reason->substr(0, semicolon), reason->substr(semicolon + 2));
  }
  const std::uint32_t chunks = algorithm->chunks(placement, inter);
  ScheduleBuilder builder(placement.ranks(), chunks);
  std::vector<Rank> ranks(placement.ranks());
  std::iota(ranks.begin(), ranks.end(), Rank{0});
  Group all(builder, std::move(ranks));
  all.set_root(has_root(collective) ? root : 0);
  algorithm->emit(all, placement, inter);

  Plan plan;
  plan.collective = collective;
  plan.root = all.root();
  plan.algorithm = inter == nullptr ? std::string(algorithm->name)
                                    : fmt::format("{}:{}", algorithm->name, inter->name);
  plan.schedules.push_back(std::move(builder).build());
  plan.schedule_of_channel.assign(channels, 0);
  return plan;
}

}  // namespace collsim
