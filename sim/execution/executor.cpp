#include "sim/execution/executor.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <span>
#include <stdexcept>
#include <vector>

#include "sim/execution/call_layout.h"
#include "sim/execution/event_tags.h"
#include "sim/execution/hang.h"
#include "sim/execution/link_contention.h"
#include "sim/execution/machine_changes.h"
#include "sim/execution/proxies.h"
#include "sim/execution/steady_state.h"
#include "sim/execution/symmetry.h"
#include "sim/execution/thread_block_cost.h"
#include "sim/execution/worker.h"

namespace collsim {

namespace {

struct Wakeup {
  WorkerId worker;
  Cause cause;
  RecordId caused_by;
};

/// A worker that begins to send to the peers of its primitive.
struct Sending {
  WorkerId worker;
  double bytes;
  BytesPerSecond rate;
};

class Executor final : public RunningCall {
 public:
  Executor(const Execution& execution, Fabric& fabric, Timeline* timeline,
           LinkDemands* shared = nullptr)
      : execution_(execution),
        costs_(thread_block_costs(execution.cost, execution.protocol)),
        cost_(costs_[static_cast<std::size_t>(LinkKind::nvlink)]),
        startup_(execution.startup()),
        fabric_(fabric),
        timeline_(timeline),
        slices_(execution.partition.chunking().slices),
        call_(put_on(fabric)),
        proxies_(execution.cost.proxy, cost_.wire_factor, fabric, call_.proxies),
        contention_(execution.wiring, call_, shared),
        changes_(execution, costs_, call_, fabric, proxies_),
        steady_state_(execution, call_) {
    if (keeps_messages()) on_the_way_.resize(call_.fifos.size());
  }

  void begin(Seconds after) override;
  ExecutionResult result() override;

  void on_flow_done(EventTag tag) override {
    const std::uint32_t id = id_of_flow(tag);
    switch (kind_of_flow(tag)) {
      case FlowKind::worker:
        if (--call_.workers[id].flows == 0) end_flows(id);
        break;
      case FlowKind::dispatch: {
        const Message message = proxies_.dispatch(*call_.fifos[id].proxy);
        wake(call_.fifos[id].sender, Cause::credit, message.record);
        break;
      }
      case FlowKind::message:
        if (proxies_.end_part(*call_.fifos[id].proxy)) leave_proxy(id);
        break;
      case FlowKind::receipt:
        arrive(id, proxies_.take(*call_.fifos[id].proxy));
        break;
    }
    work_off_wakeups();
  }

  void on_timer(EventTag tag) override {
    const std::uint32_t id = id_of_timer(tag);
    switch (kind_of_timer(tag)) {
      case TimerKind::before:
        move_bytes(id);
        break;
      case TimerKind::after:
        end_piece(id);
        break;
      case TimerKind::arrival:
        arrive(id);
        break;
      case TimerKind::launch:
        launch(id);
        break;
      case TimerKind::change:
        changes_.apply(id);
        break;
      case TimerKind::joined:
        send_joined();
        break;
      case TimerKind::room:
        proxies_.free_slot(*call_.fifos[id].proxy);
        break;
    }
    work_off_wakeups();
  }

 private:
  /// Else a message is no more than that one came.
  bool keeps_messages() const {
    return timeline_ != nullptr || cost_.flags_lines() || !call_.proxies.empty();
  }
  /// How long nothing but messages has kept the worker from beginning.
  Seconds ready(const Worker& worker) const {
    return {fabric_.now().value - worker.ready_since.value};
  }
  bool messages_are_there(const Worker& worker) const;
  bool credits_are_there(const Worker& worker) const;
  void try_begin(const Wakeup& wakeup);
  void record_begin(Worker& worker, const Wakeup& wakeup);
  void prepare(WorkerId id, Seconds serial);
  void end_flows(WorkerId id);
  void move_bytes(WorkerId id);
  double contention_slowdown(const Worker& worker) const;
  void send_bytes(WorkerId id, double bytes, BytesPerSecond rate);
  void join_links(const Sending& sending);
  void send_joined();
  void start_flows(const Sending& sending);
  void store_bytes(WorkerId id, double bytes, BytesPerSecond rate);
  void count_transfers(std::size_t count);
  void complete(WorkerId id);
  void end_piece(WorkerId id);
  void hand_over(FifoId id, const Message& message);
  void leave_proxy(FifoId id);
  void send_off(FifoId id, const Message& message);
  void arrive(FifoId id);
  void reach(FifoId id, const Message& message);
  void arrive(FifoId id, const Message& message);
  void end_call(Rank rank);
  void launch(Rank rank);

  /// Only who waits can be woken; who does not looks around by itself when its work is done.
  void wake(WorkerId worker, Cause cause, RecordId caused_by) {
    if (call_.workers[worker].state != Worker::State::waiting) return;
    wakeups_.push_back({worker, cause, caused_by});
  }
  void work_off_wakeups() {
    // Grows while it is walked: what begins now may complete, and wake others, at once.
    for (std::size_t i = 0; i < wakeups_.size(); ++i) try_begin(Wakeup(wakeups_[i]));
    wakeups_.clear();
  }
  [[noreturn]] void fail() const;

  CallLayout put_on(Fabric& fabric);

  const Execution& execution_;
  const ThreadBlockCosts costs_;
  const ProtocolConstants& cost_;
  const Seconds startup_;  // of each call
  Fabric& fabric_;
  Timeline* timeline_;
  const std::uint32_t slices_;  // of a chunk
  CallLayout call_;
  Proxies proxies_;
  LinkContention contention_;
  MachineChanges changes_;
  SteadyState steady_state_;
  std::vector<std::deque<Message>> on_the_way_;  // by fifo; only where keeps_messages()
  std::vector<Wakeup> wakeups_;
  std::vector<Sending> joined_;  // at this instant
  Seconds begun_;                // when the first rank could begin
  Seconds over_;                 // when the last rank ended
  Seconds sum_of_ends_;          // over ranks
  std::size_t finished_ = 0;
  std::uint64_t transfers_ = 0;
};

/// Equals are folded where that can be, and where they need not be seen one by one.
CallLayout Executor::put_on(Fabric& fabric) {
  FabricDraft draft;
  CallLayout layout = lay_out(execution_, costs_, draft);
  if (timeline_ == nullptr && fabric.folds()) {
    if (const auto symmetry = symmetry_of(execution_, layout, draft)) {
      return collsim::fold(layout, *symmetry, draft, fabric);
    }
  }
  draft.put_on(fabric);
  return layout;
}

/// Launches each rank's first call, later where the rank is late.
void Executor::begin(Seconds after) {
  begun_ = after;
  if (call_.workers.empty()) return;
  changes_.begin();
  for (Rank rank = 0; rank < call_.launches.size(); ++rank) {
    const Seconds late =
        after + (execution_.events == nullptr ? Seconds{} : execution_.events->late_by(rank));
    if (late.value > 0) {
      fabric_.start_timer(late, timer_tag(rank, TimerKind::launch));
    } else {
      launch(rank);
    }
  }
  work_off_wakeups();
}

ExecutionResult Executor::result() {
  if (call_.workers.empty()) {
    const Seconds time = std::max(startup_, execution_.issue());
    return {time, time, 0, false, execution_.plan.ranks()};
  }
  if (finished_ != call_.workers.size()) fail();
  const Seconds correction = steady_state_.settle();
  over_ += correction - begun_;
  sum_of_ends_ += execution_.plan.ranks() * (correction - begun_);
  const auto per_call = [&](Seconds end) {
    return std::max((1.0 / execution_.calls) * (startup_ + end), execution_.issue());
  };
  // Of one call, the next one's launch would wait for the last rank too.
  const Seconds mean = (1.0 / execution_.plan.ranks()) * sum_of_ends_;
  return {per_call(over_), per_call(execution_.calls == 1 ? over_ : mean), transfers_,
          steady_state_.skipped_any(), call_.rank_classes};
}

void Executor::fail() const {
  if (execution_.events != nullptr && !execution_.events->empty()) {
    throw hang_of(call_);
  }
  throw std::logic_error(fmt::format("{} of {} programs never ended: the plan deadlocks",
                                     call_.workers.size() - finished_, call_.workers.size()));
}

bool Executor::messages_are_there(const Worker& worker) const {
  // Flags are in the data: of an empty message a thread block sees nothing to wait for.
  const std::int64_t needed = call_.units_awaited(worker);
  for (const FifoId fifo : call_.fifos_of(worker, worker.current().receive_group)) {
    if (call_.fifos[fifo].pending < needed) return false;
  }
  return true;
}

bool Executor::credits_are_there(const Worker& worker) const {
  if (worker.piece > 0) return true;  // the slice has its slot
  for (const FifoId id : call_.fifos_of(worker, worker.current().send_group)) {
    const Fifo& fifo = call_.fifos[id];
    const bool has_slot = fifo.proxy ? proxies_.has_slot(*fifo.proxy, fifo.sent_slices)
                                     : fifo.sent_slices < fifo.freed_slices + fifo.credits;
    if (!has_slot) return false;
  }
  return true;
}

void Executor::try_begin(const Wakeup& wakeup) {
  Worker& worker = call_.workers[wakeup.worker];
  if (worker.state != Worker::State::waiting) return;
  if (worker.ready_since == Worker::never) {  // else it has had its credits since then
    if (!credits_are_there(worker)) return;
    worker.ready_since = fabric_.now();
  }
  if (!messages_are_there(worker)) return;
  worker.state = Worker::State::busy;
  if (timeline_ != nullptr) record_begin(worker, wakeup);
  if (worker.piece == 0) {
    for (const FifoId fifo : call_.fifos_of(worker, worker.current().send_group)) {
      ++call_.fifos[fifo].sent_slices;
    }
  }
  const Seconds serial = cost_before(worker);
  if (serial.value > 0) {
    prepare(wakeup.worker, serial);
  } else {
    move_bytes(wakeup.worker);
  }
}

/// What slices cost the lanes of a tree before their data move adds up, as all that they do
/// (recordings/h200x2/two-ranks-buffers.yaml, Tree/Simple with buffers of 1 and 16 MiB;
/// h200x4/four-ranks.yaml, Tree/LL128 on 4 to 16 channels: a chunk costs the middle ranks 2.2 us
/// besides its rounds, both of two ranks 1.2).
void Executor::prepare(WorkerId id, Seconds serial) {
  Worker& worker = call_.workers[id];
  if (!worker.setting.serializes) {
    fabric_.start_timer(serial, timer_tag(id, TimerKind::before));
    return;
  }
  worker.state = Worker::State::preparing;
  worker.flows = 1;
  const BytesPerSecond rate = worker.setting.speed * worker.shared;
  fabric_.start_flow(worker.store_route, rate.value * serial.value, flow_rate(worker.cost(), rate),
                     flow_tag(id, FlowKind::worker));
}

void Executor::end_flows(WorkerId id) {
  Worker& worker = call_.workers[id];
  if (worker.state == Worker::State::preparing) {
    worker.state = Worker::State::busy;
    move_bytes(id);
  } else {
    complete(id);
  }
}

void Executor::record_begin(Worker& worker, const Wakeup& wakeup) {
  worker.record = static_cast<RecordId>(timeline_->records.size());
  TimelineRecord record = record_of(worker);
  record.begin = fabric_.now();
  record.cause = wakeup.cause;
  record.caused_by = wakeup.caused_by;
  timeline_->records.push_back(record);
}

void Executor::move_bytes(WorkerId id) {
  Worker& worker = call_.workers[id];
  const double bytes = cost_.wire_factor * static_cast<double>(worker.bytes_of_piece());
  const BytesPerSecond rate = rate_of(worker, bytes, ready(worker));
  if (timeline_ != nullptr) timeline_->records[worker.record].moving = fabric_.now();
  if (sends(worker.current().kind)) {
    send_bytes(id, bytes, rate);
  } else {
    const double load = worker.shared < unlimited ? load_of_block(worker) : 1;
    store_bytes(id, contention_slowdown(worker) * load * bytes, load * rate);
  }
}

/// How many times as long the worker takes since the other lane of its thread block writes to a
/// link that has more to carry than it can: the multiprocessor's accesses to memory go one after
/// the other, and wait behind those writes. Of as many bytes a channel, trees of two with LL take
/// 3 % longer on 17 channels than on 16, on which leaves and roots just fill a link, 10 on 20, 17
/// on 24 (recordings/h200x2/tree-buffers.yaml, 4 MiB).
double Executor::contention_slowdown(const Worker& worker) const {
  return worker.setting.serializes ? contention_.overfill(call_.workers[worker.other_lane]) : 1;
}

void Executor::send_bytes(WorkerId id, double bytes, BytesPerSecond rate) {
  Worker& worker = call_.workers[id];
  const Sending sending{id, bytes, rate};
  if (worker.contends && rate < unlimited) {
    join_links(sending);
  } else {
    start_flows(sending);
  }
}

/// Where everybody sends to everybody, dozens begin at one instant on each link. None of them comes
/// first: each gets its share of what all of them make of the link.
void Executor::join_links(const Sending& sending) {
  Worker& worker = call_.workers[sending.worker];
  contention_.join(worker, sending.rate);
  if (!execution_.plan.channels_divide_chunks) {
    start_flows(sending);
    return;
  }
  if (joined_.empty()) fabric_.start_timer({}, timer_tag(0, TimerKind::joined));
  joined_.push_back(sending);
}

void Executor::send_joined() {
  for (const Sending& sending : joined_) start_flows(sending);
  joined_.clear();
}

void Executor::start_flows(const Sending& sending) {
  const auto& [id, bytes, rate] = sending;
  Worker& worker = call_.workers[id];
  const double load = worker.demand > 0 ? 1 / contention_.share(worker) : 1;
  const PeerGroupId group = worker.current().send_group;
  const auto fifos = call_.fifos_of(worker, group);
  worker.flows = static_cast<std::uint32_t>(fifos.size());
  count_transfers(worker.copies * worker.peers(group).size());
  const double longer = worker.is_agent ? 1 : jitter_factor(worker, execution_.cost.jitter);
  for (const FifoId id_of_fifo : fifos) {
    const Fifo& fifo = call_.fifos[id_of_fifo];
    // A proxy's buffer that nothing limits takes all at once.
    const bool at_once = bytes == 0 || (fifo.route_is_free && !(rate < unlimited));
    const FlowRate even = flow_rate(worker.cost(), at_once ? unlimited : rate);
    fabric_.start_flow(fifo.route, at_once ? 0 : load * bytes,
                       {(1 / worker.share) * even.cap, worker.share * even.weight / longer},
                       flow_tag(id, FlowKind::worker));
  }
}

void Executor::count_transfers(std::size_t count) {
  constexpr std::uint64_t pause = 1 << 14;
  const std::uint64_t before = transfers_;
  transfers_ += count;
  if (execution_.watch != nullptr && before / pause != transfers_ / pause) {
    (*execution_.watch)(transfers_);
  }
}

/// Bytes are what the thread block's lanes share.
void Executor::store_bytes(WorkerId id, double bytes, BytesPerSecond rate) {
  Worker& worker = call_.workers[id];
  if (rate < unlimited && bytes > 0) {
    worker.flows = 1;
    fabric_.start_flow(worker.store_route, bytes, flow_rate(worker.cost(), rate),
                       flow_tag(id, FlowKind::worker));
  } else {
    complete(id);
  }
}

/// The bytes of a piece have moved.
void Executor::complete(WorkerId id) {
  Worker& worker = call_.workers[id];
  if (timeline_ != nullptr) timeline_->records[worker.record].end = fabric_.now();
  const Message message{worker.bytes_of_piece(), worker.ends_slice(), worker.record};
  if (worker.demand > 0) {
    contention_.leave(worker);
    worker.demand = 0;
  }
  for (const FifoId fifo : call_.fifos_of(worker, worker.current().send_group)) {
    hand_over(fifo, message);
  }
  const Seconds serial = cost_after(worker);
  if (serial.value > 0) {
    fabric_.start_timer(serial, timer_tag(id, TimerKind::after));
  } else {
    end_piece(id);
  }
}

/// The worker has done all about a piece: what it took makes room, and the program goes on.
void Executor::end_piece(WorkerId id) {
  Worker& worker = call_.workers[id];
  const std::int64_t taken = call_.units_awaited(worker);
  if (timeline_ != nullptr) timeline_->records[worker.record].over = fabric_.now();
  for (const FifoId received : call_.fifos_of(worker, worker.current().receive_group)) {
    Fifo& fifo = call_.fifos[received];
    fifo.pending -= taken;
    if (!worker.ends_slice()) continue;
    ++fifo.freed_slices;
    if (fifo.room.value > 0) {
      fabric_.start_timer(fifo.room, timer_tag(received, TimerKind::room));
    } else if (fifo.proxy) {
      proxies_.free_slot(*fifo.proxy);
    } else {
      wake(fifo.sender, Cause::credit, worker.record);
    }
  }
  worker.ready_since = Worker::never;
  const std::uint32_t primitive = worker.primitive;
  const bool ends_primitive = worker.ends_slice() && worker.slice + 1 == slices_;
  const bool over = advance(worker, execution_.partition);
  worker.state = over ? Worker::State::finished : Worker::State::waiting;
  if (ends_primitive) steady_state_.end_primitive(call_, id, primitive, fabric_.now());
  if (over && --call_.launches[worker.rank].running == 0) end_call(worker.rank);
  if (worker.state == Worker::State::waiting) wake(id, Cause::program_order, worker.record);
}

/// A piece has left the thread block: towards the peer, or into the proxy's buffer, from where
/// whole slices go on.
void Executor::hand_over(FifoId id, const Message& message) {
  Fifo& fifo = call_.fifos[id];
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
  const Message message = proxies_.leave(*call_.fifos[id].proxy);
  if (!proxies_.has_sockets()) wake(call_.fifos[id].sender, Cause::credit, message.record);
  send_off(id, message);
}

void Executor::send_off(FifoId id, const Message& message) {
  const Seconds delay = changes_.delay_of_next(id);
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
  const auto proxy = call_.fifos[id].proxy;
  if (!proxy || proxies_.reach(*proxy, message)) arrive(id, message);
}

void Executor::arrive(FifoId id, const Message& message) {
  Fifo& fifo = call_.fifos[id];
  fifo.pending += call_.units(message.bytes);
  wake(fifo.receiver, Cause::message, message.record);
}

void Executor::end_call(Rank rank) {
  Launch& launch = call_.launches[rank];
  if (++launch.calls == execution_.calls) {
    finished_ += launch.workers.size();
    if (rank < execution_.plan.ranks()) {
      over_ = fabric_.now() + steady_state_.skipped();  // the machine may change later
      sum_of_ends_ += over_;
    }
  } else if (startup_.value > 0 && rank < execution_.plan.ranks()) {
    fabric_.start_timer(startup_, timer_tag(rank, TimerKind::launch));
  } else {
    this->launch(rank);
  }
}

/// The rank's next call begins.
void Executor::launch(Rank rank) {
  Launch& launch = call_.launches[rank];
  launch.running = launch.workers.size();
  for (const WorkerId worker : launch.workers) {
    call_.workers[worker].state = Worker::State::waiting;
    wake(worker, Cause::begin, no_record);
  }
}

}  // namespace

ExecutionResult execute(const Execution& execution, Fabric& fabric, Timeline* timeline) {
  Executor call(execution, fabric, timeline);
  call.begin({});
  fabric.run(call);
  return call.result();
}

std::unique_ptr<RunningCall> lay_beside_others(const Execution& execution, Fabric& fabric,
                                               LinkDemands& links) {
  return std::make_unique<Executor>(execution, fabric, nullptr, &links);
}

}  // namespace collsim
