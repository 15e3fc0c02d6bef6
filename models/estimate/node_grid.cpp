#include "models/estimate/node_grid.h"

#include <vector>

#include "models/call/rank_gpus.h"

namespace collsim {

std::optional<NodeGrid> grid_of(const CallCompiler& compiler) {
  if (const Nccl* nccl = compiler.nccl()) {
    if (!nccl->has_like_hosts()) return std::nullopt;
    return NodeGrid{nccl->nodes(), compiler.ranks() / nccl->nodes()};
  }
  const std::vector<DeviceId>& gpus = compiler.spec().gpus;
  const Topology& topology = compiler.topology();
  if (gpus.empty() || grouped_by_node(topology, gpus) != gpus) return std::nullopt;
  if (nodes_by_places(topology, gpus).kinds.size() > 1) return std::nullopt;
  if (kinds_of_nodes(topology, gpus).size() > 1) return std::nullopt;
  const Rank per_node = ranks_per_node(compiler.placement());
  return NodeGrid{compiler.ranks() / per_node, per_node};
}

}  // namespace collsim
