#include "sim/execution/call_layout.h"

#include <algorithm>
#include <cassert>
#include <span>
#include <utility>

#include "sim/cost/warps.h"

namespace collsim {

std::uint32_t lanes_in_use(const Schedule& schedule, Rank rank) {
  std::uint32_t lanes = 0;
  for (std::uint32_t lane = 0; lane < schedule.lanes(); ++lane) {
    if (!schedule.program(rank, lane).empty()) ++lanes;
  }
  return lanes;
}

namespace {

/// Programs that send, of those that a rank runs concurrently; 1 where none does.
std::uint32_t sending_lanes(const Schedule& schedule, Rank rank) {
  std::uint32_t lanes = 0;
  for (std::uint32_t lane = 0; lane < schedule.lanes(); ++lane) {
    const auto runs = schedule.program(rank, lane).runs();
    if (std::any_of(runs.begin(), runs.end(),
                    [](const Run& run) { return sends(run.first.kind); })) {
      ++lanes;
    }
  }
  return std::max(lanes, 1U);
}

/// Peers with which a rank exchanges messages concurrently: lanes come in pairs, to send and to
/// receive.
std::uint32_t peers_in_use(const Schedule& schedule, Rank rank) {
  std::uint32_t peers = 0;
  for (std::uint32_t lane = 0; lane + 1 < schedule.lanes(); lane += 2) {
    if (!schedule.program(rank, lane).empty() || !schedule.program(rank, lane + 1).empty()) ++peers;
  }
  return peers;
}

/// Whether its thread block has a lane up and a lane down: a tree's, or that of a chain to the
/// network's switches.
bool goes_up_and_down(const Plan& plan, const Schedule& schedule, Rank rank) {
  return plan.several_peers || (!schedule.agents().empty() && lanes_in_use(schedule, rank) == 2);
}

/// What a lane gets of links and of its thread block beside those that hand stripes in and out. The
/// constants of NVLS in one node are fitted with equal shares, so that several nodes differ alone.
double share_of(const Schedule& schedule, Rank rank, std::uint32_t lane) {
  const auto agents = schedule.agents();
  const bool has_nodes =
      agents.size() > 1 && std::all_of(agents.begin(), agents.end(), [](SwitchReducer agent) {
        return agent == SwitchReducer::nvswitch;
      });
  const std::uint32_t up = schedule.lanes() - 2;  // and above it the way down
  if (!has_nodes || lane < up || schedule.is_agent(rank)) return 1;
  const bool is_root = schedule.program(rank, up + 1).empty();
  return share_of_head({schedule.ranks(), up / 2, is_root}, lane == up);
}

/// Fills a layout, channel by channel.
class LayoutBuilder {
 public:
  LayoutBuilder(const Execution& execution, const ThreadBlockCosts& costs, FabricDraft& draft)
      : execution_(execution), costs_(costs), draft_(draft) {}

  CallLayout build();

 private:
  void reserve_workers();
  void add_capacities();
  void add_channel(std::uint32_t channel);
  void add_thread_blocks(std::uint32_t channel, const std::vector<LinkKind>& kinds);
  void add_fifos(std::uint32_t channel);
  void add_lists(std::uint32_t channel);
  void add_proxy(FifoId id, const Connection& connection, const Wire& wire);
  RouteId network_thread(Rank rank);
  RouteId add_store_route(std::uint32_t channel, Rank rank);
  void add_workers(std::uint32_t channel, const std::vector<LinkKind>& kinds);
  Worker worker_of(std::uint32_t channel, Rank rank, LinkKind slowest);
  LaneSetting setting_of(const Worker& worker, LinkKind slowest, std::uint32_t warps) const;
  void add_worker(Worker worker);
  double speed_of(Rank rank) const {
    return execution_.events == nullptr ? 1 : execution_.events->speed_of(rank);
  }
  const ProtocolConstants& cost() const { return cost_of(LinkKind::nvlink); }
  const ProtocolConstants& cost_of(LinkKind slowest) const {
    return costs_[static_cast<std::size_t>(slowest)];
  }

  const Execution& execution_;
  const ThreadBlockCosts& costs_;
  FabricDraft& draft_;
  RouteId free_route_ = 0;                               // loads nothing
  std::uint32_t first_list_ = 0;                         // of the channel
  std::vector<std::optional<RouteId>> network_threads_;  // by rank
  CallLayout layout_;
};

CallLayout LayoutBuilder::build() {
  const DataPartition& partition = execution_.partition;
  layout_.counts_bytes = cost().flags_lines();
  layout_.min_units = partition.is_nccl() ? 0 : 1;
  layout_.rank_classes = execution_.plan.ranks();
  add_capacities();
  for (const Schedule& schedule : execution_.plan.schedules) {
    if (layout_.launches.size() < schedule.participants()) {
      layout_.launches.resize(schedule.participants());
    }
  }
  free_route_ = draft_.add_route({});
  // The events may name channels that a small call leaves out.
  layout_.first_fifos.assign(execution_.plan.channels(), no_fifo);
  layout_.thread_blocks.resize(execution_.plan.channels());
  reserve_workers();
  for (std::uint32_t channel = 0; channel < partition.channels(); ++channel) {
    if (partition.loops(channel) > 0) add_channel(channel);
  }
  return std::move(layout_);
}

/// A rack of 72 GPUs whose switches add up has 200,000: growing would take twice their memory.
void LayoutBuilder::reserve_workers() {
  std::size_t workers = 0;
  for (std::uint32_t channel = 0; channel < execution_.partition.channels(); ++channel) {
    if (execution_.partition.loops(channel) == 0) continue;
    const Schedule& schedule = execution_.plan.schedule(channel);
    for (Rank rank = 0; rank < schedule.participants(); ++rank) {
      workers += lanes_in_use(schedule, rank);
    }
  }
  layout_.workers.reserve(workers);
}

void LayoutBuilder::add_capacities() {
  const Wiring& wiring = execution_.wiring;
  for (std::size_t i = 0; i < wiring.capacities.size(); ++i) {
    const ResourceId resource = draft_.add_resource(wiring.capacities[i]);
    if (i < wiring.bursts.size() && wiring.bursts[i].size.count > 0) {
      draft_.let_burst(resource, wiring.bursts[i]);
    }
  }
}

void LayoutBuilder::add_channel(std::uint32_t channel) {
  const std::vector<LinkKind> kinds =
      slowest_links(execution_.plan.schedule(channel), execution_.wiring.wires[channel]);
  add_thread_blocks(channel, kinds);
  layout_.first_fifos[channel] = static_cast<FifoId>(layout_.fifos.size());
  add_fifos(channel);
  add_lists(channel);
  add_workers(channel, kinds);
}

/// Lanes share what their thread block can do.
void LayoutBuilder::add_thread_blocks(std::uint32_t channel, const std::vector<LinkKind>& kinds) {
  const Schedule& schedule = execution_.plan.schedule(channel);
  std::vector<std::optional<ThreadBlock>>& blocks = layout_.thread_blocks[channel];
  blocks.resize(schedule.participants());
  const BlockSetting setting =
      block_setting(cost(), execution_.protocol, execution_.plan.several_peers);
  for (Rank rank = 0; rank < schedule.ranks(); ++rank) {
    const BytesPerSecond rate = shared_rate(schedule, rank, cost_of(kinds[rank]), setting);
    if (!(rate < unlimited)) continue;
    const double gain =
        goes_up_and_down(execution_.plan, schedule, rank) ? gain_of_lanes(cost_of(kinds[rank])) : 1;
    const BytesPerSecond together = speed_of(rank) * gain * rate;
    const BytesPerSecond sent =
        setting.several_peers
            ? send_rate_beside_local_stores(schedule, rank, cost_of(kinds[rank]), setting)
            : rate;
    const double share = 1.0 / sending_lanes(schedule, rank);
    blocks[rank] = ThreadBlock{draft_.add_resource(together), rate, share * sent};
  }
}

void LayoutBuilder::add_fifos(std::uint32_t channel) {
  const std::vector<Wire>& wires = execution_.wiring.wires[channel];
  const Schedule& schedule = execution_.plan.schedule(channel);
  const auto connections = schedule.connections();
  assert(wires.size() == connections.size());
  std::vector<ResourceId> route;
  for (std::size_t i = 0; i < connections.size(); ++i) {
    route = wires[i].resources;
    add_thread_block(route, layout_, channel, connections[i].src);
    Fifo fifo;
    fifo.channel = channel;
    fifo.route = draft_.add_route(route);
    fifo.route_is_free = route.empty();
    fifo.alpha = alpha_of(execution_, costs_, schedule, connections[i], wires[i]);
    const std::uint32_t credits = execution_.partition.chunking().credits;
    fifo.credits = execution_.partition.is_nccl() ? slices_ahead(credits, wires[i].kind) : credits;
    layout_.fifos.push_back(fifo);
    if (!wires[i].network.empty()) {
      add_proxy(static_cast<FifoId>(layout_.fifos.size() - 1), connections[i], wires[i]);
    }
  }
}

void LayoutBuilder::add_lists(std::uint32_t channel) {
  const Schedule& schedule = execution_.plan.schedule(channel);
  first_list_ = static_cast<std::uint32_t>(layout_.list_begins.size() - 1);
  for (PeerGroupId group = 0; group < schedule.groups(); ++group) {
    for (const ConnectionId peer : schedule.peers(group)) {
      layout_.listed.push_back(layout_.first_fifos[channel] + peer);
    }
    layout_.list_begins.push_back(static_cast<std::uint32_t>(layout_.listed.size()));
  }
}

void LayoutBuilder::add_proxy(FifoId id, const Connection& connection, const Wire& wire) {
  layout_.fifos[id].proxy = static_cast<ProxyId>(layout_.proxies.size());
  layout_.fifos[id].room = execution_.cost.notice_of_room(wire.latency);
  const Schedule& schedule = execution_.plan.schedule(layout_.fifos[id].channel);
  const auto thread = [&](Rank rank) {
    return schedule.is_agent(rank) ? free_route_ : network_thread(rank);
  };
  layout_.proxies.push_back({id, draft_.add_route(wire.network), thread(connection.src),
                             thread(connection.dst), execution_.partition.chunking().credits});
}

/// What loads the rank's network thread, which serves all of its connections. Switches have none.
RouteId LayoutBuilder::network_thread(Rank rank) {
  if (network_threads_.size() <= rank) network_threads_.resize(rank + 1);
  auto& thread = network_threads_[rank];
  if (!thread) {
    const ResourceId resource = draft_.add_resource(network_thread_capacity);
    thread = draft_.add_route(std::span(&resource, 1));
  }
  return *thread;
}

/// What a rank keeps stays within its GPU.
RouteId LayoutBuilder::add_store_route(std::uint32_t channel, Rank rank) {
  const auto& block = layout_.thread_blocks[channel][rank];
  return block ? draft_.add_route(std::span(&block->resource, 1)) : free_route_;
}

void LayoutBuilder::add_workers(std::uint32_t channel, const std::vector<LinkKind>& kinds) {
  const Schedule& schedule = execution_.plan.schedule(channel);
  const bool exchanges = execution_.plan.channels_divide_chunks;
  for (Rank rank = 0; rank < schedule.participants(); ++rank) {
    const std::uint32_t lanes = lanes_in_use(schedule, rank);
    const std::uint32_t peers = peers_in_use(schedule, rank);
    Worker worker = worker_of(channel, rank, kinds[rank]);
    const bool two_ways = worker.shared < unlimited && lanes == 2 && !exchanges;
    const auto first = static_cast<WorkerId>(layout_.workers.size());
    for (std::uint32_t lane = 0; lane < schedule.lanes(); ++lane) {
      worker.begin_program(schedule.program(rank, lane));
      if (worker.program.empty()) continue;
      worker.lane = lane;
      worker.share = share_of(schedule, rank, lane);
      if (two_ways) worker.other_lane = layout_.workers.size() > first ? first : first + 1;
      worker.setting =
          setting_of(worker, kinds[rank],
                     exchanges ? warps_of_message(execution_.warps, peers)
                               : warps_of_lane(execution_.protocol, execution_.warps, lanes, lane));
      add_worker(worker);
    }
  }
}

/// What the rank's workers on the channel have in common.
Worker LayoutBuilder::worker_of(std::uint32_t channel, Rank rank, LinkKind slowest) {
  const Schedule& schedule = execution_.plan.schedule(channel);
  Worker worker;
  worker.schedule = &schedule;
  worker.first_fifo = layout_.first_fifos[channel];
  worker.first_list = first_list_;
  worker.channel = channel;
  worker.rank = rank;
  worker.is_agent = schedule.is_agent(rank);
  worker.loops = execution_.partition.loops(channel);
  worker.store_route = add_store_route(channel, rank);
  if (const auto& block = layout_.thread_blocks[channel][rank]) {
    worker.shared = block->rate;
    worker.part = block->part;
  }
  // Contention was measured between GPUs only, not through switches that add up.
  worker.contends = schedule.agents().empty() && slowest == LinkKind::nvlink &&
                    contends_for_links(execution_.cost);
  return worker;
}

LaneSetting LayoutBuilder::setting_of(const Worker& worker, LinkKind slowest,
                                      std::uint32_t warps) const {
  LaneSetting setting =
      lane_setting(cost_of(slowest), execution_.protocol, execution_.warps, warps);
  setting.several_peers = execution_.plan.several_peers && !worker.is_agent;
  setting.serializes = worker.other_lane != no_worker;
  setting.speed = speed_of(worker.rank);
  return setting;
}

void LayoutBuilder::add_worker(Worker worker) {
  const auto id = static_cast<WorkerId>(layout_.workers.size());
  for_each_uniform_run(worker.program, [&](const Primitive& primitive, std::uint32_t) {
    for (const ConnectionId peer : worker.peers(primitive.receive_group)) {
      layout_.fifos[worker.first_fifo + peer].receiver = id;
    }
    for (const ConnectionId peer : worker.peers(primitive.send_group)) {
      layout_.fifos[worker.first_fifo + peer].sender = id;
    }
  });
  begin_slice(worker, execution_.partition);
  layout_.workers.push_back(worker);
  layout_.launches[worker.rank].workers.push_back(id);
}

}  // namespace

CallLayout lay_out(const Execution& execution, const ThreadBlockCosts& costs, FabricDraft& draft) {
  return LayoutBuilder(execution, costs, draft).build();
}

Seconds alpha_of(const Execution& execution, const ThreadBlockCosts& costs,
                 const Schedule& schedule, const Connection& connection, const Wire& wire) {
  const ProtocolConstants& cost = costs[static_cast<std::size_t>(wire.kind)];
  return wire.latency +
         hop_alpha(schedule, connection, wire.kind, cost, execution.plan.several_peers);
}

void add_thread_block(std::vector<ResourceId>& route, const CallLayout& layout,
                      std::uint32_t channel, Rank rank) {
  const auto& block = layout.thread_blocks[channel][rank];
  if (block) route.push_back(block->resource);
}

}  // namespace collsim
