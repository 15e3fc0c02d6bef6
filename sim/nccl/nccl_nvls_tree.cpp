#include <vector>

#include "sim/nccl/nccl_schedules.h"
#include "sim/nccl/nccl_stripes.h"

namespace collsim {

// A head adds the sums of the heads below it to that of its switch, and what it gets from the head
// above it goes to its switch and to those below.
Schedule nccl_nvls_tree_schedule(const NcclStripes& stripes, const RootedTree& over_nodes) {
  const std::uint32_t nodes = stripes.node_count();
  ScheduleWriter writer(stripes.ranks(), stripe_lanes(stripes), stripes.stripes(),
                        std::vector<SwitchReducer>(nodes, SwitchReducer::nvswitch));
  NodeSwitches switches(writer, stripes);
  const std::uint32_t up = head_up_lane(stripes);
  const std::uint32_t down = head_down_lane(stripes);
  for (std::uint32_t stripe = 0; stripes.ranks() > 1 && stripe < stripes.stripes(); ++stripe) {
    for (std::uint32_t node = 0; node < nodes; ++node) {
      const Rank head = stripes.head(node, stripe);
      std::vector<Connection> sums{switches.sum(node, stripe)};
      std::vector<Connection> results{switches.spread(node, stripe)};
      for (std::uint32_t child = 0; child < nodes; ++child) {
        if (over_nodes.parent[child] != node) continue;
        sums.push_back({stripes.head(child, stripe), head, up});
        results.push_back({head, stripes.head(child, stripe), down});
      }
      const ChunkRange chunk{stripe, 1};
      switches.reduce(node, stripe, stripe);
      if (over_nodes.parent[node]) {
        const Rank parent = stripes.head(*over_nodes.parent[node], stripe);
        writer.phase("reduce");
        writer.append(head, up, PrimitiveKind::recv_send, chunk, writer.group(sums),
                      writer.group({head, parent, up}));
        writer.phase("broadcast");
        writer.append(head, down, PrimitiveKind::recv_send, chunk,
                      writer.group({parent, head, down}), writer.group(results));
      } else {
        writer.phase("broadcast");
        writer.append(head, up, PrimitiveKind::recv_send, chunk, writer.group(sums),
                      writer.group(results));
      }
      switches.multicast(node, stripe, stripe);
    }
  }
  return std::move(writer).build();
}

}  // namespace collsim
