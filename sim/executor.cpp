#include "sim/executor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <deque>
#include <stdexcept>
#include <vector>

namespace collsim {

namespace {

using WorkerId = std::uint32_t;
/// A connection of one channel; numbers run through all channels.
using FifoId = std::uint32_t;

constexpr WorkerId no_worker = ~WorkerId{0};

/// Event tags carry in their lowest bits whose event it is. Flows: a worker's or a proxy's. Timers:
/// a worker's serial cost, an arrival, a proxy's serial cost.
enum class TimerKind : std::uint8_t { serial, arrival, proxy };
constexpr EventTag timer_tag(std::uint32_t id, TimerKind kind) {
  return (id << 2) | static_cast<EventTag>(kind);
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
  FifoId first_fifo = 0;  // of its channel
  RouteId store_route = 0;
  std::uint32_t channel = 0;
  Rank rank = 0;  // or the agent
  bool is_agent = false;
  std::uint32_t lane = 0;
  std::uint32_t loops = 0;
  std::uint32_t loop = 0;
  std::uint32_t primitive = 0;
  std::uint32_t slice = 0;
  std::uint32_t piece = 0;   // of the slice
  std::uint32_t pieces = 1;  // that the slice has
  std::uint32_t flows = 0;
  State state = State::waiting;
  RecordId record = no_record;
};

/// A slice travels in one or more pieces; credits count slices, arrivals pieces.
struct Fifo {
  std::uint32_t sent_slices = 0;
  std::uint32_t freed_slices = 0;
  std::uint32_t arrived_pieces = 0;
  std::uint32_t taken_pieces = 0;
  WorkerId sender = no_worker;
  WorkerId receiver = no_worker;
  RouteId route = 0;
  Seconds alpha;
  std::uint32_t proxy = 0;     // index + 1; 0 where there is none
  bool route_is_free = false;  // has no resource that could limit
};

/// A piece on its way over the network.
struct ProxyMessage {
  double bytes;
  bool ends_slice;
  RecordId record;
};

/// Sends the messages of one FIFO one after the other. Its buffer has as many slices as the
/// receiver's: the sender's slot is free when the message has left, the receiver's as always.
struct Proxy {
  RouteId route = 0;
  std::deque<ProxyMessage> messages;  // the first is the one being sent, where `busy`
  std::uint32_t left_slices = 0;
  bool busy = false;
};

struct Wakeup {
  WorkerId worker;
  Cause cause;
  RecordId caused_by;
};

class Executor final : public FabricListener {
 public:
  Executor(const Execution& execution, Fabric& fabric, Timeline* timeline)
      : execution_(execution),
        cost_(execution.cost.of(execution.protocol)),
        slice_cost_(cost_.slice + execution.warps * cost_.slice_per_warp),
        fabric_(fabric),
        timeline_(timeline),
        credits_(execution.binding.chunking().credits),
        slices_(execution.binding.chunking().slices) {}

  ExecutionResult run() {
    lay_out();
    for (WorkerId worker = 0; worker < workers_.size(); ++worker) {
      wake(worker, Cause::begin, no_record);
    }
    work_off_wakeups();
    fabric_.run(*this);
    if (finished_ != workers_.size()) {
      throw std::logic_error(fmt::format("{} of {} programs never ended: the plan deadlocks",
                                         workers_.size() - finished_, workers_.size()));
    }
    return {execution_.cost.launch + cost_.setup + fabric_.now(), transfers_};
  }

  void on_flow_done(EventTag tag) override {
    if ((tag & 1) == 0) {
      const WorkerId worker = tag >> 1;
      if (--workers_[worker].flows == 0) complete(worker);
    } else {
      finish_proxy_message(tag >> 1);
    }
    work_off_wakeups();
  }

  void on_timer(EventTag tag) override {
    const std::uint32_t id = tag >> 2;
    switch (static_cast<TimerKind>(tag & 3)) {
      case TimerKind::serial:
        move_bytes(id);
        break;
      case TimerKind::arrival:
        arrive(id);
        break;
      case TimerKind::proxy:
        move_proxy_message(id);
        break;
    }
    work_off_wakeups();
  }

 private:
  void lay_out();
  void add_channel(std::uint32_t channel);
  void add_workers(std::uint32_t channel, FifoId first_fifo,
                   const std::vector<ResourceId>& thread_blocks);
  void add_fifos(std::uint32_t channel, const std::vector<ResourceId>& thread_blocks);

  std::span<const ConnectionId> peers(const Worker& worker, PeerGroupId group) const {
    return worker.schedule->peers(group);
  }
  bool messages_are_there(const Worker& worker, const Primitive& primitive) const;
  bool credits_are_there(const Worker& worker, const Primitive& primitive) const;
  void try_begin(const Wakeup& wakeup);
  void move_bytes(WorkerId id);
  void complete(WorkerId id);
  void hand_over(FifoId id, const ProxyMessage& message);
  void start_proxy(FifoId id);
  void move_proxy_message(FifoId id);
  void finish_proxy_message(FifoId id);
  void send_off(FifoId id);
  void arrive(FifoId id);
  void advance(Worker& worker);

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
  void record_begin(Worker& worker, const Primitive& primitive, const Wakeup& wakeup);
  Bytes slice_bytes(const Worker& worker, const Primitive& primitive) const {
    const Binding& binding = execution_.binding;
    return binding.slice_bytes(binding.chunk_bytes(worker.channel, worker.loop, primitive.chunks()),
                               worker.slice);
  }

  std::uint32_t pieces_of(Bytes slice) const {
    const std::int64_t granule = cost_.granule.count;
    if (granule == 0 || slice.count <= granule) return 1;
    return static_cast<std::uint32_t>((slice.count + granule - 1) / granule);
  }
  /// The most at which the worker moves bytes. A switch is as fast as its links.
  BytesPerSecond rate_of(const Worker& worker, const Primitive& primitive) const {
    if (worker.is_agent) return unlimited;
    const bool only_passes_on = primitive.kind == PrimitiveKind::recv_send &&
                                peers(worker, primitive.receive_group).size() == 1;
    return reduces(primitive.kind) && !only_passes_on ? cost_.reduce : cost_.copy;
  }
  /// Of the piece that the worker is at.
  double wire_bytes(const Worker& worker, const Primitive& primitive) const;

  const Execution& execution_;
  const ProtocolCost& cost_;
  const Seconds slice_cost_;
  Fabric& fabric_;
  Timeline* timeline_;
  const std::uint32_t credits_;
  const std::uint32_t slices_;
  std::vector<Worker> workers_;
  std::vector<Fifo> fifos_;
  std::vector<Proxy> proxies_;
  std::vector<std::deque<RecordId>> on_the_way_;  // by fifo; only with a timeline
  std::vector<Wakeup> wakeups_;
  std::size_t finished_ = 0;
  std::uint64_t transfers_ = 0;
};

void Executor::lay_out() {
  for (const BytesPerSecond capacity : execution_.wiring.capacities) {
    fabric_.add_resource(capacity);
  }
  for (std::uint32_t channel = 0; channel < execution_.binding.channels(); ++channel) {
    if (execution_.binding.loops(channel) > 0) add_channel(channel);
  }
  if (timeline_ != nullptr) on_the_way_.resize(fifos_.size());
}

void Executor::add_channel(std::uint32_t channel) {
  const Schedule& schedule = execution_.plan.schedule(channel);
  std::vector<ResourceId> thread_blocks;  // by rank; empty where they never limit
  if (cost_.channel < unlimited) {
    for (Rank rank = 0; rank < schedule.ranks(); ++rank) {
      thread_blocks.push_back(fabric_.add_resource(cost_.channel));
    }
  }
  const auto first_fifo = static_cast<FifoId>(fifos_.size());
  add_fifos(channel, thread_blocks);
  add_workers(channel, first_fifo, thread_blocks);
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
    fifo.route = fabric_.add_route(route);
    fifo.route_is_free = route.empty();
    fifo.alpha = wires[i].latency + hop_alpha(schedule, connections[i], wires[i].kind, cost_);
    if (!wires[i].network.empty()) {
      proxies_.emplace_back().route = fabric_.add_route(wires[i].network);
      fifo.proxy = static_cast<std::uint32_t>(proxies_.size());
    }
    fifos_.push_back(fifo);
  }
}

void Executor::add_workers(std::uint32_t channel, FifoId first_fifo,
                           const std::vector<ResourceId>& thread_blocks) {
  const Schedule& schedule = execution_.plan.schedule(channel);
  for (Rank rank = 0; rank < schedule.participants(); ++rank) {
    const bool is_agent = schedule.is_agent(rank);
    RouteId store_route = 0;
    if (cost_.store < unlimited && !is_agent) {
      store_route = thread_blocks.empty() ? fabric_.add_route({})
                                          : fabric_.add_route(std::span(&thread_blocks[rank], 1));
    }
    for (std::uint32_t lane = 0; lane < schedule.lanes(); ++lane) {
      const auto program = schedule.program(rank, lane);
      if (program.empty()) continue;
      Worker worker;
      worker.program = program;
      worker.schedule = &schedule;
      worker.first_fifo = first_fifo;
      worker.store_route = store_route;
      worker.channel = channel;
      worker.rank = rank;
      worker.is_agent = is_agent;
      worker.lane = lane;
      worker.loops = execution_.binding.loops(channel);
      const auto id = static_cast<WorkerId>(workers_.size());
      for (const Primitive& primitive : program) {
        for (const ConnectionId peer : schedule.peers(primitive.receive_group)) {
          fifos_[first_fifo + peer].receiver = id;
        }
        for (const ConnectionId peer : schedule.peers(primitive.send_group)) {
          fifos_[first_fifo + peer].sender = id;
        }
      }
      workers_.push_back(worker);
    }
  }
}

bool Executor::messages_are_there(const Worker& worker, const Primitive& primitive) const {
  for (const ConnectionId peer : peers(worker, primitive.receive_group)) {
    const Fifo& fifo = fifos_[worker.first_fifo + peer];
    if (fifo.arrived_pieces == fifo.taken_pieces) return false;
  }
  return true;
}

bool Executor::credits_are_there(const Worker& worker, const Primitive& primitive) const {
  if (worker.piece > 0) return true;  // the slice has its slot
  for (const ConnectionId peer : peers(worker, primitive.send_group)) {
    const Fifo& fifo = fifos_[worker.first_fifo + peer];
    const std::uint32_t free_again =
        fifo.proxy == 0 ? fifo.freed_slices : proxies_[fifo.proxy - 1].left_slices;
    if (fifo.sent_slices - free_again >= credits_) return false;
  }
  return true;
}

void Executor::try_begin(const Wakeup& wakeup) {
  Worker& worker = workers_[wakeup.worker];
  if (worker.state != Worker::State::waiting) return;
  const Primitive& primitive = worker.program[worker.primitive];
  if (!messages_are_there(worker, primitive) || !credits_are_there(worker, primitive)) return;
  worker.state = Worker::State::busy;
  if (timeline_ != nullptr) record_begin(worker, primitive, wakeup);
  if (worker.piece == 0) {
    worker.pieces = pieces_of(slice_bytes(worker, primitive));
    for (const ConnectionId peer : peers(worker, primitive.send_group)) {
      ++fifos_[worker.first_fifo + peer].sent_slices;
    }
  }
  if (slice_cost_.value > 0 && worker.piece == 0 && !worker.is_agent) {
    fabric_.start_timer(slice_cost_, timer_tag(wakeup.worker, TimerKind::serial));
  } else {
    move_bytes(wakeup.worker);
  }
}

double Executor::wire_bytes(const Worker& worker, const Primitive& primitive) const {
  const std::int64_t slice = slice_bytes(worker, primitive).count;
  if (worker.pieces == 1) return cost_.wire_factor * static_cast<double>(slice);
  const std::int64_t granule = cost_.granule.count;
  const std::int64_t left = slice - granule * worker.piece;
  return cost_.wire_factor * static_cast<double>(std::min(left, granule));
}

void Executor::move_bytes(WorkerId id) {
  Worker& worker = workers_[id];
  const Primitive& primitive = worker.program[worker.primitive];
  const double bytes = wire_bytes(worker, primitive);
  if (timeline_ != nullptr) timeline_->records[worker.record].moving = fabric_.now();
  if (!sends(primitive.kind)) {
    if (cost_.store < unlimited && bytes > 0) {
      worker.flows = 1;
      fabric_.start_flow(worker.store_route, bytes, cost_.store, worker_flow(id));
    } else {
      complete(id);
    }
    return;
  }
  const BytesPerSecond rate = rate_of(worker, primitive);
  const auto group = peers(worker, primitive.send_group);
  worker.flows = static_cast<std::uint32_t>(group.size());
  transfers_ += group.size();
  for (const ConnectionId peer : group) {
    const Fifo& fifo = fifos_[worker.first_fifo + peer];
    // A proxy's buffer that nothing limits takes all at once.
    const bool at_once = fifo.route_is_free && !(rate < unlimited);
    fabric_.start_flow(fifo.route, at_once ? 0 : bytes, rate, worker_flow(id));
  }
}

void Executor::complete(WorkerId id) {
  Worker& worker = workers_[id];
  const Primitive& primitive = worker.program[worker.primitive];
  const bool ends_slice = worker.piece + 1 == worker.pieces;
  if (timeline_ != nullptr) timeline_->records[worker.record].end = fabric_.now();
  for (const ConnectionId peer : peers(worker, primitive.receive_group)) {
    Fifo& fifo = fifos_[worker.first_fifo + peer];
    ++fifo.taken_pieces;
    if (!ends_slice) continue;
    ++fifo.freed_slices;
    if (fifo.proxy != 0) start_proxy(worker.first_fifo + peer);
    wake(fifo.sender, Cause::credit, worker.record);
  }
  for (const ConnectionId peer : peers(worker, primitive.send_group)) {
    const FifoId fifo = worker.first_fifo + peer;
    if (timeline_ != nullptr) on_the_way_[fifo].push_back(worker.record);
    hand_over(fifo, {wire_bytes(worker, primitive), ends_slice, worker.record});
  }
  advance(worker);
  if (worker.state == Worker::State::waiting) wake(id, Cause::program_order, worker.record);
}

/// A piece has left the thread block: towards the peer, or into the proxy's buffer.
void Executor::hand_over(FifoId id, const ProxyMessage& message) {
  const Fifo& fifo = fifos_[id];
  if (fifo.proxy == 0) {
    send_off(id);
    return;
  }
  proxies_[fifo.proxy - 1].messages.push_back(message);
  start_proxy(id);
}

void Executor::start_proxy(FifoId id) {
  const Fifo& fifo = fifos_[id];
  Proxy& proxy = proxies_[fifo.proxy - 1];
  if (proxy.busy || proxy.messages.empty()) return;
  if (proxy.left_slices - fifo.freed_slices >= credits_) return;  // the receiver's buffer is full
  proxy.busy = true;
  if (execution_.cost.proxy.message.value > 0) {
    fabric_.start_timer(execution_.cost.proxy.message, timer_tag(id, TimerKind::proxy));
  } else {
    move_proxy_message(id);
  }
}

void Executor::move_proxy_message(FifoId id) {
  const Proxy& proxy = proxies_[fifos_[id].proxy - 1];
  fabric_.start_flow(proxy.route, proxy.messages.front().bytes, execution_.cost.proxy.rate,
                     proxy_flow(id));
}

void Executor::finish_proxy_message(FifoId id) {
  const Fifo& fifo = fifos_[id];
  Proxy& proxy = proxies_[fifo.proxy - 1];
  proxy.busy = false;
  if (proxy.messages.front().ends_slice) {
    ++proxy.left_slices;
    wake(fifo.sender, Cause::credit, proxy.messages.front().record);
  }
  proxy.messages.pop_front();
  send_off(id);
  start_proxy(id);
}

void Executor::send_off(FifoId id) {
  if (fifos_[id].alpha.value > 0) {
    fabric_.start_timer(fifos_[id].alpha, timer_tag(id, TimerKind::arrival));
  } else {
    arrive(id);
  }
}

void Executor::arrive(FifoId id) {
  Fifo& fifo = fifos_[id];
  ++fifo.arrived_pieces;
  RecordId sent_by = no_record;
  if (timeline_ != nullptr) {
    sent_by = on_the_way_[id].front();
    on_the_way_[id].pop_front();
  }
  wake(fifo.receiver, Cause::message, sent_by);
}

void Executor::advance(Worker& worker) {
  worker.state = Worker::State::waiting;
  if (++worker.piece < worker.pieces) return;
  worker.piece = 0;
  if (++worker.slice < slices_) return;
  worker.slice = 0;
  if (++worker.primitive < worker.program.size()) return;
  worker.primitive = 0;
  if (++worker.loop < worker.loops) return;
  worker.state = Worker::State::finished;
  ++finished_;
}

void Executor::record_begin(Worker& worker, const Primitive& primitive, const Wakeup& wakeup) {
  worker.record = static_cast<RecordId>(timeline_->records.size());
  TimelineRecord record;
  record.channel = worker.channel;
  record.rank = worker.rank;
  record.lane = worker.lane;
  record.loop = worker.loop;
  record.primitive = worker.primitive;
  record.slice = worker.slice;
  record.bytes = slice_bytes(worker, primitive);
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
