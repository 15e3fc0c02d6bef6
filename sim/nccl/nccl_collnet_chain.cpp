#include <vector>

#include "sim/nccl/nccl_schedules.h"
#include "sim/plan/schedule_writer.h"

namespace collsim {

namespace {

constexpr std::uint32_t up = 0;
constexpr std::uint32_t down = 1;

/// The end of a chain only sends, or only receives.
void append_up(ScheduleWriter& writer, Rank rank, PeerGroupId from, PeerGroupId to) {
  const auto kind = from == 0 ? PrimitiveKind::send : PrimitiveKind::recv_reduce_send;
  writer.append(rank, up, kind, {0, 1}, from, to);
}

void append_down(ScheduleWriter& writer, Rank rank, PeerGroupId from, PeerGroupId to) {
  const auto kind = to == 0 ? PrimitiveKind::recv : PrimitiveKind::recv_copy_send;
  writer.append(rank, down, kind, {0, 1}, from, to);
}

}  // namespace

Schedule nccl_collnet_chain_schedule(std::span<const std::vector<Rank>> chains) {
  const auto ranks = static_cast<Rank>(chains.size() * chains.front().size());
  ScheduleWriter writer(ranks, 2, 1, {SwitchReducer::network});
  if (ranks == 1) return std::move(writer).build();
  const Rank network = ranks;
  std::vector<Connection> to_network;
  std::vector<Connection> from_network;
  for (const std::vector<Rank>& chain : chains) {
    to_network.push_back({chain.front(), network, up});
    from_network.push_back({network, chain.front(), down});
    for (std::size_t i = 0; i < chain.size(); ++i) {
      const Rank above = i == 0 ? network : chain[i - 1];
      PeerGroupId from_below = 0;
      PeerGroupId to_below = 0;
      if (i + 1 < chain.size()) {
        from_below = writer.group({chain[i + 1], chain[i], up});
        to_below = writer.group({chain[i], chain[i + 1], down});
      }
      writer.phase("reduce");
      append_up(writer, chain[i], from_below, writer.group({chain[i], above, up}));
      writer.phase("broadcast");
      append_down(writer, chain[i], writer.group({above, chain[i], down}), to_below);
    }
  }
  writer.phase("network");
  writer.append(network, up, PrimitiveKind::recv_send, {0, 1}, writer.group(to_network),
                writer.group(from_network));
  return std::move(writer).build();
}

}  // namespace collsim
