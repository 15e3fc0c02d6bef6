#include "sim/algorithms/other_collectives.h"
#include "sim/algorithms/rooted.h"

namespace collsim {

namespace {

void emit(Group& group, const Placement& /*placement*/, const Algorithm* /*inter*/) {
  group.phase("reduce");
  const auto levels = edges_by_level(binary_tree(group.size()));
  for (auto level = levels.rbegin(); level != levels.rend(); ++level) {
    group.step();
    for (const TreeEdge& edge : *level) {
      group.reduce(after_root(group, edge.child), after_root(group, edge.parent), {0, 1});
    }
  }
}

}  // namespace

constexpr Algorithm reduce_tree{"tree",
                                Collective::reduce,
                                "up one binary tree: log2 N steps",
                                supports_everything,
                                one_chunk,
                                emit,
                                Growth::all_per_doubling};

}  // namespace collsim
