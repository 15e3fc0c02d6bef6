#include "tools/collsim/replay/trace_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "models/program/call_program_yaml.h"
#include "sim/base/input_error.h"
#include "tools/collsim/traces/trace_summary.h"

namespace collsim {

namespace {

/// Between kernels of a stream that are in its queue, GPUs leave 1 to 4 us (two H100,
/// PyTorch 2.11). What begins so soon after something else began because of it.
constexpr double queued_gap_us = 10;
/// What was launched no earlier than so long before the GPU could begin it waited for the host: a
/// launch needs 5 us or more to reach the GPU.
constexpr double launch_us = 5;
/// Clocks of a trace agree within this.
constexpr double same_time_us = 1;
/// No GPU holds more: what says so stays as traced.
constexpr double max_call_bytes = 0x1p40;
/// Jobs have some tens. Each piece of work may be held against each stream.
constexpr std::size_t max_streams = 1000;
/// The least that a barrier moves: an element.
constexpr std::int64_t barrier_bytes = 4;

/// The operation that a traced call is of, if it is one that programs have.
std::optional<ProgramCallKind> kind_of(std::string_view operation) {
  std::string word;
  for (const char letter : operation) {
    const bool is_upper = letter >= 'A' && letter <= 'Z';
    if (letter != '_') word += is_upper ? static_cast<char>(letter - 'A' + 'a') : letter;
  }
  const auto is_of = [&](std::string_view name) { return word.find(name) != std::string::npos; };
  if (is_of("allreduce") || word == "barrier") return ProgramCallKind::all_reduce;
  if (is_of("allgather")) return ProgramCallKind::all_gather;
  if (is_of("reducescatter")) return ProgramCallKind::reduce_scatter;
  if (is_of("alltoall")) return ProgramCallKind::all_to_all;
  if (word == "broadcast") return ProgramCallKind::broadcast;
  if (word == "reduce") return ProgramCallKind::reduce;
  return std::nullopt;
}

/// A trace and its part in the step.
struct RankPart {
  const RankTrace* trace = nullptr;
  std::vector<TracedWork> work{};  ///< of the step, by launch; calls numbered as in `calls`
  std::vector<TracedCall> calls{};
  double offset_us = 0;  ///< what to take from its times
};

std::size_t step_number(const std::vector<RankTrace>& traces, std::size_t step) {
  std::size_t steps = traces.front().steps.size();
  for (const RankTrace& trace : traces) steps = std::min(steps, trace.steps.size());
  if (step == of_last_step) return std::max<std::size_t>(steps, 1) - 1;
  if (step < std::max<std::size_t>(steps, 1)) return step;
  throw InputError(fmt::format("step {} of traces with {}", step, std::max<std::size_t>(steps, 1)),
                   steps > 1 ? fmt::format("0 to {}", steps - 1) : std::string("0"));
}

RankPart part_of(const RankTrace& trace, std::size_t step) {
  RankPart part;
  part.trace = &trace;
  std::map<std::int32_t, std::size_t> places;
  for (const TracedWork& work : trace.work) {
    if (step_of(trace, work) != step) continue;
    part.work.push_back(work);
    if (work.call >= 0) places[work.call] = 0;
  }
  if (part.work.empty()) {
    throw InputError(SourcePosition{trace.file, 0, 0},
                     fmt::format("no work on the GPU in step {}", step),
                     "traces with kernels (ProfilerActivity.CUDA)");
  }
  for (auto& [call, place] : places) {
    place = part.calls.size();
    part.calls.push_back(trace.calls[static_cast<std::size_t>(call)]);
  }
  for (TracedWork& work : part.work) {
    if (work.call >= 0) work.call = static_cast<std::int32_t>(places[work.call]);
  }
  return part;
}

/// The trace with what it has of the step.
RankTrace cut_trace(const RankPart& part) {
  RankTrace cut;
  cut.file = part.trace->file;
  cut.rank = part.trace->rank;
  cut.world_size = part.trace->world_size;
  cut.communicators = part.trace->communicators;
  cut.calls = part.calls;
  for (const TracedWork& work : part.work) {
    if (work.call < 0) cut.compute.push_back(work.span);
  }
  return cut;
}

std::uint32_t channels_of(const TracedCall& call) {
  return static_cast<std::uint32_t>(
      std::clamp<std::int64_t>(call.channels, 0, max_program_channels));
}

/// Makes the program of a step, rank by rank.
class TracedProgram {
 public:
  TracedProgram(const std::vector<RankPart>& parts, TracedStep& step)
      : parts_(parts), step_(step) {}

  void make();

 private:
  /// A communicator by its name and ranks: jobs may give several the same name.
  using CommunicatorKey = std::pair<std::string, std::vector<std::int64_t>>;

  void add_ranks();
  std::int64_t world_size() const;
  std::vector<std::int64_t> members_of(const TracedCall& call, const RankPart& part) const;
  std::uint32_t communicator_of(const TracedCall& call, std::uint32_t group);
  std::vector<ProgramCall> calls_of(const TracedCall& call, std::uint32_t group);
  std::vector<ProgramCall> messages_of(const TracedCall& call, std::uint32_t group);
  std::optional<std::uint32_t> group_of(std::int64_t rank) const;

  const std::vector<RankPart>& parts_;
  TracedStep& step_;
  std::int64_t world_ = 0;
  std::map<CommunicatorKey, std::uint32_t> communicators_;
  std::set<std::string> names_;

  friend class RankOps;
};

/// Makes the ops of one rank, in the order in which the host launched them.
class RankOps {
 public:
  RankOps(TracedProgram& whole, std::uint32_t group, double origin_us)
      : whole_(whole), part_(whole.parts_[group]), group_(group), origin_us_(origin_us) {}

  void make();

 private:
  double begin_of(std::size_t work) const { return at(part_.work[work].span.begin_us); }
  double end_of(std::size_t work) const { return at(part_.work[work].span.end_us); }
  double at(double trace_us) const { return trace_us - part_.offset_us - origin_us_; }
  std::uint32_t stream_of(const TracedWork& work);
  std::vector<std::uint32_t> told_to_wait_for(std::size_t work) const;
  std::optional<std::uint32_t> ended_just_before(std::size_t work) const;
  std::vector<std::uint32_t> host_waits(std::size_t work);
  void find_busy();
  void add(std::size_t work);

  TracedProgram& whole_;
  const RankPart& part_;
  std::uint32_t group_;
  double origin_us_;
  std::map<std::uint32_t, std::uint32_t> streams_{};            ///< by the trace's number
  std::map<std::uint32_t, std::vector<std::size_t>> issued_{};  ///< work, by the trace's stream
  std::optional<std::size_t> latest_{};                         ///< work that was issued last
  std::optional<std::size_t> latest_elsewhere_{};  ///< and last on another stream than that
  std::vector<double> busy_until_{};               ///< by work: the end of what began before it
  std::size_t next_wait_ = 0;                      ///< of the trace's waits of the host
  double issued_us_ = 0;                           ///< when the host issued the work before
};

std::int64_t TracedProgram::world_size() const {
  std::int64_t world = 1;
  for (const RankPart& part : parts_) {
    world = std::max({world, part.trace->world_size, part.trace->rank + 1});
    for (const auto& [name, members] : part.trace->communicators) {
      for (const std::int64_t rank : members) world = std::max(world, rank + 1);
    }
    if (world <= max_program_ranks) continue;
    throw InputError(SourcePosition{part.trace->file, 0, 0}, fmt::format("{} ranks", world),
                     fmt::format("at most {}", max_program_ranks));
  }
  return world;
}

std::optional<std::uint32_t> TracedProgram::group_of(std::int64_t rank) const {
  for (std::uint32_t i = 0; i < parts_.size(); ++i) {
    if (parts_[i].trace->rank == rank) return i;
  }
  return std::nullopt;
}

void TracedProgram::add_ranks() {
  world_ = world_size();
  for (const RankPart& part : parts_) {
    RankGroup& group = step_.program.groups.emplace_back();
    group.name = fmt::format("rank {}", part.trace->rank);
    group.ranks.push_back(static_cast<Rank>(part.trace->rank));
  }
  for (std::int64_t rank = 0; rank < world_; ++rank) {
    if (group_of(rank)) continue;
    step_.program.groups.front().ranks.push_back(static_cast<Rank>(rank));
    ++step_.absent;
  }
}

/// The ranks of a call's communicator. Where the trace does not name them, they are all, or those
/// that stand beside the rank in as many blocks of that size.
std::vector<std::int64_t> TracedProgram::members_of(const TracedCall& call,
                                                    const RankPart& part) const {
  const auto found = part.trace->communicators.find(call.communicator);
  if (found != part.trace->communicators.end()) return found->second;
  const std::int64_t ranks = call.ranks > 0 && call.ranks < world_ ? call.ranks : world_;
  const std::int64_t first = part.trace->rank / ranks * ranks;
  std::vector<std::int64_t> members;
  for (std::int64_t i = first; i < std::min(world_, first + ranks); ++i) members.push_back(i);
  return members;
}

std::uint32_t TracedProgram::communicator_of(const TracedCall& call, std::uint32_t group) {
  std::vector<std::int64_t> members = members_of(call, parts_[group]);
  const auto [found, added] =
      communicators_.emplace(CommunicatorKey{call.communicator, members},
                             static_cast<std::uint32_t>(step_.program.communicators.size()));
  if (added) {
    ProgramCommunicator communicator;
    communicator.name = call.communicator.empty() ? "unnamed" : call.communicator;
    if (!names_.insert(communicator.name).second) {
      communicator.name += fmt::format(" of rank {}", members.front());
      names_.insert(communicator.name);
    }
    for (const std::int64_t rank : members) communicator.ranks.push_back(static_cast<Rank>(rank));
    step_.program.communicators.push_back(std::move(communicator));
  }
  auto& groups = step_.program.communicators[found->second].groups;
  if (std::find(groups.begin(), groups.end(), group) == groups.end()) groups.push_back(group);
  return found->second;
}

/// Nothing if a peer has no trace.
std::vector<ProgramCall> TracedProgram::messages_of(const TracedCall& call, std::uint32_t group) {
  const std::vector<std::int64_t> members = members_of(call, parts_[group]);
  std::vector<ProgramCall> calls;
  for (const JobMessage& message : call.messages) {
    if (message.peer >= std::ssize(members)) return {};
    if (message.bytes < 1 || message.bytes > max_call_bytes) return {};
    const auto peer = group_of(members[static_cast<std::size_t>(message.peer)]);
    if (!peer || *peer == group) return {};
    ProgramCall& one = calls.emplace_back();
    one.kind = message.sends ? ProgramCallKind::send : ProgramCallKind::receive;
    one.bytes = Bytes{static_cast<std::int64_t>(message.bytes)};
    one.peer = *peer;
    one.channels = channels_of(call);
  }
  for (ProgramCall& one : calls) one.communicator = communicator_of(call, group);
  return calls;
}

/// What a traced call is in the program; nothing if it stays as it was traced.
std::vector<ProgramCall> TracedProgram::calls_of(const TracedCall& call, std::uint32_t group) {
  if (!call.messages.empty()) return messages_of(call, group);
  const auto kind = kind_of(call.operation);
  const bool is_barrier = call.operation == "barrier";
  if (!kind || (call.bytes < 1 && !is_barrier) || call.bytes > max_call_bytes) return {};
  if (members_of(call, parts_[group]).size() < 2) return {};
  ProgramCall one;
  one.kind = *kind;
  one.bytes = Bytes{std::max(barrier_bytes, static_cast<std::int64_t>(call.bytes))};
  one.communicator = communicator_of(call, group);
  one.channels = channels_of(call);
  return {one};
}

void TracedProgram::make() {
  add_ranks();
  step_.program.measured = true;
  double origin = std::numeric_limits<double>::infinity();
  for (const RankPart& part : parts_) {
    for (const TracedWork& work : part.work) {
      origin = std::min(origin, work.span.begin_us - part.offset_us);
    }
  }
  for (std::uint32_t group = 0; group < parts_.size(); ++group) {
    step_.calls.emplace_back();
    RankOps(*this, group, origin).make();
    TracedRankStep& rank = step_.ranks[group];
    rank.begin_us = std::numeric_limits<double>::infinity();
    for (const TracedWork& work : parts_[group].work) {
      rank.begin_us =
          std::min(rank.begin_us, work.span.begin_us - parts_[group].offset_us - origin);
      rank.end_us = std::max(rank.end_us, work.span.end_us - parts_[group].offset_us - origin);
    }
    step_.time_us = std::max(step_.time_us, rank.end_us);
  }
  for (TracedRankStep& rank : step_.ranks) {
    rank.waited_us = step_.time_us - rank.compute_us - rank.exposed_us;
  }
}

/// Notes until when what began before each piece of work kept the GPU busy.
void RankOps::find_busy() {
  std::vector<std::size_t> order(part_.work.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return begin_of(a) < begin_of(b); });
  busy_until_.assign(order.size(), 0);
  double until = 0;
  for (const std::size_t work : order) {
    busy_until_[work] = until;
    until = std::max(until, end_of(work));
  }
}

std::uint32_t RankOps::stream_of(const TracedWork& work) {
  auto& names = whole_.step_.program.groups[group_].streams;
  const auto [found, added] =
      streams_.emplace(work.stream, static_cast<std::uint32_t>(names.size()));
  if (!added) return found->second;
  if (streams_.size() > max_streams) {
    throw InputError(SourcePosition{part_.trace->file, 0, 0},
                     fmt::format("more than {} streams", max_streams), "a trace of one GPU");
  }
  names.push_back(fmt::format("stream {}", work.stream));
  return found->second;
}

/// What the host told the work's stream to wait for, as far as it had ended when the work began:
/// what was issued last on any other stream, or the last work of each.
std::vector<std::uint32_t> RankOps::told_to_wait_for(std::size_t work) const {
  const TracedWork& own = part_.work[work];
  std::set<std::uint32_t> found;
  const auto take = [&](std::size_t other) {
    if (end_of(other) <= begin_of(work) + same_time_us) {
      found.insert(static_cast<std::uint32_t>(other));
    }
  };
  if (own.after_latest && latest_) {
    const bool is_elsewhere = part_.work[*latest_].stream != own.stream;
    const auto& other = is_elsewhere ? latest_ : latest_elsewhere_;
    if (other) take(*other);
  }
  if (own.after_earlier) {
    for (const auto& [stream, issued] : issued_) {
      if (stream != own.stream) take(issued.back());
    }
  }
  return {found.begin(), found.end()};
}

/// The work on another stream that ended last before this began, if that is no longer ago than a
/// queue takes.
std::optional<std::uint32_t> RankOps::ended_just_before(std::size_t work) const {
  std::optional<std::uint32_t> latest;
  for (const auto& [stream, issued] : issued_) {
    if (stream == part_.work[work].stream) continue;
    const auto after = std::partition_point(issued.begin(), issued.end(), [&](std::size_t other) {
      return end_of(other) <= begin_of(work) + same_time_us;
    });
    if (after == issued.begin()) continue;
    const std::size_t other = *std::prev(after);
    if (end_of(other) < begin_of(work) - queued_gap_us) continue;
    if (!latest || end_of(other) > end_of(*latest)) latest = static_cast<std::uint32_t>(other);
  }
  return latest;
}

/// What the host waited for between the launch before and this one: the last work that ended within
/// such a wait.
std::vector<std::uint32_t> RankOps::host_waits(std::size_t work) {
  std::vector<std::uint32_t> found;
  const TracedWork& own = part_.work[work];
  const std::vector<JobSpan>& waits = part_.trace->waits;
  for (; next_wait_ < waits.size() && waits[next_wait_].begin_us < own.launch_us; ++next_wait_) {
    std::optional<std::size_t> last;
    for (const auto& [stream, issued] : issued_) {
      const double end = part_.work[issued.back()].span.end_us;
      const JobSpan& wait = waits[next_wait_];
      if (end < wait.begin_us || end > wait.end_us + same_time_us) continue;
      if (!last || end > part_.work[*last].span.end_us) last = issued.back();
    }
    if (last) found.push_back(static_cast<std::uint32_t>(*last));
  }
  const bool is_first = work == 0;
  if (is_first) return found;
  const TracedWork& before = part_.work[work - 1];
  // A copy to the host that is not asynchronous.
  if (before.launch_us > 0 && before.span.end_us <= before.launch_end_us) {
    found.push_back(static_cast<std::uint32_t>(work - 1));
  }
  return found;
}

void RankOps::add(std::size_t work) {
  const TracedWork& own = part_.work[work];
  ProgramOp op;
  op.stream = stream_of(own);
  op.after = told_to_wait_for(work);
  const double begin = begin_of(work);
  double ready = 0;
  if (const auto before = issued_.find(own.stream); before != issued_.end()) {
    ready = end_of(before->second.back());
  }
  for (const std::uint32_t other : op.after) ready = std::max(ready, end_of(other));
  const bool has_launch = own.launch_us > 0;
  const double launch = has_launch ? std::min(begin, at(own.launch_us)) : begin;
  bool is_late = has_launch ? launch > ready - launch_us : begin > ready + queued_gap_us;
  if (begin > ready + queued_gap_us && (!is_late || !has_launch)) {
    if (const auto other = ended_just_before(work)) {
      op.after.push_back(*other);
      ready = std::max(ready, end_of(*other));
      is_late = false;
    } else {
      is_late = busy_until_[work] < begin - queued_gap_us;
    }
  }
  const bool is_queued = !is_late && begin <= ready + queued_gap_us;
  const double issued = std::max(issued_us_, is_late ? begin : launch);
  op.host_after = host_waits(work);
  double host = issued_us_;
  for (const std::uint32_t other : op.host_after) host = std::max(host, end_of(other));
  op.host = microseconds(std::max(0.0, issued - host));
  issued_us_ = std::max(issued, host);
  const double time = end_of(work) - (is_queued ? ready : begin);
  if (own.call >= 0) {
    op.calls = whole_.calls_of(part_.calls[static_cast<std::size_t>(own.call)], group_);
    if (op.calls.empty()) ++whole_.step_.kept_calls;
  }
  if (op.calls.empty()) op.compute = microseconds(std::max(0.0, time));
  whole_.step_.calls[group_].push_back(own.call);
  issued_[own.stream].push_back(work);
  if (latest_ && part_.work[*latest_].stream != own.stream) latest_elsewhere_ = latest_;
  latest_ = work;
  whole_.step_.program.groups[group_].ops.push_back(std::move(op));
}

void RankOps::make() {
  find_busy();
  for (std::size_t i = 0; i < part_.work.size(); ++i) add(i);
}

void add_rank_times(const std::vector<RankPart>& parts, const TraceAlignment& alignment,
                    TracedStep& step) {
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const RankTrace& cut = step.cut[i];
    TracedRankStep& rank = step.ranks.emplace_back();
    rank.rank = cut.rank;
    rank.compute_us = time_outside(cut.compute, {});
    rank.exposed_us = time_outside(moving_spans(cut, alignment.waits[i]), cut.compute);
  }
}

}  // namespace

TracedStep program_of_step(std::vector<RankTrace> traces, std::size_t wanted) {
  if (traces.empty()) throw InputError("no traces", "one of each rank");
  sort_by_rank(traces);
  TracedStep step;
  step.number = step_number(traces, wanted);
  step.of = std::max<std::size_t>(1, traces.front().steps.size());
  std::vector<RankPart> parts;
  parts.reserve(traces.size());
  for (const RankTrace& trace : traces) {
    parts.push_back(part_of(trace, step.number));
    step.cut.push_back(cut_trace(parts.back()));
  }
  const TraceAlignment alignment = align(step.cut);
  for (std::size_t i = 0; i < parts.size(); ++i) parts[i].offset_us = alignment.offsets[i];
  add_rank_times(parts, alignment, step);
  step.program.name = fmt::format("step {} of {}", step.number, traces.front().file);
  TracedProgram(parts, step).make();
  return step;
}

}  // namespace collsim
