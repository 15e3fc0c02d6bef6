#include "sim/executor.h"

#include <fmt/format.h>

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

/// Event tags carry the kind of timer in their lowest bit.
constexpr EventTag serial_tag(WorkerId worker) {
  return worker << 1;
}
constexpr EventTag arrival_tag(FifoId fifo) {
  return (fifo << 1) | 1;
}

/// A rank's program on one channel and lane, and how far it is.
struct Worker {
  enum class State : std::uint8_t { waiting, busy, finished };

  std::span<const Primitive> program;
  const Schedule* schedule = nullptr;
  FifoId first_fifo = 0;  // of its channel
  RouteId store_route = 0;
  std::uint32_t channel = 0;
  Rank rank = 0;
  std::uint32_t lane = 0;
  std::uint32_t loops = 0;
  std::uint32_t loop = 0;
  std::uint32_t primitive = 0;
  std::uint32_t slice = 0;
  std::uint32_t flows = 0;
  State state = State::waiting;
  RecordId record = no_record;
};

/// Counts slices; the receiver's view lags the sender's by alpha.
struct Fifo {
  std::uint32_t sent = 0;
  std::uint32_t arrived = 0;
  std::uint32_t consumed = 0;
  WorkerId sender = no_worker;
  WorkerId receiver = no_worker;
  RouteId route = 0;
  Seconds alpha;
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
    return {execution_.cost.launch + fabric_.now(), transfers_};
  }

  void on_flow_done(EventTag tag) override {
    Worker& worker = workers_[tag];
    if (--worker.flows == 0) complete(tag);
    work_off_wakeups();
  }

  void on_timer(EventTag tag) override {
    if ((tag & 1) == 0) {
      move_bytes(tag >> 1);
    } else {
      arrive(tag >> 1);
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

  const Execution& execution_;
  const ProtocolCost& cost_;
  Fabric& fabric_;
  Timeline* timeline_;
  const std::uint32_t credits_;
  const std::uint32_t slices_;
  std::vector<Worker> workers_;
  std::vector<Fifo> fifos_;
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
  const auto connections = execution_.plan.schedule(channel).connections();
  assert(wires.size() == connections.size());
  std::vector<ResourceId> route;
  for (std::size_t i = 0; i < connections.size(); ++i) {
    route = wires[i].resources;
    if (!thread_blocks.empty()) route.push_back(thread_blocks[connections[i].src]);
    Fifo fifo;
    fifo.route = fabric_.add_route(route);
    fifo.alpha = wires[i].latency + cost_.alpha[static_cast<std::size_t>(wires[i].kind)];
    fifos_.push_back(fifo);
  }
}

void Executor::add_workers(std::uint32_t channel, FifoId first_fifo,
                           const std::vector<ResourceId>& thread_blocks) {
  const Schedule& schedule = execution_.plan.schedule(channel);
  for (Rank rank = 0; rank < schedule.ranks(); ++rank) {
    RouteId store_route = 0;
    if (cost_.store < unlimited) {
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
    if (fifo.arrived == fifo.consumed) return false;
  }
  return true;
}

bool Executor::credits_are_there(const Worker& worker, const Primitive& primitive) const {
  for (const ConnectionId peer : peers(worker, primitive.send_group)) {
    const Fifo& fifo = fifos_[worker.first_fifo + peer];
    if (fifo.sent - fifo.consumed >= credits_) return false;
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
  if (cost_.slice.value > 0) {
    fabric_.start_timer(cost_.slice, serial_tag(wakeup.worker));
  } else {
    move_bytes(wakeup.worker);
  }
}

void Executor::move_bytes(WorkerId id) {
  Worker& worker = workers_[id];
  const Primitive& primitive = worker.program[worker.primitive];
  const double bytes =
      cost_.wire_factor * static_cast<double>(slice_bytes(worker, primitive).count);
  if (timeline_ != nullptr) timeline_->records[worker.record].moving = fabric_.now();
  if (!sends(primitive.kind)) {
    if (cost_.store < unlimited && bytes > 0) {
      worker.flows = 1;
      fabric_.start_flow(worker.store_route, bytes, cost_.store, id);
    } else {
      complete(id);
    }
    return;
  }
  const BytesPerSecond rate = reduces(primitive.kind) ? cost_.reduce : cost_.copy;
  const auto group = peers(worker, primitive.send_group);
  worker.flows = static_cast<std::uint32_t>(group.size());
  transfers_ += group.size();
  for (const ConnectionId peer : group) {
    Fifo& fifo = fifos_[worker.first_fifo + peer];
    ++fifo.sent;
    fabric_.start_flow(fifo.route, bytes, rate, id);
  }
}

void Executor::complete(WorkerId id) {
  Worker& worker = workers_[id];
  const Primitive& primitive = worker.program[worker.primitive];
  if (timeline_ != nullptr) timeline_->records[worker.record].end = fabric_.now();
  for (const ConnectionId peer : peers(worker, primitive.receive_group)) {
    Fifo& fifo = fifos_[worker.first_fifo + peer];
    ++fifo.consumed;
    wake(fifo.sender, Cause::credit, worker.record);
  }
  for (const ConnectionId peer : peers(worker, primitive.send_group)) {
    const FifoId fifo = worker.first_fifo + peer;
    if (timeline_ != nullptr) on_the_way_[fifo].push_back(worker.record);
    if (fifos_[fifo].alpha.value > 0) {
      fabric_.start_timer(fifos_[fifo].alpha, arrival_tag(fifo));
    } else {
      arrive(fifo);
    }
  }
  advance(worker);
  if (worker.state == Worker::State::waiting) wake(id, Cause::program_order, worker.record);
}

void Executor::arrive(FifoId id) {
  Fifo& fifo = fifos_[id];
  ++fifo.arrived;
  RecordId sent_by = no_record;
  if (timeline_ != nullptr) {
    sent_by = on_the_way_[id].front();
    on_the_way_[id].pop_front();
  }
  wake(fifo.receiver, Cause::message, sent_by);
}

void Executor::advance(Worker& worker) {
  worker.state = Worker::State::waiting;
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
