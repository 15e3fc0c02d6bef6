#include <array>
#include <span>

#include "sim/algorithms/all_reduce.h"

namespace collsim {

namespace {

/// On one node both trees are the same chain, so there is only one.
std::uint32_t tree_count(const Placement& placement) {
  return placement.nodes() > 1 ? 2 : 1;
}

// Half of the data on each tree, so that a node which only receives in one sends on in the other.
// Inside a node a chain, all network traffic at its head, as NCCL does on Hopper and later.
void emit(Group& group, const Placement& placement, const Algorithm* /*inter*/) {
  const auto nodes = placement.ranks_by_node();
  const auto node_count = static_cast<Rank>(nodes.size());
  const std::array trees{chain_in_nodes(binary_tree(node_count), nodes),
                         chain_in_nodes(second_binary_tree(node_count), nodes)};
  tree_all_reduce(group, std::span(trees).first(tree_count(placement)));
}

std::uint32_t chunks(const Placement& placement, const Algorithm* /*inter*/) {
  return tree_count(placement);
}

}  // namespace

constexpr Algorithm all_reduce_double_binary_tree{
    "double_binary_tree",
    Collective::all_reduce,
    "NCCL's tree: two trees over the nodes, half of the data each, and a chain inside each node",
    supports_everything,
    chunks,
    emit,
    Growth::all_per_doubling};

}  // namespace collsim
