#include "sim/algorithms/other_collectives.h"
#include "sim/algorithms/rooted.h"

namespace collsim {

namespace {

void emit(Group& group, const Placement& /*placement*/, const Algorithm* /*inter*/) {
  group.phase("broadcast");
  for (const auto& level : edges_by_level(binary_tree(group.size()))) {
    group.step();
    for (const TreeEdge& edge : level) {
      group.copy(after_root(group, edge.parent), after_root(group, edge.child), {0, 1});
    }
  }
}

}  // namespace

constexpr Algorithm broadcast_tree{"tree",
                                   Collective::broadcast,
                                   "down one binary tree: log2 N steps",
                                   supports_everything,
                                   one_chunk,
                                   emit,
                                   Growth::all_per_doubling};

}  // namespace collsim
