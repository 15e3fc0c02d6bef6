#include "sim/execution/thread_block_cost.h"

#include <algorithm>

#include "sim/cost/warps.h"

namespace collsim {

ThreadBlockCosts thread_block_costs(const Calibration& cost, Protocol protocol) {
  ThreadBlockCosts costs;
  for (std::size_t kind = 0; kind < link_kind_count; ++kind) {
    costs[kind] = cost.of(protocol, static_cast<LinkKind>(kind));
  }
  return costs;
}

namespace {

/// What a byte of a lane makes of flows and takes of time: of what it sends, or of what it only
/// keeps.
struct LaneLoad {
  double flows = 0;
  double seconds = 0;
};

LaneLoad load_of(const Schedule& schedule, const Program& program, const ProtocolConstants& cost,
                 const BlockSetting& setting, bool sent) {
  double chunks = 0;
  LaneLoad load;
  for (const Run& run : program.runs()) {
    const Primitive& primitive = run.first;
    if (sends(primitive.kind) != sent) continue;
    const MemoryOps operations = operations_of(schedule, primitive);
    const BytesPerSecond rate = busy_rate_of(cost, operations, setting);
    const double moved = static_cast<double>(run.repeats) * primitive.chunk_count;
    chunks += moved;
    load.flows += moved * (sent ? operations.send : 1);
    load.seconds += moved / rate.value;
  }
  return chunks > 0 ? LaneLoad{load.flows / chunks, load.seconds / chunks} : LaneLoad{};
}

/// Of all lanes of a rank.
struct BlockLoad {
  std::size_t lanes = 0;
  LaneLoad sent;
  LaneLoad kept;
};

BlockLoad load_of(const Schedule& schedule, Rank rank, const ProtocolConstants& cost,
                  const BlockSetting& setting) {
  BlockLoad load;
  for (std::uint32_t lane = 0; lane < schedule.lanes(); ++lane) {
    const auto program = schedule.program(rank, lane);
    if (program.empty()) continue;
    ++load.lanes;
    const LaneLoad out = load_of(schedule, program, cost, setting, true);
    const LaneLoad in = load_of(schedule, program, cost, setting, false);
    load.sent = {load.sent.flows + out.flows, load.sent.seconds + out.seconds};
    load.kept = {load.kept.flows + in.flows, load.kept.seconds + in.seconds};
  }
  return load;
}

}  // namespace

BytesPerSecond shared_rate(const Schedule& schedule, Rank rank, const ProtocolConstants& cost,
                           const BlockSetting& setting) {
  const BlockLoad block = load_of(schedule, rank, cost, setting);
  const LaneLoad& load = block.sent.flows > 0 ? block.sent : block.kept;
  if (block.lanes < 2 || load.seconds == 0) return unlimited;
  return BytesPerSecond{load.flows / load.seconds};
}

BytesPerSecond send_rate_beside_local_stores(const Schedule& schedule, Rank rank,
                                             const ProtocolConstants& cost,
                                             const BlockSetting& setting) {
  const auto [lanes, sent, kept] = load_of(schedule, rank, cost, setting);
  if (lanes < 2 || sent.seconds == 0) return unlimited;
  return BytesPerSecond{sent.flows / (sent.seconds + kept.seconds)};
}

std::vector<LinkKind> slowest_links(const Schedule& schedule, const std::vector<Wire>& wires) {
  std::vector<LinkKind> slowest(schedule.participants(), LinkKind::nvlink);
  const auto connections = schedule.connections();
  for (std::size_t i = 0; i < connections.size(); ++i) {
    if (schedule.is_agent(connections[i].src) || schedule.is_agent(connections[i].dst)) continue;
    for (const Rank rank : {connections[i].src, connections[i].dst}) {
      slowest[rank] = std::max(slowest[rank], wires[i].kind);
    }
  }
  return slowest;
}

}  // namespace collsim
