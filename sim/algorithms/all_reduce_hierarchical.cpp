#include <fmt/format.h>

#include "sim/algorithms/all_reduce.h"

namespace collsim {

namespace {

Placement one_per_node(std::size_t nodes) {
  return uniform_placement(static_cast<Rank>(nodes));
}

std::optional<std::string> unsupported(const Placement& placement, const Algorithm* inter) {
  const auto nodes = placement.ranks_by_node();
  for (const auto& node : nodes) {
    if (node.size() == nodes.front().size()) continue;
    return fmt::format(
        "hierarchical: the node of rank {} has {} ranks, that of rank {} has {}; all nodes need "
        "equally many",
        nodes.front().front(), nodes.front().size(), node.front(), node.size());
  }
  return inter->unsupported(one_per_node(nodes.size()), nullptr);
}

// One wide chunk per local rank, each cut as the algorithm between nodes wants it.
std::uint32_t chunks(const Placement& placement, const Algorithm* inter) {
  const auto nodes = placement.ranks_by_node();
  const auto per_node = static_cast<std::uint32_t>(nodes.front().size());
  return per_node * inter->chunks(one_per_node(nodes.size()), nullptr);
}

// Lanes do not wait for each other, so everything stays in one.
void emit(Group& group, const Placement& placement, const Algorithm* inter) {
  const auto nodes = placement.ranks_by_node();
  const auto per_node = static_cast<std::uint32_t>(nodes.front().size());
  const Placement between = one_per_node(nodes.size());
  const std::uint32_t width = inter->chunks(between, nullptr);
  group.phase("intra-node reduce-scatter");
  for (const auto& node : nodes) {
    Group inside = group.subgroup(node, 0, width, true);
    ring_reduce_scatter(inside);
  }
  for (std::uint32_t local = 0; local < per_node; ++local) {
    std::vector<Rank> equals;
    equals.reserve(nodes.size());
    for (const auto& node : nodes) equals.push_back(node[local]);
    // Chunk `local` of the reduce-scatter has ended at local rank `local`.
    Group across = group.subgroup(equals, local * width, 1, true, "inter-node ");
    inter->emit(across, between, nullptr);
  }
  group.step();
  group.phase("intra-node all-gather");
  for (const auto& node : nodes) {
    Group inside = group.subgroup(node, 0, width, true);
    ring_all_gather(inside);
  }
}

}  // namespace

constexpr Algorithm all_reduce_hierarchical{
    .name = "hierarchical",
    .collective = Collective::all_reduce,
    .description = "ring reduce-scatter in nodes, any algorithm between them, ring all-gather",
    .unsupported = unsupported,
    .chunks = chunks,
    .emit = emit,
    .composed = true,
    .default_inter = "ring"};

}  // namespace collsim
