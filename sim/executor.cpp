#include "sim/executor.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <deque>
#include <numbers>
#include <optional>
#include <stdexcept>
#include <vector>

#include "sim/proxies.h"
#include "sim/warps.h"

namespace collsim {

namespace {

using WorkerId = std::uint32_t;
/// A connection of one channel; numbers run through all channels.
using FifoId = std::uint32_t;

/// How finely a pipeline is cut matters while it fills and while it drains. In between, a slice of
/// many rounds goes in few pieces: the time of each is that of its rounds, but there are fewer
/// events.
constexpr std::int64_t most_pieces_amid = 4;
constexpr std::uint32_t loops_to_fill = 16;

/// Warps of a full thread block that move data, under Simple.
constexpr double data_warps = 16;

constexpr WorkerId no_worker = ~WorkerId{0};
constexpr FifoId no_fifo = ~FifoId{0};

/// Event tags carry in their lowest bits whose event it is. Flows: a worker's or a proxy's. Timers:
/// a worker's serial cost before its bytes move or after, an arrival, a proxy's serial cost, a
/// rank's next launch, a change of the machine.
enum class TimerKind : std::uint8_t { before, after, arrival, proxy, launch, change };
constexpr EventTag timer_tag(std::uint32_t id, TimerKind kind) {
  return (id << 3) | static_cast<EventTag>(kind);
}
constexpr EventTag worker_flow(WorkerId worker) {
  return worker << 1;
}
constexpr EventTag proxy_flow(FifoId fifo) {
  return (fifo << 1) | 1;
}

/// A participant's program on one channel and lane, and how far it is.
struct Worker {
  enum class State : std::uint8_t { waiting, busy, finished };

  std::span<const Primitive> program;
  const Schedule* schedule = nullptr;
  const ProtocolCost* cost = nullptr;
  FifoId first_fifo = 0;  // of its channel
  std::uint32_t channel = 0;
  Rank rank = 0;  // or the agent
  bool is_agent = false;
  std::uint32_t lane = 0;
  std::uint32_t loops = 0;
  std::uint32_t loop = 0;
  std::uint32_t primitive = 0;
  std::uint32_t slice = 0;
  std::uint32_t piece = 0;       // of the slice
  std::uint32_t pieces = 1;      // that the slice has
  std::int64_t round = 0;        // data of one round of its warps; 0: it moves slices whole
  std::int64_t slice_bytes = 0;  // data of the slice that it is at,
  std::int64_t piece_bytes = 0;  // and of every piece of it but the last
  Seconds slice_cost;
  RouteId store_route = 0;  // of what it keeps
  double share = 1;         // of a full thread block's warps
  double speed = 1;         // of the rank's thread blocks
  std::uint32_t flows = 0;
  State state = State::finished;  // until its rank launches it
  RecordId record = no_record;
};

/// Credits count slices. Arrivals count slices too, or bytes of data where lines are flagged: the
/// pieces in which a lane sends and in which its peer receives need not be the same.
struct Fifo {
  std::uint32_t sent_slices = 0;
  std::uint32_t freed_slices = 0;
  std::int64_t there = 0;  // arrived and not taken
  WorkerId sender = no_worker;
  WorkerId receiver = no_worker;
  RouteId route = 0;
  std::uint32_t channel = 0;
  Seconds alpha;
  std::optional<ProxyId> proxy{};
  std::int64_t handed_over = 0;  // to the proxy, of a slice that is not complete
  bool route_is_free = false;    // has no resource that could limit
};

/// What a disturbance does to one FIFO. Messages stay in order, whatever they are late by.
struct Lateness {
  Seconds jitter;
  Seconds last_arrival;
  std::uint64_t messages = 0;
};

/// The routes of a WireChange.
struct ChangedRoutes {
  RouteId route = 0;
  RouteId network = 0;
  bool route_is_free = false;
};

/// What one rank (or agent, which needs no launch) runs, and how many of its calls are over.
struct Launch {
  std::vector<WorkerId> workers;
  std::size_t running = 0;
  std::uint32_t calls = 0;
};

struct Wakeup {
  WorkerId worker;
  Cause cause;
  RecordId caused_by;
};

std::int64_t divide_up(std::int64_t dividend, std::int64_t divisor) {
  return (dividend + divisor - 1) / divisor;
}

/// Data of the piece that the worker is at.
std::int64_t bytes_of_piece(const Worker& worker) {
  return std::min(worker.slice_bytes - worker.piece_bytes * worker.piece, worker.piece_bytes);
}

/// Programs that a rank runs concurrently.
std::uint32_t lanes_in_use(const Schedule& schedule, Rank rank) {
  std::uint32_t lanes = 0;
  for (std::uint32_t lane = 0; lane < schedule.lanes(); ++lane) {
    if (!schedule.program(rank, lane).empty()) ++lanes;
  }
  return lanes;
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

/// By rank or agent: the slowest kind of link that it works with.
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

/// Whether thread blocks of any kind have a rate of their own.
bool limits_thread_blocks(const Execution& execution) {
  if (execution.cost.of(execution.protocol).channel < unlimited) return true;
  for (const auto& own : execution.cost.over[static_cast<std::size_t>(execution.protocol)]) {
    if (own && own->channel < unlimited) return true;
  }
  return false;
}

/// From 1 to 1 + `unevenness`, spread evenly over any number of first channels (multiples of the
/// golden ratio).
double weight_of_channel(std::uint32_t channel, double unevenness) {
  const double turns = channel * std::numbers::phi;
  return 1 + unevenness * (turns - std::floor(turns));
}

/// The rounds of a thread block that has fewer warps than the largest one: as if the others had no
/// data.
ProtocolCost with_warps(ProtocolCost cost, Protocol protocol, std::uint32_t warps) {
  if (warps == 0) return cost;
  const double share = std::min(1.0, static_cast<double>(warps) / full_warps(protocol));
  const double full = cost.share_of_round(share);
  for (Seconds* round : {&cost.reduce_round, &cost.copy_round, &cost.store_round}) {
    *round = full * *round;
  }
  cost.least_round /= full;
  return cost;
}

/// What a call's thread blocks cost, by the slowest kind of their links.
std::array<ProtocolCost, link_kind_count> costs_of_call(const Execution& execution) {
  std::array<ProtocolCost, link_kind_count> costs;
  for (std::size_t kind = 0; kind < link_kind_count; ++kind) {
    const ProtocolCost& own = execution.cost.of(execution.protocol, static_cast<LinkKind>(kind));
    costs[kind] = with_warps(own, execution.protocol, execution.warps);
  }
  return costs;
}

class Executor final : public FabricListener {
 public:
  Executor(const Execution& execution, Fabric& fabric, Timeline* timeline)
      : execution_(execution),
        cost_(execution.cost.of(execution.protocol)),
        costs_(costs_of_call(execution)),
        fabric_(fabric),
        timeline_(timeline),
        credits_(execution.binding.chunking().credits),
        slices_(execution.binding.chunking().slices),
        proxies_(execution.cost.proxy, execution.cost.of(execution.protocol).proxy_factor, fabric) {
    if (execution.disturbance != nullptr) disturbance_ = *execution.disturbance;
  }

  ExecutionResult run() {
    lay_out();
    if (workers_.empty()) {
      const Seconds time = std::max(launch_cost(), execution_.cost.issue);
      return {time, time, 0};
    }
    disturb();
    for (Rank rank = 0; rank < launches_.size(); ++rank) begin(rank);
    work_off_wakeups();
    fabric_.run(*this);
    if (finished_ != workers_.size()) {
      if (!disturbance_.empty()) fail_hanging();
      throw std::logic_error(fmt::format("{} of {} programs never ended: the plan deadlocks",
                                         workers_.size() - finished_, workers_.size()));
    }
    return result();
  }

  void on_flow_done(EventTag tag) override {
    if ((tag & 1) == 0) {
      const WorkerId worker = tag >> 1;
      if (--workers_[worker].flows == 0) complete(worker);
    } else {
      leave_proxy(tag >> 1);
    }
    work_off_wakeups();
  }

  void on_timer(EventTag tag) override {
    const std::uint32_t id = tag >> 3;
    switch (static_cast<TimerKind>(tag & 7)) {
      case TimerKind::before:
        move_bytes(id);
        break;
      case TimerKind::after:
        end_piece(id);
        break;
      case TimerKind::arrival:
        arrive(id);
        break;
      case TimerKind::proxy:
        finish_proxy_task(id);
        break;
      case TimerKind::launch:
        launch(id);
        break;
      case TimerKind::change:
        change_machine(id);
        break;
    }
    work_off_wakeups();
  }

 private:
  void lay_out();
  void add_channel(std::uint32_t channel);
  void count_thread_blocks();
  std::vector<double> crowded_shares(std::uint32_t channel,
                                     const std::vector<LinkKind>& kinds) const;
  RouteId add_store_route(std::uint32_t channel, Rank rank);
  void add_workers(std::uint32_t channel, FifoId first_fifo, const std::vector<LinkKind>& kinds);
  const ProtocolCost& cost_of(LinkKind slowest) const {
    return costs_[static_cast<std::size_t>(slowest)];
  }
  void add_fifos(std::uint32_t channel, const std::vector<ResourceId>& thread_blocks);
  Seconds alpha_of(const Schedule& schedule, const Connection& connection, const Wire& wire) const;

  /// Else a message is no more than that one came.
  bool keeps_messages() const {
    return timeline_ != nullptr || cost_.flags_lines() || !fifo_of_proxy_.empty();
  }
  std::span<const ConnectionId> peers(const Worker& worker, PeerGroupId group) const {
    return worker.schedule->peers(group);
  }
  bool messages_are_there(const Worker& worker, const Primitive& primitive) const;
  bool credits_are_there(const Worker& worker, const Primitive& primitive) const;
  void try_begin(const Wakeup& wakeup);
  void move_bytes(WorkerId id);
  void complete(WorkerId id);
  void end_piece(WorkerId id);
  void hand_over(FifoId id, const Message& message);
  void leave_proxy(FifoId id);
  void finish_proxy_task(Rank rank);
  void send_off(FifoId id, const Message& message);
  void arrive(FifoId id);
  void reach(FifoId id, const Message& message);
  void arrive(FifoId id, const Message& message);
  void advance(Worker& worker);
  void begin_slice(Worker& worker) const;
  void end_call(Rank rank);
  /// Launches the rank's first call, later where it is late.
  void begin(Rank rank);
  void launch(Rank rank);
  Seconds launch_cost() const {
    return execution_.cost.startup(execution_.protocol, execution_.plan.collective,
                                   execution_.warps);
  }

  /// Only who waits can be woken; who does not looks around by itself when its work is done.
  void wake(WorkerId worker, Cause cause, RecordId caused_by) {
    if (workers_[worker].state != Worker::State::waiting) return;
    wakeups_.push_back({worker, cause, caused_by});
  }
  void work_off_wakeups() {
    // Grows while it is walked: what begins now may complete, and wake others, at once.
    for (std::size_t i = 0; i < wakeups_.size(); ++i) try_begin(Wakeup(wakeups_[i]));
    wakeups_.clear();
  }
  void record_begin(Worker& worker, const Wakeup& wakeup);
  double speed_of(Rank rank) const {
    return rank < disturbance_.speed.size() ? disturbance_.speed[rank] : 1;
  }
  void add_changed_routes();
  void disturb();
  void change_machine(std::size_t number);
  void change_wire(const WireChange& change, const ChangedRoutes& routes);
  Seconds delay_of_next(FifoId id);
  ExecutionResult result() const;
  [[noreturn]] void fail_hanging() const;
  std::string what_is_awaited(const Worker& worker) const;
  /// What an arrival counts, and a receive takes.
  std::int64_t units(std::int64_t bytes) const {
    if (!cost_.flags_lines()) return 1;
    return execution_.binding.is_nccl() ? bytes : std::max<std::int64_t>(bytes, 1);
  }
  double on_wire(std::int64_t bytes, std::uint32_t channel) const {
    return cost_.wire_factor * static_cast<double>(bytes) * weights_[channel];
  }
  Work work_of(const Worker& worker, const Primitive& primitive) const;
  Seconds slice_cost(const Worker& worker, const Primitive& primitive) const;
  BytesPerSecond rate_of(const Worker& worker, const Primitive& primitive, double bytes) const;

  const Execution& execution_;
  const ProtocolCost& cost_;
  const std::array<ProtocolCost, link_kind_count> costs_;
  Fabric& fabric_;
  Timeline* timeline_;
  const std::uint32_t credits_;
  const std::uint32_t slices_;
  std::vector<Worker> workers_;
  std::vector<Launch> launches_;  // by rank, then by agent
  std::vector<Fifo> fifos_;
  Proxies proxies_;
  std::vector<FifoId> fifo_of_proxy_;
  std::vector<std::deque<Message>> on_the_way_;  // by fifo; only where keeps_messages()
  std::vector<Wakeup> wakeups_;
  std::vector<std::uint32_t> senders_;  // by resource: thread blocks
  RouteId free_route_ = 0;              // loads nothing
  std::vector<double> weights_;         // by channel: what a byte of it loads
  Disturbance disturbance_;
  std::vector<std::vector<ChangedRoutes>> changed_routes_;  // [change][wire]
  std::vector<FifoId> first_fifos_;                         // by channel
  std::vector<std::vector<ResourceId>> thread_blocks_;      // by channel and rank
  std::vector<Lateness> lateness_;                          // by fifo; empty: alpha is all
  Seconds over_;                                            // when the last rank ended
  Seconds sum_of_ends_;                                     // over ranks
  std::size_t finished_ = 0;
  std::uint64_t transfers_ = 0;
};

ExecutionResult Executor::result() const {
  const auto per_call = [&](Seconds end) {
    return std::max((1.0 / execution_.calls) * (launch_cost() + end), execution_.cost.issue);
  };
  // Of one call, the next one's launch would wait for the last rank too.
  const Seconds mean = (1.0 / execution_.plan.ranks()) * sum_of_ends_;
  return {per_call(over_), per_call(execution_.calls == 1 ? over_ : mean), transfers_};
}

void Executor::lay_out() {
  const Wiring& wiring = execution_.wiring;
  for (std::size_t i = 0; i < wiring.capacities.size(); ++i) {
    const ResourceId resource = fabric_.add_resource(wiring.capacities[i]);
    if (i < wiring.bursts.size() && wiring.bursts[i].size.count > 0) {
      fabric_.let_burst(resource, wiring.bursts[i]);
    }
  }
  for (const Schedule& schedule : execution_.plan.schedules) {
    if (launches_.size() < schedule.participants()) launches_.resize(schedule.participants());
  }
  // A disturbance may name channels that a small call leaves out.
  free_route_ = fabric_.add_route({});
  count_thread_blocks();
  first_fifos_.assign(execution_.plan.channels(), no_fifo);
  thread_blocks_.resize(execution_.plan.channels());
  for (std::uint32_t channel = 0; channel < execution_.binding.channels(); ++channel) {
    if (execution_.binding.loops(channel) > 0) add_channel(channel);
  }
  add_changed_routes();
  for (std::uint32_t channel = 0; channel < execution_.binding.channels(); ++channel) {
    weights_.push_back(weight_of_channel(channel, execution_.cost.unevenness));
  }
  if (keeps_messages()) on_the_way_.resize(fifos_.size());
}

/// How many thread blocks send through each resource of the wiring.
void Executor::count_thread_blocks() {
  senders_.resize(execution_.wiring.capacities.size());
  std::vector<std::pair<ResourceId, Rank>> of_channel;
  for (std::uint32_t channel = 0; channel < execution_.binding.channels(); ++channel) {
    if (execution_.binding.loops(channel) == 0) continue;
    of_channel.clear();
    const auto connections = execution_.plan.schedule(channel).connections();
    for (std::size_t i = 0; i < connections.size(); ++i) {
      for (const ResourceId resource : execution_.wiring.wires[channel][i].resources) {
        of_channel.emplace_back(resource, connections[i].src);
      }
    }
    std::sort(of_channel.begin(), of_channel.end());
    of_channel.erase(std::unique(of_channel.begin(), of_channel.end()), of_channel.end());
    for (const auto& [resource, rank] : of_channel) ++senders_[resource];
  }
}

/// By rank: what is left of a thread block's rate beside those that it shares its links with.
std::vector<double> Executor::crowded_shares(std::uint32_t channel,
                                             const std::vector<LinkKind>& kinds) const {
  const Schedule& schedule = execution_.plan.schedule(channel);
  std::vector<double> shares(schedule.participants(), 1);
  const auto connections = schedule.connections();
  for (std::size_t i = 0; i < connections.size(); ++i) {
    const Rank src = connections[i].src;
    for (const ResourceId resource : execution_.wiring.wires[channel][i].resources) {
      const BytesPerSecond link = execution_.wiring.capacities[resource];
      shares[src] =
          std::min(shares[src], cost_of(kinds[src]).crowded_share(senders_[resource], link));
    }
  }
  return shares;
}

void Executor::add_channel(std::uint32_t channel) {
  const Schedule& schedule = execution_.plan.schedule(channel);
  std::vector<ResourceId> thread_blocks;  // by rank; empty where they never limit
  const std::vector<LinkKind> kinds = slowest_links(schedule, execution_.wiring.wires[channel]);
  if (limits_thread_blocks(execution_)) {
    const std::vector<double> shares = crowded_shares(channel, kinds);
    for (Rank rank = 0; rank < schedule.ranks(); ++rank) {
      const BytesPerSecond rate = shares[rank] * cost_of(kinds[rank]).channel;
      thread_blocks.push_back(fabric_.add_resource(speed_of(rank) * rate));
    }
  }
  const auto first_fifo = static_cast<FifoId>(fifos_.size());
  first_fifos_[channel] = first_fifo;
  add_fifos(channel, thread_blocks);
  thread_blocks_[channel] = std::move(thread_blocks);
  add_workers(channel, first_fifo, kinds);
}

void Executor::add_fifos(std::uint32_t channel, const std::vector<ResourceId>& thread_blocks) {
  const std::vector<Wire>& wires = execution_.wiring.wires[channel];
  const Schedule& schedule = execution_.plan.schedule(channel);
  const auto connections = schedule.connections();
  assert(wires.size() == connections.size());
  std::vector<ResourceId> route;
  for (std::size_t i = 0; i < connections.size(); ++i) {
    route = wires[i].resources;
    if (connections[i].src < thread_blocks.size()) {
      route.push_back(thread_blocks[connections[i].src]);
    }
    Fifo fifo;
    fifo.channel = channel;
    fifo.route = fabric_.add_route(route);
    fifo.route_is_free = route.empty();
    fifo.alpha = alpha_of(schedule, connections[i], wires[i]);
    if (!wires[i].network.empty()) {
      const auto id = static_cast<FifoId>(fifos_.size());
      fifo.proxy = proxies_.add(connections[i].src, connections[i].dst,
                                fabric_.add_route(wires[i].network), credits_, proxy_flow(id));
      fifo_of_proxy_.push_back(id);
      for (const Rank rank : {connections[i].src, connections[i].dst}) {
        proxies_.set_timer(rank, timer_tag(rank, TimerKind::proxy));
      }
    }
    fifos_.push_back(fifo);
  }
}

/// Until the first byte of a message has come over the wire.
Seconds Executor::alpha_of(const Schedule& schedule, const Connection& connection,
                           const Wire& wire) const {
  const Seconds alpha = wire.latency + hop_alpha(schedule, connection, wire.kind, cost_);
  return execution_.plan.fans_out ? alpha + cost_of(wire.kind).fan : alpha;
}

/// What a rank keeps stays within its GPU; of messages, the thread block sends and stores with the
/// same warps.
RouteId Executor::add_store_route(std::uint32_t channel, Rank rank) {
  const auto& thread_blocks = thread_blocks_[channel];
  if (!execution_.plan.channels_divide_chunks || rank >= thread_blocks.size()) {
    return free_route_;
  }
  return fabric_.add_route(std::span(&thread_blocks[rank], 1));
}

void Executor::add_workers(std::uint32_t channel, FifoId first_fifo,
                           const std::vector<LinkKind>& kinds) {
  const Schedule& schedule = execution_.plan.schedule(channel);
  const bool exchanges = execution_.plan.channels_divide_chunks;
  for (Rank rank = 0; rank < schedule.participants(); ++rank) {
    const bool is_agent = schedule.is_agent(rank);
    const std::uint32_t lanes = lanes_in_use(schedule, rank);
    const std::uint32_t peers = peers_in_use(schedule, rank);
    const RouteId store_route = add_store_route(channel, rank);
    for (std::uint32_t lane = 0; lane < schedule.lanes(); ++lane) {
      const auto program = schedule.program(rank, lane);
      if (program.empty()) continue;
      Worker worker;
      worker.program = program;
      worker.schedule = &schedule;
      worker.first_fifo = first_fifo;
      worker.channel = channel;
      worker.rank = rank;
      worker.is_agent = is_agent;
      worker.lane = lane;
      worker.loops = execution_.binding.loops(channel);
      const std::uint32_t warps =
          exchanges ? warps_of_message(execution_.warps, peers)
                    : warps_of_lane(execution_.protocol, execution_.warps, lanes, lane);
      // Copies of several messages slow each other down by what the thread block does in all.
      if (warps > 0 && !exchanges) worker.share = std::min(1.0, warps / data_warps);
      worker.store_route = store_route;
      worker.speed = speed_of(rank);
      worker.round = warps * cost_.warp_granule.count;
      worker.cost = &cost_of(kinds[rank]);
      worker.slice_cost = worker.cost->slice + warps * worker.cost->slice_per_warp;
      const auto id = static_cast<WorkerId>(workers_.size());
      for (const Primitive& primitive : program) {
        for (const ConnectionId peer : schedule.peers(primitive.receive_group)) {
          fifos_[first_fifo + peer].receiver = id;
        }
        for (const ConnectionId peer : schedule.peers(primitive.send_group)) {
          fifos_[first_fifo + peer].sender = id;
        }
      }
      begin_slice(worker);
      workers_.push_back(worker);
      launches_[rank].workers.push_back(id);
    }
  }
}

bool Executor::messages_are_there(const Worker& worker, const Primitive& primitive) const {
  // Flags are in the data: of an empty message a thread block sees nothing to wait for.
  const std::int64_t needed = units(bytes_of_piece(worker));
  for (const ConnectionId peer : peers(worker, primitive.receive_group)) {
    const Fifo& fifo = fifos_[worker.first_fifo + peer];
    if (fifo.there < needed) return false;
  }
  return true;
}

bool Executor::credits_are_there(const Worker& worker, const Primitive& primitive) const {
  if (worker.piece > 0) return true;  // the slice has its slot
  for (const ConnectionId peer : peers(worker, primitive.send_group)) {
    const Fifo& fifo = fifos_[worker.first_fifo + peer];
    const bool has_slot = fifo.proxy ? proxies_.has_slot(*fifo.proxy, fifo.sent_slices)
                                     : fifo.sent_slices < fifo.freed_slices + credits_;
    if (!has_slot) return false;
  }
  return true;
}

void Executor::try_begin(const Wakeup& wakeup) {
  Worker& worker = workers_[wakeup.worker];
  if (worker.state != Worker::State::waiting) return;
  const Primitive& primitive = worker.program[worker.primitive];
  if (!messages_are_there(worker, primitive) || !credits_are_there(worker, primitive)) return;
  worker.state = Worker::State::busy;
  if (timeline_ != nullptr) record_begin(worker, wakeup);
  if (worker.piece == 0) {
    for (const ConnectionId peer : peers(worker, primitive.send_group)) {
      ++fifos_[worker.first_fifo + peer].sent_slices;
    }
  }
  const Seconds serial = slice_cost(worker, primitive);
  if (!cost_.flags_lines() && serial.value > 0) {
    fabric_.start_timer(serial, timer_tag(wakeup.worker, TimerKind::before));
  } else {
    move_bytes(wakeup.worker);
  }
}

Work Executor::work_of(const Worker& worker, const Primitive& primitive) const {
  const bool only_passes_on = primitive.kind == PrimitiveKind::recv_send &&
                              peers(worker, primitive.receive_group).size() == 1;
  if (reduces(primitive.kind) && !only_passes_on) return Work::reduce;
  return sends(primitive.kind) ? Work::copy : Work::store;
}

/// What the thread block pays for a slice; a switch has none.
Seconds Executor::slice_cost(const Worker& worker, const Primitive& primitive) const {
  if (worker.is_agent) return {};
  Seconds serial = worker.slice_cost;
  if (!sends(primitive.kind)) return serial;
  const bool received = !peers(worker, primitive.receive_group).empty();
  if (received && work_of(worker, primitive) == Work::copy) serial += worker.cost->copy_slice;
  return serial;
}

/// The most at which a worker moves a piece that has so many bytes on the wire. A switch is as fast
/// as its links.
BytesPerSecond Executor::rate_of(const Worker& worker, const Primitive& primitive,
                                 double bytes) const {
  if (worker.is_agent) return unlimited;
  const Work work = work_of(worker, primitive);
  if (!cost_.flags_lines()) return worker.speed * worker.share * worker.cost->rate(work);
  const Seconds time = worker.cost->rounds(work, bytes_of_piece(worker), worker.round);
  if (time.value <= 0) return unlimited;
  return {worker.speed * bytes / time.value};
}

void Executor::move_bytes(WorkerId id) {
  Worker& worker = workers_[id];
  const Primitive& primitive = worker.program[worker.primitive];
  const double bytes = on_wire(bytes_of_piece(worker), worker.channel);
  const BytesPerSecond rate = rate_of(worker, primitive, bytes);
  if (timeline_ != nullptr) timeline_->records[worker.record].moving = fabric_.now();
  if (!sends(primitive.kind)) {
    if (rate < unlimited && bytes > 0) {
      worker.flows = 1;
      fabric_.start_flow(worker.store_route, bytes, rate, worker_flow(id));
    } else {
      complete(id);
    }
    return;
  }
  const auto group = peers(worker, primitive.send_group);
  worker.flows = static_cast<std::uint32_t>(group.size());
  transfers_ += group.size();
  for (const ConnectionId peer : group) {
    const Fifo& fifo = fifos_[worker.first_fifo + peer];
    // A proxy's buffer that nothing limits takes all at once.
    const bool at_once = bytes == 0 || (fifo.route_is_free && !(rate < unlimited));
    fabric_.start_flow(fifo.route, at_once ? 0 : bytes, at_once ? unlimited : rate,
                       worker_flow(id));
  }
}

/// The bytes of a piece have moved.
void Executor::complete(WorkerId id) {
  Worker& worker = workers_[id];
  const Primitive& primitive = worker.program[worker.primitive];
  const bool ends_slice = worker.piece + 1 == worker.pieces;
  if (timeline_ != nullptr) timeline_->records[worker.record].end = fabric_.now();
  const Message message{bytes_of_piece(worker), ends_slice, worker.record};
  for (const ConnectionId peer : peers(worker, primitive.send_group)) {
    const FifoId fifo = worker.first_fifo + peer;
    hand_over(fifo, message);
  }
  const Seconds serial = slice_cost(worker, primitive);
  if (ends_slice && cost_.flags_lines() && serial.value > 0) {
    fabric_.start_timer(serial, timer_tag(id, TimerKind::after));
  } else {
    end_piece(id);
  }
}

/// The worker has done all about a piece: what it took makes room, and the program goes on.
void Executor::end_piece(WorkerId id) {
  Worker& worker = workers_[id];
  const Primitive& primitive = worker.program[worker.primitive];
  const bool ends_slice = worker.piece + 1 == worker.pieces;
  const std::int64_t taken = units(bytes_of_piece(worker));
  if (timeline_ != nullptr) timeline_->records[worker.record].over = fabric_.now();
  for (const ConnectionId peer : peers(worker, primitive.receive_group)) {
    Fifo& fifo = fifos_[worker.first_fifo + peer];
    fifo.there -= taken;
    if (!ends_slice) continue;
    ++fifo.freed_slices;
    if (fifo.proxy) {
      proxies_.free_slot(*fifo.proxy);
    } else {
      wake(fifo.sender, Cause::credit, worker.record);
    }
  }
  advance(worker);
  if (worker.state == Worker::State::waiting) wake(id, Cause::program_order, worker.record);
}

/// A piece has left the thread block: towards the peer, or into the proxy's buffer, from where
/// whole slices go on.
void Executor::hand_over(FifoId id, const Message& message) {
  Fifo& fifo = fifos_[id];
  if (!fifo.proxy) {
    send_off(id, message);
    return;
  }
  fifo.handed_over += message.bytes;
  if (!message.ends_slice) return;
  proxies_.hand_over(*fifo.proxy, {fifo.handed_over, true, message.record});
  fifo.handed_over = 0;
}

void Executor::leave_proxy(FifoId id) {
  const Message message = proxies_.leave(*fifos_[id].proxy);
  if (!proxies_.is_eager()) wake(fifos_[id].sender, Cause::credit, message.record);
  send_off(id, message);
}

void Executor::finish_proxy_task(Rank rank) {
  const Proxies::Done done = proxies_.finish_task(rank);
  const FifoId id = fifo_of_proxy_[done.connection];
  if (done.received) {
    arrive(id, done.message);
  } else if (proxies_.is_eager()) {
    wake(fifos_[id].sender, Cause::credit, done.message.record);
  }
}

void Executor::send_off(FifoId id, const Message& message) {
  const Seconds delay = lateness_.empty() ? fifos_[id].alpha : delay_of_next(id);
  if (delay.value > 0) {
    if (keeps_messages()) on_the_way_[id].push_back(message);
    fabric_.start_timer(delay, timer_tag(id, TimerKind::arrival));
  } else {
    reach(id, message);
  }
}

/// The first message on the way.
void Executor::arrive(FifoId id) {
  Message message{0, true, no_record};
  if (keeps_messages()) {
    message = on_the_way_[id].front();
    on_the_way_[id].pop_front();
  }
  reach(id, message);
}

/// It is at the peer, or at the peer's proxy.
void Executor::reach(FifoId id, const Message& message) {
  if (fifos_[id].proxy) {
    proxies_.reach(*fifos_[id].proxy, message);
  } else {
    arrive(id, message);
  }
}

void Executor::arrive(FifoId id, const Message& message) {
  Fifo& fifo = fifos_[id];
  fifo.there += units(message.bytes);
  wake(fifo.receiver, Cause::message, message.record);
}

void Executor::advance(Worker& worker) {
  worker.state = Worker::State::waiting;
  if (++worker.piece < worker.pieces) return;
  bool over = false;
  if (++worker.slice == slices_) {
    worker.slice = 0;
    if (++worker.primitive == worker.program.size()) {
      worker.primitive = 0;
      over = ++worker.loop == worker.loops;
      if (over) worker.loop = 0;
    }
  }
  begin_slice(worker);
  if (!over) return;
  worker.state = Worker::State::finished;
  if (--launches_[worker.rank].running == 0) end_call(worker.rank);
}

/// Sizes of the slice that the worker comes to.
void Executor::begin_slice(Worker& worker) const {
  const Binding& binding = execution_.binding;
  const ChunkRange chunks = worker.program[worker.primitive].chunks();
  const Bytes chunk = binding.chunk_bytes(worker.channel, worker.loop, chunks);
  worker.slice_bytes = binding.slice_bytes(chunk, worker.slice).count;
  worker.piece = 0;
  worker.pieces = 1;
  worker.piece_bytes = worker.slice_bytes;
  if (worker.round == 0 || worker.slice_bytes <= worker.round) return;
  const std::int64_t rounds = divide_up(worker.slice_bytes, worker.round);
  const bool amid = worker.loop >= loops_to_fill && worker.loop + loops_to_fill < worker.loops;
  const std::int64_t rounds_of_piece = amid ? divide_up(rounds, most_pieces_amid) : 1;
  worker.piece_bytes = rounds_of_piece * worker.round;
  worker.pieces = static_cast<std::uint32_t>(divide_up(rounds, rounds_of_piece));
}

void Executor::end_call(Rank rank) {
  Launch& launch = launches_[rank];
  if (++launch.calls == execution_.calls) {
    finished_ += launch.workers.size();
    if (rank < execution_.plan.ranks()) {
      over_ = fabric_.now();  // changes of the machine may be still to come
      sum_of_ends_ += over_;
    }
  } else if (launch_cost().value > 0 && rank < execution_.plan.ranks()) {
    fabric_.start_timer(launch_cost(), timer_tag(rank, TimerKind::launch));
  } else {
    this->launch(rank);
  }
}

void Executor::begin(Rank rank) {
  const Seconds late = rank < disturbance_.late.size() ? disturbance_.late[rank] : Seconds{};
  if (late.value > 0) {
    fabric_.start_timer(late, timer_tag(rank, TimerKind::launch));
  } else {
    launch(rank);
  }
}

/// The rank's next call begins.
void Executor::launch(Rank rank) {
  Launch& launch = launches_[rank];
  launch.running = launch.workers.size();
  for (const WorkerId worker : launch.workers) {
    workers_[worker].state = Worker::State::waiting;
    wake(worker, Cause::begin, no_record);
  }
}

void Executor::add_changed_routes() {
  for (const MachineChange& change : disturbance_.changes) {
    std::vector<ChangedRoutes>& routes = changed_routes_.emplace_back();
    for (const WireChange& wire : change.wires) {
      ChangedRoutes& added = routes.emplace_back();
      if (first_fifos_[wire.channel] == no_fifo || !wire.moves) continue;
      const Connection& connection =
          execution_.plan.schedule(wire.channel).connections()[wire.connection];
      std::vector<ResourceId> route = wire.wire.resources;
      const auto& thread_blocks = thread_blocks_[wire.channel];
      if (connection.src < thread_blocks.size()) route.push_back(thread_blocks[connection.src]);
      added.route = fabric_.add_route(route);
      added.route_is_free = route.empty();
      if (!wire.wire.network.empty()) added.network = fabric_.add_route(wire.wire.network);
    }
  }
}

/// What was so before the call begins at once, the rest in its time.
void Executor::disturb() {
  if (disturbance_.changes.empty()) return;
  lateness_.resize(fifos_.size());
  for (std::size_t i = 0; i < disturbance_.changes.size(); ++i) {
    const Seconds delay = disturbance_.changes[i].at - launch_cost();
    if (delay.value <= 0) {
      change_machine(i);
    } else {
      fabric_.start_timer(delay, timer_tag(static_cast<std::uint32_t>(i), TimerKind::change));
    }
  }
}

void Executor::change_machine(std::size_t number) {
  const MachineChange& change = disturbance_.changes[number];
  for (const CapacityChange& capacity : change.capacities) {
    fabric_.set_capacity(capacity.resource, capacity.capacity);
  }
  for (std::size_t i = 0; i < change.wires.size(); ++i) {
    if (first_fifos_[change.wires[i].channel] == no_fifo) continue;
    change_wire(change.wires[i], changed_routes_[number][i]);
  }
}

void Executor::change_wire(const WireChange& change, const ChangedRoutes& routes) {
  const FifoId id = first_fifos_[change.channel] + change.connection;
  Fifo& fifo = fifos_[id];
  lateness_[id].jitter = change.jitter;
  const Schedule& schedule = execution_.plan.schedule(change.channel);
  fifo.alpha = alpha_of(schedule, schedule.connections()[change.connection], change.wire);
  if (!change.moves) return;
  if (!fifo.route_is_free && !routes.route_is_free) fabric_.redirect(fifo.route, routes.route);
  fifo.route = routes.route;
  fifo.route_is_free = routes.route_is_free;
  if (fifo.proxy) proxies_.redirect(*fifo.proxy, routes.network);
}

/// Until the message that leaves now is there: not before the one that left before it.
Seconds Executor::delay_of_next(FifoId id) {
  Lateness& lateness = lateness_[id];
  Seconds delay = fifos_[id].alpha;
  if (lateness.jitter.value > 0) {
    delay += jitter_of(disturbance_.seed, id, lateness.messages) * lateness.jitter;
  }
  ++lateness.messages;
  delay = std::max(delay, lateness.last_arrival - fabric_.now());
  lateness.last_arrival = fabric_.now() + delay;
  return delay;
}

/// Names the rank that others wait for: one whose bytes stand still, the earliest in its program.
void Executor::fail_hanging() const {
  const Worker* first = nullptr;
  const auto stands = [](const Worker& worker) { return worker.flows > 0; };
  const auto is_before = [&](const Worker& a, const Worker& b) {
    if (stands(a) != stands(b)) return stands(a);
    return std::pair(a.loop, a.primitive) < std::pair(b.loop, b.primitive);
  };
  std::size_t waiting = 0;
  for (const Worker& worker : workers_) {
    if (worker.state == Worker::State::finished) continue;
    ++waiting;
    if (first == nullptr || is_before(worker, *first)) first = &worker;
  }
  if (first == nullptr) throw std::logic_error("calls never ended whose programs did");
  throw HangError(
      first->channel, first->rank, first->primitive,
      fmt::format("hangs at step {} of {} of rank {} (channel {}), waiting for {}; {} of {} "
                  "programs never end",
                  first->primitive + 1, first->program.size(), first->rank, first->channel,
                  what_is_awaited(*first), waiting, workers_.size()));
}

std::string Executor::what_is_awaited(const Worker& worker) const {
  const Primitive& primitive = worker.program[worker.primitive];
  const auto connections = worker.schedule->connections();
  if (worker.flows > 0) {
    const ConnectionId peer = peers(worker, primitive.send_group).front();
    return fmt::format("its bytes to reach rank {}", connections[peer].dst);
  }
  const std::int64_t needed = units(bytes_of_piece(worker));
  for (const ConnectionId peer : peers(worker, primitive.receive_group)) {
    if (fifos_[worker.first_fifo + peer].there >= needed) continue;
    return fmt::format("a message from rank {}", connections[peer].src);
  }
  for (const ConnectionId peer : peers(worker, primitive.send_group)) {
    const Fifo& fifo = fifos_[worker.first_fifo + peer];
    if (fifo.sent_slices < fifo.freed_slices + credits_ && !fifo.proxy) continue;
    return fmt::format("room at rank {}", connections[peer].dst);
  }
  return "its turn";
}

void Executor::record_begin(Worker& worker, const Wakeup& wakeup) {
  worker.record = static_cast<RecordId>(timeline_->records.size());
  TimelineRecord record;
  record.channel = worker.channel;
  record.rank = worker.rank;
  record.lane = worker.lane;
  record.loop = worker.loop;
  record.primitive = worker.primitive;
  record.slice = worker.slice;
  record.bytes = {worker.slice_bytes};
  record.begin = fabric_.now();
  record.cause = wakeup.cause;
  record.caused_by = wakeup.caused_by;
  timeline_->records.push_back(record);
}

}  // namespace

ExecutionResult execute(const Execution& execution, Fabric& fabric, Timeline* timeline) {
  return Executor(execution, fabric, timeline).run();
}

}  // namespace collsim
