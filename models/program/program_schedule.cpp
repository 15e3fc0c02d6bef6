#include "models/program/program_schedule.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <queue>
#include <tuple>
#include <utility>

#include "models/program/call_meetings.h"
#include "models/program/program_hang.h"

namespace collsim {

std::size_t ProgramSchedule::last_group() const {
  std::size_t last = 0;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (groups[i].end > groups[last].end) last = i;
  }
  return last;
}

namespace {

/// What is left of an item when rounding is all that keeps it from being done.
constexpr double rounding = 1e-12;

/// Something that takes time: the kernels of an op, or a call in flight.
struct FlowingItem {
  enum class Phase : std::uint8_t { latency, work, done };
  Phase phase = Phase::work;
  bool is_call = false;
  bool is_collective = false;
  double left = 0;  ///< seconds of it alone, of this phase
  double work = 0;  ///< of a call, after its latency
  double rate = 0;
  double in_node = 1;  ///< of a call inside a node: its rate beside others there
  double updated = 0;
  std::uint32_t version = 0;
  CallCost cost{};
  /// Of kernels with calls between them: the share of the time that is each communicator's.
  std::vector<std::pair<std::uint32_t, double>> inner_shares{};
  double kernel_share = 1;  ///< and what is left
  std::uint32_t communicator = 0;
  std::uint32_t measured_channels = 0;  ///< of a call
  std::uint64_t order = 0;              ///< in which items began
  std::vector<RunningOp> ops{};         ///< whose part it is
  std::vector<std::uint32_t> groups;    ///< whose GPUs it uses
};

struct TimedEvent {
  double time = 0;
  std::uint64_t order = 0;
  enum class Kind : std::uint8_t { issued, begins, changes } kind = Kind::issued;
  std::uint32_t index = 0;   ///< of an item; of an op for `issued`
  std::uint32_t detail = 0;  ///< the item's version; the group for `issued`

  bool operator>(const TimedEvent& other) const {
    return std::tie(time, order) > std::tie(other.time, other.order);
  }
};

/// A group while it runs.
struct RunningGroup {
  std::vector<std::uint32_t> missing{};  ///< by op: what it still waits for
  std::vector<std::vector<std::uint32_t>> followers{};
  std::vector<std::uint32_t> parts{};  ///< by op: calls that have not ended
  std::vector<std::uint32_t> items{};  ///< active ones, in the order in which they began
  std::vector<double> exposed{};       ///< seconds, by communicator
  double counted = 0;                  ///< until when times are accounted for
  std::size_t open = 0;                ///< ops that have not ended
  std::uint32_t to_issue = 0;          ///< the op that the host issues next
  double host = 0;                     ///< when the host has issued the one before
  std::vector<bool> ended{};           ///< by op
};

class ProgramRun {
 public:
  ProgramRun(const CallProgram& program, CallCosts& costs, const GpuSharing& sharing)
      : program_(program),
        machine_(costs),
        costs_(program, costs),
        sharing_(sharing),
        meetings_(program) {}

  ProgramSchedule run();

 private:
  void prepare(std::uint32_t group);
  void issue(std::uint32_t group);
  void begin_op(RunningOp at);
  void begin_kernels(RunningOp at, const ProgramOp& op);
  void meet(const MeetingCall& met);
  void begin_call(std::uint32_t item);
  void advance(std::uint32_t item);
  void end_item(std::uint32_t item);
  void end_part(RunningOp at);
  void count_time(std::uint32_t group);
  void settle(std::uint32_t index);
  void refresh(const std::vector<std::uint32_t>& groups);
  double slowdown_beside(std::uint32_t taken) const;
  double measured_rate(const FlowingItem& item) const;
  double rate_of(const FlowingItem& item) const;
  void rate_in_node(std::vector<std::uint32_t>& touched);
  double kernel_end(std::uint32_t group) const;
  Seconds added_by(const ProgramCall& call);
  void push(TimedEvent::Kind kind, double time, std::uint32_t index, std::uint32_t detail);
  std::optional<WaitingCall> waiting_call(std::uint32_t group) const;
  const ProgramOp& op_of(RunningOp at) const { return program_.groups[at.group].ops[at.op]; }

  const CallProgram& program_;
  CallCosts& machine_;
  ProgramCosts costs_;
  const GpuSharing& sharing_;
  ProgramSchedule schedule_;
  std::vector<RunningGroup> groups_;
  std::vector<FlowingItem> items_;
  std::vector<std::uint32_t> in_node_;  // calls inside nodes that move
  std::priority_queue<TimedEvent, std::vector<TimedEvent>, std::greater<>> events_;
  std::uint64_t order_ = 0;
  double now_ = 0;
  std::size_t running_ = 0;
  CallMeetings meetings_;
};

void ProgramRun::push(TimedEvent::Kind kind, double time, std::uint32_t index,
                      std::uint32_t detail) {
  events_.push({time, order_++, kind, index, detail});
}

void ProgramRun::prepare(std::uint32_t group) {
  const RankGroup& ranks = program_.groups[group];
  RunningGroup& running = groups_[group];
  running.missing.assign(ranks.ops.size(), 1);  // its issue
  running.followers.resize(ranks.ops.size());
  running.parts.assign(ranks.ops.size(), 0);
  running.open = ranks.ops.size();
  running.ended.assign(ranks.ops.size(), false);
  running.exposed.assign(program_.communicators.size(), 0);
  schedule_.groups[group].ops.resize(ranks.ops.size());
  std::vector<std::optional<std::uint32_t>> last(ranks.streams.size());
  for (std::uint32_t i = 0; i < ranks.ops.size(); ++i) {
    const ProgramOp& op = ranks.ops[i];
    const auto wait_for = [&](std::uint32_t before) {
      running.followers[before].push_back(i);
      ++running.missing[i];
    };
    if (last[op.stream]) wait_for(*last[op.stream]);
    for (const std::uint32_t before : op.after) wait_for(before);
    last[op.stream] = i;
  }
  issue(group);
}

/// The host issues what it can: up to an op before which it waits for another that has not ended.
void ProgramRun::issue(std::uint32_t group) {
  const std::vector<ProgramOp>& ops = program_.groups[group].ops;
  RunningGroup& running = groups_[group];
  for (; running.to_issue < ops.size(); ++running.to_issue) {
    const ProgramOp& op = ops[running.to_issue];
    for (const std::uint32_t before : op.host_after) {
      if (!running.ended[before]) return;
      running.host = std::max(running.host, schedule_.groups[group].ops[before].end.value);
    }
    running.host += op.host.value;
    push(TimedEvent::Kind::issued, running.host, running.to_issue, group);
  }
}

void ProgramRun::begin_op(RunningOp at) {
  const ProgramOp& op = op_of(at);
  OpTime& time = schedule_.groups[at.group].ops[at.op];
  time.begin = time.moves = Seconds{now_};
  if (op.computes()) {
    begin_kernels(at, op);
    return;
  }
  time.moves = Seconds{std::numeric_limits<double>::infinity()};
  groups_[at.group].parts[at.op] = static_cast<std::uint32_t>(op.calls.size());
  for (const ProgramCall& call : op.calls) {
    if (const auto met = meetings_.arrive(at, call)) meet(*met);
  }
}

/// What a call between kernels adds to their time. Beside some of them both are slower, and whoever
/// is left goes on alone.
Seconds ProgramRun::added_by(const ProgramCall& call) {
  const CallCost& cost = costs_.of(call);
  if (call.beside.value <= 0) return cost.alone;
  const double of_kernels = slowdown_beside(cost.channels);
  const double of_call = sharing_.calls_beside_kernels;
  const Seconds together = std::min(of_kernels * call.beside, of_call * cost.alone);
  const Seconds call_left = cost.alone - (1 / of_call) * together;
  const Seconds kernels_left = call.beside - (1 / of_kernels) * together;
  return together + call_left + kernels_left - call.beside;
}

void ProgramRun::begin_kernels(RunningOp at, const ProgramOp& op) {
  groups_[at.group].parts[at.op] = 1;
  FlowingItem item;
  item.left = op.compute.value;
  for (const ProgramCall& call : op.inner) {
    const double time = call.count * added_by(call).value;
    item.inner_shares.emplace_back(call.communicator, time);
    item.left += time;
  }
  for (auto& [communicator, share] : item.inner_shares) {
    share = item.left > 0 ? share / item.left : 0;
    item.kernel_share -= share;
  }
  item.updated = now_;
  item.order = order_;
  item.ops = {at};
  item.groups = {at.group};
  items_.push_back(std::move(item));
  const auto index = static_cast<std::uint32_t>(items_.size() - 1);
  count_time(at.group);
  groups_[at.group].items.push_back(index);
  refresh({at.group});
}

/// When the kernel that runs now on a group ends, at its present rate; now if none runs.
double ProgramRun::kernel_end(std::uint32_t group) const {
  double end = now_;
  for (const std::uint32_t index : groups_[group].items) {
    const FlowingItem& item = items_[index];
    if (item.is_call || item.rate <= 0) continue;
    const ProgramOp& op = op_of(item.ops.front());
    const double left = item.left - (now_ - item.updated) * item.rate;
    const double kernel = op.compute.value / op.kernels;
    if (kernel <= 0 || left <= 0) continue;
    const double into = left - kernel * std::floor(left / kernel * (1 - rounding));
    // A call that comes as a kernel begins comes after it.
    end = std::max(end, now_ + into / item.rate);
  }
  return end;
}

void ProgramRun::meet(const MeetingCall& met) {
  FlowingItem item;
  item.is_call = true;
  item.is_collective = !is_message(met.call.kind);
  item.cost = costs_.of(met.call);
  item.communicator = met.call.communicator;
  item.measured_channels = met.call.channels;
  item.ops = met.arrived;
  for (const RunningOp& at : met.arrived) item.groups.push_back(at.group);
  double begin = now_;
  if (sharing_.calls_wait_for_kernels) {
    for (const std::uint32_t group : item.groups) begin = std::max(begin, kernel_end(group));
  }
  items_.push_back(std::move(item));
  push(TimedEvent::Kind::begins, begin, static_cast<std::uint32_t>(items_.size() - 1), 0);
}

void ProgramRun::begin_call(std::uint32_t index) {
  FlowingItem& item = items_[index];
  item.phase = FlowingItem::Phase::latency;
  item.left = item.cost.latency.value;
  item.work = (item.cost.alone - item.cost.latency).value;
  item.updated = now_;
  item.order = order_;
  for (const RunningOp& at : item.ops) {
    OpTime& time = schedule_.groups[at.group].ops[at.op];
    time.moves = std::min(time.moves, Seconds{now_});
  }
  std::vector<std::uint32_t> touched = item.groups;
  for (const std::uint32_t group : touched) {
    count_time(group);
    groups_[group].items.push_back(index);
  }
  if (item.cost.in_node) {
    in_node_.push_back(index);
    rate_in_node(touched);
  }
  refresh(touched);
}

/// Brings what is left of an item up to now.
void ProgramRun::settle(std::uint32_t index) {
  FlowingItem& item = items_[index];
  item.left = std::max(0.0, item.left - (now_ - item.updated) * item.rate);
  item.updated = now_;
}

/// How much longer kernels take beside calls that keep so many multiprocessors.
double ProgramRun::slowdown_beside(std::uint32_t taken) const {
  const double all = sharing_.multiprocessors;
  if (taken == 0 || all <= 0) return 1;
  return std::max(sharing_.kernels_beside_calls, all / std::max(0.5, all - taken));
}

/// Of kernels whose times were measured beside the calls, with the channels that these had.
double ProgramRun::measured_rate(const FlowingItem& item) const {
  std::uint32_t taken = 0;
  std::uint32_t had = 0;
  for (const std::uint32_t other : groups_[item.groups.front()].items) {
    const FlowingItem& beside = items_[other];
    if (!beside.is_call || beside.measured_channels == 0) continue;
    taken += beside.cost.channels;
    had += beside.measured_channels;
  }
  return slowdown_beside(had) / slowdown_beside(taken);
}

double ProgramRun::rate_of(const FlowingItem& item) const {
  if (item.is_call && item.phase == FlowingItem::Phase::latency) return item.in_node;
  if (!item.is_call && program_.measured) return measured_rate(item);
  double worst = 1;
  for (const std::uint32_t group : item.groups) {
    double network = 0;
    std::uint32_t taken = 0;
    std::uint32_t kernels = 0;
    for (const std::uint32_t other : groups_[group].items) {
      const FlowingItem& beside = items_[other];
      kernels += beside.is_call ? 0 : 1;
      taken += beside.cost.channels;
      if (!beside.is_call || beside.phase != FlowingItem::Phase::work) continue;
      network += beside.cost.network;
    }
    if (item.is_call) {
      double slower = item.cost.in_node ? 1 : std::max(1.0, network);
      if (kernels > 0) slower *= sharing_.calls_beside_kernels;
      worst = std::max(worst, slower);
    } else {
      worst = std::max(worst, kernels * slowdown_beside(taken));
    }
  }
  return item.in_node / worst;
}

/// Calls inside nodes move at other rates when one of them begins or ends; the groups of those that
/// do are added.
void ProgramRun::rate_in_node(std::vector<std::uint32_t>& touched) {
  std::vector<std::uint32_t> numbers;
  for (const std::uint32_t index : in_node_) numbers.push_back(*items_[index].cost.in_node);
  const std::vector<double> rates = machine_.rates_in_node(numbers);
  for (std::size_t i = 0; i < rates.size(); ++i) {
    FlowingItem& item = items_[in_node_[i]];
    if (item.in_node == rates[i]) continue;
    item.in_node = rates[i];
    touched.insert(touched.end(), item.groups.begin(), item.groups.end());
  }
}

void ProgramRun::refresh(const std::vector<std::uint32_t>& groups) {
  for (const std::uint32_t group : groups) {
    for (const std::uint32_t index : groups_[group].items) {
      settle(index);
      FlowingItem& item = items_[index];
      item.rate = rate_of(item);
      push(TimedEvent::Kind::changes, now_ + item.left / item.rate, index, ++item.version);
    }
  }
}

/// What happens at the end of a phase of an item.
void ProgramRun::advance(std::uint32_t index) {
  settle(index);
  FlowingItem& item = items_[index];
  if (item.is_call && item.phase == FlowingItem::Phase::latency && item.work > 0) {
    item.phase = FlowingItem::Phase::work;
    item.left = item.work;
    refresh(std::vector<std::uint32_t>(item.groups));
    return;
  }
  end_item(index);
}

void ProgramRun::end_item(std::uint32_t index) {
  items_[index].phase = FlowingItem::Phase::done;
  ++items_[index].version;
  std::vector<std::uint32_t> touched = items_[index].groups;
  for (const std::uint32_t group : touched) {
    count_time(group);
    auto& active = groups_[group].items;
    active.erase(std::find(active.begin(), active.end(), index));
  }
  if (items_[index].cost.in_node) {
    in_node_.erase(std::find(in_node_.begin(), in_node_.end(), index));
    rate_in_node(touched);
  }
  refresh(touched);
  if (items_[index].is_collective) {
    for (const MeetingCall& met : meetings_.leave(items_[index].communicator)) meet(met);
  }
  const std::vector<RunningOp> ops = std::move(items_[index].ops);
  for (const RunningOp& at : ops) end_part(at);
}

void ProgramRun::end_part(RunningOp at) {
  RunningGroup& running = groups_[at.group];
  if (--running.parts[at.op] > 0) return;
  schedule_.groups[at.group].ops[at.op].end = Seconds{now_};
  schedule_.groups[at.group].end = Seconds{now_};
  running.ended[at.op] = true;
  --running.open;
  --running_;
  issue(at.group);
  for (const std::uint32_t next : running.followers[at.op]) {
    if (--running.missing[next] == 0) begin_op({at.group, next});
  }
}

/// Adds the time since it last did so to what the group was doing.
void ProgramRun::count_time(std::uint32_t group) {
  RunningGroup& running = groups_[group];
  GroupSchedule& times = schedule_.groups[group];
  const Seconds span{now_ - running.counted};
  running.counted = now_;
  if (span.value <= 0) return;
  const FlowingItem* first_call = nullptr;
  for (const std::uint32_t index : running.items) {
    const FlowingItem& item = items_[index];
    if (item.is_call) {
      if (first_call == nullptr) first_call = &item;
      continue;
    }
    times.computes += item.kernel_share * span;
    for (const auto& [communicator, share] : item.inner_shares) {
      running.exposed[communicator] += share * span.value;
    }
    return;
  }
  if (first_call == nullptr) {
    times.waits += span;
  } else {
    running.exposed[first_call->communicator] += span.value;
  }
}

/// The first call of an op of the group that others have not come to, or nothing.
std::optional<WaitingCall> ProgramRun::waiting_call(std::uint32_t group) const {
  const RankGroup& ranks = program_.groups[group];
  for (std::uint32_t i = 0; i < ranks.ops.size(); ++i) {
    const ProgramOp& op = ranks.ops[i];
    if (groups_[group].missing[i] != 0 || groups_[group].parts[i] == 0) continue;
    for (const ProgramCall& call : op.calls) {
      auto others = meetings_.waited_for(group, call);
      if (!others.empty()) return WaitingCall{i, call, std::move(others)};
    }
  }
  return std::nullopt;
}

ProgramSchedule ProgramRun::run() {
  groups_.resize(program_.groups.size());
  schedule_.groups.resize(program_.groups.size());
  for (std::uint32_t group = 0; group < groups_.size(); ++group) {
    prepare(group);
    running_ += program_.groups[group].ops.size();
  }
  while (!events_.empty() && running_ > 0) {
    const TimedEvent event = events_.top();
    events_.pop();
    if (event.kind == TimedEvent::Kind::changes && items_[event.index].version != event.detail) {
      continue;
    }
    now_ = event.time;
    if (event.kind == TimedEvent::Kind::issued) {
      if (--groups_[event.detail].missing[event.index] == 0) {
        begin_op({event.detail, event.index});
      }
    } else if (event.kind == TimedEvent::Kind::begins) {
      begin_call(event.index);
    } else {
      advance(event.index);
    }
  }
  if (running_ > 0) {
    std::vector<std::optional<WaitingCall>> waiting;
    for (std::uint32_t i = 0; i < groups_.size(); ++i) waiting.push_back(waiting_call(i));
    report_hang(program_, waiting);
  }
  schedule_.time = Seconds{now_};
  for (std::uint32_t group = 0; group < groups_.size(); ++group) {
    count_time(group);
    for (std::uint32_t i = 0; i < program_.communicators.size(); ++i) {
      const double time = groups_[group].exposed[i];
      if (time <= 0) continue;
      schedule_.groups[group].exposed[program_.communicators[i].name] += Seconds{time};
    }
  }
  return std::move(schedule_);
}

}  // namespace

ProgramSchedule schedule_program(const CallProgram& program, CallCosts& costs,
                                 const GpuSharing& sharing) {
  return ProgramRun(program, costs, sharing).run();
}

}  // namespace collsim
