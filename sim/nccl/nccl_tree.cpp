#include "sim/nccl/nccl_schedules.h"
#include "sim/plan/schedule_writer.h"

namespace collsim {

namespace {

constexpr std::uint32_t up = 0;
constexpr std::uint32_t down = 1;

}  // namespace

Schedule nccl_tree_schedule(const RootedTree& tree) {
  std::vector<std::vector<Rank>> children(tree.size());
  for (Rank rank = 0; rank < tree.size(); ++rank) {
    if (tree.parent[rank]) children[*tree.parent[rank]].push_back(rank);
  }
  ScheduleWriter writer(tree.size(), 2, 1);
  for (Rank rank = 0; rank < tree.size(); ++rank) {
    std::vector<Connection> from_children;
    std::vector<Connection> to_children;
    for (const Rank child : children[rank]) {
      from_children.push_back({child, rank, up});
      to_children.push_back({rank, child, down});
    }
    const bool leaf = children[rank].empty();
    const PeerGroupId gather = writer.group(from_children);
    const PeerGroupId spread = writer.group(to_children);
    if (!tree.parent[rank]) {
      writer.phase("broadcast");
      if (leaf) continue;  // alone
      writer.append(rank, up, PrimitiveKind::recv_reduce_copy_send, {0, 1}, gather, spread);
      continue;
    }
    const Rank parent = *tree.parent[rank];
    writer.phase("reduce");
    writer.append(rank, up, leaf ? PrimitiveKind::send : PrimitiveKind::recv_reduce_send, {0, 1},
                  gather, writer.group({rank, parent, up}));
    writer.phase("broadcast");
    writer.append(rank, down, leaf ? PrimitiveKind::recv : PrimitiveKind::recv_copy_send, {0, 1},
                  writer.group({parent, rank, down}), spread);
  }
  return std::move(writer).build();
}

}  // namespace collsim
