#include "sim/thread_block_cost.h"

#include <algorithm>
#include <span>

#include "sim/warps.h"

namespace collsim {

ThreadBlockCosts thread_block_costs(const TransferCost& cost, Protocol protocol,
                                    std::uint32_t warps) {
  ThreadBlockCosts costs;
  for (std::size_t kind = 0; kind < link_kind_count; ++kind) {
    costs[kind] = with_warps(cost.of(protocol, static_cast<LinkKind>(kind)), protocol, warps);
  }
  return costs;
}

ProtocolCost with_warps(ProtocolCost cost, Protocol protocol, std::uint32_t warps) {
  if (warps == 0) return cost;
  const double share = std::min(1.0, static_cast<double>(warps) / full_warps(protocol));
  const double full = cost.share_of_round(share);
  cost.round = {full * cost.round.load, full * cost.round.receive, full * cost.round.store,
                full * cost.round.send, full * cost.round.root,    full * cost.round.other};
  cost.least_round /= full;
  return cost;
}

namespace {

/// What a byte of a lane makes of flows and takes of time: of what it sends, or of what it only
/// keeps.
struct LaneLoad {
  double flows = 0;
  double seconds = 0;
};

LaneLoad load_of(const Schedule& schedule, std::span<const Primitive> program,
                 const ProtocolCost& cost, double others, const Cold& cold, bool sent) {
  double chunks = 0;
  LaneLoad load;
  for (const Primitive& primitive : program) {
    if (sends(primitive.kind) != sent) continue;
    Touches touches = touches_of(schedule, primitive);
    touches.other = others;
    chunks += primitive.chunk_count;
    load.flows += primitive.chunk_count * (sent ? touches.send : 1);
    load.seconds += primitive.chunk_count / cost.rate_of(touches, cold).value;
  }
  return chunks > 0 ? LaneLoad{load.flows / chunks, load.seconds / chunks} : LaneLoad{};
}

}  // namespace

BytesPerSecond shared_rate(const Schedule& schedule, Rank rank, const ProtocolCost& cost,
                           double others, const Cold& cold) {
  std::size_t lanes = 0;
  LaneLoad sent;
  LaneLoad kept;
  for (std::uint32_t lane = 0; lane < schedule.lanes(); ++lane) {
    const auto program = schedule.program(rank, lane);
    if (program.empty()) continue;
    ++lanes;
    const LaneLoad out = load_of(schedule, program, cost, others, cold, true);
    const LaneLoad in = load_of(schedule, program, cost, others, cold, false);
    sent = {sent.flows + out.flows, sent.seconds + out.seconds};
    kept = {kept.flows + in.flows, kept.seconds + in.seconds};
  }
  const LaneLoad& load = sent.flows > 0 ? sent : kept;
  if (lanes < 2 || load.seconds == 0) return unlimited;
  return BytesPerSecond{load.flows / load.seconds};
}

std::vector<LinkKind> slowest_links(const Schedule& schedule, const std::vector<Wire>& wires) {
  std::vector<LinkKind> slowest(schedule.participants(), LinkKind::nvlink);
  const auto connections = schedule.connections();
  for (std::size_t i = 0; i < connections.size(); ++i) {
    for (const Rank rank : {connections[i].src, connections[i].dst}) {
      slowest[rank] = std::max(slowest[rank], wires[i].kind);
    }
  }
  return slowest;
}

}  // namespace collsim
