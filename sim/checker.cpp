#include "sim/checker.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <deque>
#include <optional>
#include <random>
#include <span>
#include <utility>

namespace collsim {

namespace {

constexpr std::uint32_t nobody = 0xffffffff;

std::string words(ChunkRange chunks) {
  return chunks.count == 1
             ? fmt::format("chunk {}", chunks.first)
             : fmt::format("chunks {}..{}", chunks.first, chunks.first + chunks.count - 1);
}

/// Which program uses each end of a connection; a program is participant * lanes + lane.
struct ConnectionEnds {
  std::vector<std::uint32_t> sender;
  std::vector<std::uint32_t> receiver;
};

/// Collects violations of one schedule up to a number.
class ViolationLog {
 public:
  ViolationLog(CheckReport& report, const CheckOptions& options, std::uint32_t channel)
      : report_(report), most_(options.most_violations), channel_(channel) {}

  std::uint32_t channel() const { return channel_; }
  /// `text` makes the sentence; called only if there is room.
  template <typename Text>
  void add(Violation violation, Text&& text) {
    ++report_.violation_count;
    if (report_.violations.size() >= most_) return;
    violation.channel = channel_;
    violation.text = fmt::format("{}: {}", to_string(violation.kind), text());
    report_.violations.push_back(std::move(violation));
  }

 private:
  CheckReport& report_;
  std::size_t most_;
  std::uint32_t channel_;
};

/// One execution of a schedule: a random legal order under one credit depth.
class Run {
 public:
  Run(const Plan& plan, const Schedule& schedule, const ConnectionEnds& ends,
      const std::vector<bool>& judged, std::uint32_t loops, std::uint32_t credits,
      std::uint64_t seed, ViolationLog& log);
  /// Returns the number of messages.
  std::uint64_t execute();

 private:
  using Count = std::uint8_t;
  struct Message {
    std::uint32_t loop;
    ChunkRange chunks;
    std::vector<Count> counts;  // [chunk in range][origin]
  };
  /// Where a program stands: in which loop, at which primitive, and whether this has received.
  struct Progress {
    std::uint32_t loop = 0;
    std::uint32_t position = 0;
    bool received = false;
    bool queued = false;         // is in runnable_
    std::vector<Count> partial;  // what it has received and does not store, with its own part
  };

  Rank rank_of(std::uint32_t program) const { return program / schedule_.lanes(); }  // or agent
  std::span<const Primitive> primitives(std::uint32_t program) const {
    return schedule_.program(rank_of(program), program % schedule_.lanes());
  }
  const Primitive& current(std::uint32_t program) const {
    return primitives(program)[progress_[program].position];
  }
  bool finished(std::uint32_t program) const {
    return progress_[program].loop == loops_ || primitives(program).empty();
  }
  Count* held(Rank rank, std::uint32_t loop, std::uint32_t chunk) {
    const std::size_t chunks = std::size_t{loops_} * schedule_.chunks();
    return &held_[(rank * chunks + std::size_t{loop} * schedule_.chunks() + chunk) *
                  schedule_.ranks()];
  }

  std::optional<ConnectionId> blocking(std::uint32_t program);
  void queue_if_runnable(std::uint32_t program);
  std::uint32_t pick();
  void advance(std::uint32_t program);
  void receive(std::uint32_t program);
  void take(std::uint32_t program, const Message& message, bool from_agent);
  Count* result(std::uint32_t program);
  void begin_partial(std::uint32_t program);
  void reduce_chunk(std::uint32_t program, std::uint32_t i, const Count* counts);
  void copy_chunk(std::uint32_t program, std::uint32_t i, const Count* counts, bool from_agent);
  void send(std::uint32_t program);
  void give_back_credits(const Primitive& primitive);
  void finish_primitive(std::uint32_t program);

  Violation violation_at(ViolationKind kind, std::uint32_t program) const;
  std::string place(std::uint32_t program) const;
  std::string name_of(Rank participant) const { return participant_name(schedule_, participant); }
  void report_deadlock();
  std::string waiting_words(std::uint32_t program, ConnectionId id) const;
  std::uint32_t waits_for(std::uint32_t program, ConnectionId id) const;
  void report_unreceived();
  void report_results();
  void report_result(Rank rank, std::uint32_t loop, std::uint32_t chunk, const Holding& wanted);

  std::uint32_t block_of(std::uint32_t chunk) const {
    return chunk / (schedule_.chunks() / blocks(plan_.collective, schedule_.ranks()));
  }

  const Plan& plan_;
  const Schedule& schedule_;
  const ConnectionEnds& ends_;
  const std::vector<bool>& judged_;  // [chunk]: whether its end counts
  std::uint32_t loops_;
  std::uint32_t credits_;
  std::mt19937_64 random_;
  ViolationLog& log_;
  std::vector<Progress> progress_;           // [program]
  std::vector<std::uint32_t> runnable_;      // programs
  std::vector<std::deque<Message>> queues_;  // [connection], sent and not yet received
  std::vector<std::uint32_t> in_flight_;     // [connection], credits in use
  std::vector<std::uint32_t> needed_;        // [connection], scratch of blocking()
  std::vector<Count> held_;                  // [participant][loop][chunk][origin]
  std::uint32_t last_ = nobody;              // the program that ran last
  std::uint64_t messages_ = 0;
};

Run::Run(const Plan& plan, const Schedule& schedule, const ConnectionEnds& ends,
         const std::vector<bool>& judged, std::uint32_t loops, std::uint32_t credits,
         std::uint64_t seed, ViolationLog& log)
    : plan_(plan),
      schedule_(schedule),
      ends_(ends),
      judged_(judged),
      loops_(loops),
      credits_(credits),
      random_(seed),
      log_(log),
      progress_(std::size_t{schedule.participants()} * schedule.lanes()),
      queues_(schedule.connections().size()),
      in_flight_(schedule.connections().size()),
      needed_(schedule.connections().size()),
      held_(std::size_t{schedule.participants()} * loops * schedule.chunks() * schedule.ranks()) {
  assert(schedule.chunks() % blocks(plan.collective, schedule.ranks()) == 0);
  for (Rank rank = 0; rank < schedule.ranks(); ++rank) {
    for (std::uint32_t chunk = 0; chunk < schedule.chunks(); ++chunk) {
      const Holding own =
          held_before(plan.collective, schedule.ranks(), plan.root, rank, block_of(chunk));
      if (own.kind != Holding::Kind::one) continue;
      for (std::uint32_t loop = 0; loop < loops; ++loop) held(rank, loop, chunk)[own.origin] = 1;
    }
  }
}

std::uint64_t Run::execute() {
  const auto programs = static_cast<std::uint32_t>(progress_.size());
  for (std::uint32_t program = 0; program < programs; ++program) queue_if_runnable(program);
  while (!runnable_.empty()) advance(pick());
  for (std::uint32_t program = 0; program < programs; ++program) {
    if (finished(program)) continue;
    report_deadlock();
    return messages_;
  }
  report_unreceived();
  report_results();
  return messages_;
}

// The connection that the program has to wait for, if any. One that a group lists more than once
// needs as many messages or credits.
std::optional<ConnectionId> Run::blocking(std::uint32_t program) {
  const Primitive& primitive = current(program);
  const bool receiving = receives(primitive.kind) && !progress_[program].received;
  const auto peers = schedule_.peers(receiving ? primitive.receive_group : primitive.send_group);
  std::optional<ConnectionId> blocked;
  std::size_t asked = 0;
  for (; asked < peers.size() && !blocked; ++asked) {
    const ConnectionId id = peers[asked];
    const std::size_t ready = receiving ? queues_[id].size() : credits_ - in_flight_[id];
    if (ready < ++needed_[id]) blocked = id;
  }
  for (const ConnectionId id : peers.first(asked)) needed_[id] = 0;
  return blocked;
}

void Run::queue_if_runnable(std::uint32_t program) {
  if (program == nobody || progress_[program].queued || finished(program)) return;
  if (blocking(program)) return;
  progress_[program].queued = true;
  runnable_.push_back(program);
}

// Half the time the program that ran last goes on, so that both even and very uneven progress
// occur.
std::uint32_t Run::pick() {
  const std::uint64_t draw = random_();
  std::size_t index = (draw >> 1) % runnable_.size();
  if ((draw & 1) != 0 && runnable_.back() == last_) index = runnable_.size() - 1;
  const std::uint32_t program = runnable_[index];
  runnable_[index] = runnable_.back();
  runnable_.pop_back();
  progress_[program].queued = false;
  return last_ = program;
}

void Run::advance(std::uint32_t program) {
  const Primitive& primitive = current(program);
  Progress& progress = progress_[program];
  if (receives(primitive.kind) && !progress.received) {
    receive(program);
    progress.received = true;
    if (!sends(primitive.kind)) finish_primitive(program);
  } else {
    send(program);
    finish_primitive(program);
  }
  queue_if_runnable(program);
}

void Run::finish_primitive(std::uint32_t program) {
  Progress& progress = progress_[program];
  progress.received = false;
  if (++progress.position < primitives(program).size()) return;
  progress.position = 0;
  ++progress.loop;
}

void Run::receive(std::uint32_t program) {
  const Primitive& primitive = current(program);
  if (!stores(primitive.kind)) begin_partial(program);
  for (const ConnectionId id : schedule_.peers(primitive.receive_group)) {
    const Message message = std::move(queues_[id].front());
    queues_[id].pop_front();
    if (message.loop == progress_[program].loop && message.chunks == primitive.chunks()) {
      take(program, message, schedule_.is_agent(schedule_.connections()[id].src));
      continue;
    }
    log_.add(violation_at(ViolationKind::wrong_chunks, program), [&] {
      return fmt::format("{} receives {} of loop {} from {}", place(program), words(message.chunks),
                         message.loop, name_of(schedule_.connections()[id].src));
    });
  }
  if (stores(primitive.kind)) give_back_credits(primitive);
}

void Run::begin_partial(std::uint32_t program) {
  const Primitive& primitive = current(program);
  const Count* own = held(rank_of(program), progress_[program].loop, primitive.first_chunk);
  const std::size_t length = std::size_t{primitive.chunk_count} * schedule_.ranks();
  if (primitive.kind == PrimitiveKind::recv_send) {
    progress_[program].partial.assign(length, 0);
  } else {
    progress_[program].partial.assign(own, own + length);
  }
}

// The chunks that the current primitive has made and sends: [chunk in range][origin].
Run::Count* Run::result(std::uint32_t program) {
  const Primitive& primitive = current(program);
  if (receives(primitive.kind) && !stores(primitive.kind)) {
    return progress_[program].partial.data();
  }
  return held(rank_of(program), progress_[program].loop, primitive.first_chunk);
}

void Run::take(std::uint32_t program, const Message& message, bool from_agent) {
  const Primitive& primitive = current(program);
  for (std::uint32_t i = 0; i < message.chunks.count; ++i) {
    const Count* counts = &message.counts[std::size_t{i} * schedule_.ranks()];
    if (reduces(primitive.kind)) {
      reduce_chunk(program, i, counts);
    } else {
      copy_chunk(program, i, counts, from_agent);
    }
  }
}

void Run::reduce_chunk(std::uint32_t program, std::uint32_t i, const Count* counts) {
  Count* own = result(program) + std::size_t{i} * schedule_.ranks();
  std::uint32_t doubled = nobody;
  for (Rank origin = 0; origin < schedule_.ranks(); ++origin) {
    const unsigned sum = unsigned{own[origin]} + counts[origin];
    if (counts[origin] > 0 && own[origin] > 0) doubled = std::min(doubled, origin);
    own[origin] = static_cast<Count>(std::min(sum, 255U));
  }
  if (doubled == nobody || !sums(plan_.collective)) return;
  const std::uint32_t chunk = current(program).first_chunk + i;
  Violation violation = violation_at(ViolationKind::doubled_contribution, program);
  violation.chunks = {chunk, 1};
  log_.add(std::move(violation), [&] {
    return fmt::format("{} adds the contribution of rank {} to chunk {}, which has it already",
                       place(program), doubled, chunk);
  });
}

// A switch's multicast reaches everybody, also the one who has what it brings.
void Run::copy_chunk(std::uint32_t program, std::uint32_t i, const Count* counts, bool from_agent) {
  Count* own = result(program) + std::size_t{i} * schedule_.ranks();
  if (!from_agent && std::equal(own, own + schedule_.ranks(), counts)) {
    const std::uint32_t chunk = current(program).first_chunk + i;
    Violation violation = violation_at(ViolationKind::redundant_copy, program);
    violation.chunks = {chunk, 1};
    log_.add(std::move(violation), [&] {
      return fmt::format("{} copies chunk {}, of which it holds just this already", place(program),
                         chunk);
    });
  }
  std::copy_n(counts, schedule_.ranks(), own);
}

void Run::send(std::uint32_t program) {
  const Primitive& primitive = current(program);
  const std::uint32_t loop = progress_[program].loop;
  const Count* first = result(program);
  const std::size_t length = std::size_t{primitive.chunk_count} * schedule_.ranks();
  for (const ConnectionId id : schedule_.peers(primitive.send_group)) {
    queues_[id].push_back({loop, primitive.chunks(), std::vector<Count>(first, first + length)});
    ++in_flight_[id];
    ++messages_;
    queue_if_runnable(ends_.receiver[id]);
  }
  if (receives(primitive.kind) && !stores(primitive.kind)) give_back_credits(primitive);
}

void Run::give_back_credits(const Primitive& primitive) {
  for (const ConnectionId id : schedule_.peers(primitive.receive_group)) {
    --in_flight_[id];
    queue_if_runnable(ends_.sender[id]);
  }
}

Violation Run::violation_at(ViolationKind kind, std::uint32_t program) const {
  Violation violation;
  violation.kind = kind;
  violation.rank = rank_of(program);
  violation.loop = progress_[program].loop;
  violation.chunks = current(program).chunks();
  violation.lane = program % schedule_.lanes();
  violation.step = progress_[program].position;
  return violation;
}

std::string Run::place(std::uint32_t program) const {
  const Primitive& primitive = current(program);
  return fmt::format("{}, channel {}, lane {}, step {} of loop {} ({} {})",
                     name_of(rank_of(program)), log_.channel(), program % schedule_.lanes(),
                     progress_[program].position, progress_[program].loop,
                     to_string(primitive.kind), words(primitive.chunks()));
}

std::string Run::waiting_words(std::uint32_t program, ConnectionId id) const {
  const Connection& connection = schedule_.connections()[id];
  const bool receiving = receives(current(program).kind) && !progress_[program].received;
  return receiving
             ? fmt::format("{} waits for a message from {}", place(program),
                           name_of(connection.src))
             : fmt::format("{} waits for a credit of {}", place(program), name_of(connection.dst));
}

std::uint32_t Run::waits_for(std::uint32_t program, ConnectionId id) const {
  const bool receiving = receives(current(program).kind) && !progress_[program].received;
  const std::uint32_t other = receiving ? ends_.sender[id] : ends_.receiver[id];
  return other == nobody || finished(other) ? nobody : other;
}

// Everybody left waits. Following the waiting from anyone ends at a cycle or at somebody whose peer
// is gone.
void Run::report_deadlock() {
  std::uint32_t program = 0;
  while (finished(program)) ++program;
  std::vector<std::uint32_t> path;
  std::optional<ConnectionId> id;
  while (program != nobody && std::find(path.begin(), path.end(), program) == path.end()) {
    path.push_back(program);
    id = blocking(program);
    program = waits_for(program, *id);
  }
  const bool cycle = program != nobody;
  // What leads into the cycle is a consequence; where there is none, only the end matters.
  path.erase(path.begin(), cycle ? std::find(path.begin(), path.end(), program) : path.end() - 1);
  log_.add(violation_at(ViolationKind::deadlock, path.front()), [&] {
    std::string text;
    constexpr std::size_t most_places = 12;
    for (std::size_t i = 0; i < std::min(path.size(), most_places); ++i) {
      text += (i == 0 ? "" : "; ") + waiting_words(path[i], *blocking(path[i]));
    }
    if (path.size() > most_places) text += fmt::format("; {} more", path.size() - most_places);
    return text + (cycle ? "; and so on round the cycle" : ", whose program has none left to give");
  });
}

void Run::report_unreceived() {
  for (ConnectionId id = 0; id < queues_.size(); ++id) {
    const Connection& connection = schedule_.connections()[id];
    for (const Message& message : queues_[id]) {
      Violation violation;
      violation.kind = ViolationKind::unreceived_message;
      violation.rank = connection.dst;
      violation.loop = message.loop;
      violation.chunks = message.chunks;
      violation.lane = connection.lane;
      log_.add(std::move(violation), [&] {
        return fmt::format("{}, channel {}, never receives {} of loop {} that {} sends",
                           name_of(connection.dst), log_.channel(), words(message.chunks),
                           message.loop, name_of(connection.src));
      });
    }
  }
}

void Run::report_results() {
  for (Rank rank = 0; rank < schedule_.ranks(); ++rank) {
    for (std::uint32_t loop = 0; loop < loops_; ++loop) {
      for (std::uint32_t chunk = 0; chunk < schedule_.chunks(); ++chunk) {
        if (!judged_[chunk]) continue;
        const Holding wanted =
            held_after(plan_.collective, schedule_.ranks(), plan_.root, rank, block_of(chunk));
        if (wanted.kind != Holding::Kind::anything) report_result(rank, loop, chunk, wanted);
      }
    }
  }
}

void Run::report_result(Rank rank, std::uint32_t loop, std::uint32_t chunk, const Holding& wanted) {
  std::vector<Rank> missing;
  std::vector<Rank> foreign;
  const Count* counts = held(rank, loop, chunk);
  for (Rank origin = 0; origin < schedule_.ranks(); ++origin) {
    const bool is_wanted = wanted.kind == Holding::Kind::all || origin == wanted.origin;
    if (is_wanted && counts[origin] == 0) missing.push_back(origin);
    if (!is_wanted && counts[origin] != 0) foreign.push_back(origin);
  }
  const auto report = [&](ViolationKind kind, const std::vector<Rank>& origins,
                          std::string_view with) {
    if (origins.empty()) return;
    Violation violation;
    violation.kind = kind;
    violation.rank = rank;
    violation.loop = loop;
    violation.chunks = {chunk, 1};
    violation.step = static_cast<std::uint32_t>(schedule_.program(rank, 0).size());
    log_.add(std::move(violation), [&] {
      return fmt::format(
          "rank {}, channel {}, chunk {} of loop {} ends {} the contribution of "
          "rank {}{}",
          rank, log_.channel(), chunk, loop, with, origins.front(),
          origins.size() == 1 ? "" : fmt::format(" and {} others", origins.size() - 1));
    });
  };
  report(ViolationKind::missing_contribution, missing, "without");
  report(ViolationKind::foreign_contribution, foreign, "with");
}

// Notes who uses an end; a second program there is a violation.
void note_end(std::vector<std::uint32_t>& end, ConnectionId id, std::uint32_t program,
              const Schedule& schedule, ViolationLog& log) {
  if (end[id] == nobody) end[id] = program;
  if (end[id] == program) return;
  Violation violation;
  violation.kind = ViolationKind::shared_connection;
  violation.rank = program / schedule.lanes();
  violation.lane = program % schedule.lanes();
  log.add(std::move(violation), [&] {
    const Connection& connection = schedule.connections()[id];
    return fmt::format("{}, channel {}, uses its connection {} -> {} from lanes {} and {}",
                       participant_name(schedule, program / schedule.lanes()), log.channel(),
                       connection.src, connection.dst, end[id] % schedule.lanes(),
                       program % schedule.lanes());
  });
}

ConnectionEnds find_ends(const Schedule& schedule, ViolationLog& log) {
  ConnectionEnds ends;
  ends.sender.assign(schedule.connections().size(), nobody);
  ends.receiver = ends.sender;
  for (Rank rank = 0; rank < schedule.participants(); ++rank) {
    for (std::uint32_t lane = 0; lane < schedule.lanes(); ++lane) {
      const std::uint32_t program = rank * schedule.lanes() + lane;
      for (const Primitive& primitive : schedule.program(rank, lane)) {
        for (const ConnectionId id : schedule.peers(primitive.send_group)) {
          note_end(ends.sender, id, program, schedule, log);
        }
        for (const ConnectionId id : schedule.peers(primitive.receive_group)) {
          note_end(ends.receiver, id, program, schedule, log);
        }
      }
    }
  }
  return ends;
}

// Which chunks a schedule moves.
std::vector<bool> carried_chunks(const Schedule& schedule) {
  std::vector<bool> carried(schedule.chunks());
  for (Rank rank = 0; rank < schedule.participants(); ++rank) {
    for (std::uint32_t lane = 0; lane < schedule.lanes(); ++lane) {
      for (const Primitive& primitive : schedule.program(rank, lane)) {
        const auto begin = carried.begin() + primitive.first_chunk;
        std::fill(begin, begin + primitive.chunk_count, true);
      }
    }
  }
  return carried;
}

/// Which chunks must be right at the end of each schedule: all, or where channels divide them those
/// that it carries, and those that nobody does.
std::vector<std::vector<bool>> judged_chunks(const Plan& plan, CheckReport& report,
                                             const CheckOptions& options) {
  std::vector<std::vector<bool>> judged;
  for (const Schedule& schedule : plan.schedules) {
    judged.push_back(plan.channels_divide_chunks ? carried_chunks(schedule)
                                                 : std::vector<bool>(schedule.chunks(), true));
  }
  if (!plan.channels_divide_chunks) return judged;
  for (std::uint32_t chunk = 0; chunk < plan.schedule(0).chunks(); ++chunk) {
    std::vector<std::uint32_t> carriers;
    for (std::uint32_t channel = 0; channel < plan.channels(); ++channel) {
      if (judged[plan.schedule_of_channel[channel]][chunk]) carriers.push_back(channel);
    }
    if (carriers.empty()) judged.front()[chunk] = true;
    if (carriers.size() < 2) continue;
    Violation violation;
    violation.kind = ViolationKind::shared_chunk;
    violation.chunks = {chunk, 1};
    ViolationLog(report, options, carriers.front()).add(std::move(violation), [&] {
      return fmt::format("channels {} and {} both carry chunk {}", carriers[0], carriers[1], chunk);
    });
  }
  return judged;
}

bool forwards_partial_sums(const Plan& plan) {
  for (const Schedule& schedule : plan.schedules) {
    for (Rank rank = 0; rank < schedule.participants(); ++rank) {
      for (std::uint32_t lane = 0; lane < schedule.lanes(); ++lane) {
        for (const Primitive& primitive : schedule.program(rank, lane)) {
          if (receives(primitive.kind) && !stores(primitive.kind)) return true;
        }
      }
    }
  }
  return false;
}

}  // namespace

std::string_view to_string(ViolationKind kind) {
  switch (kind) {
    case ViolationKind::missing_contribution:
      return "missing contribution";
    case ViolationKind::doubled_contribution:
      return "doubled contribution";
    case ViolationKind::wrong_chunks:
      return "wrong chunks";
    case ViolationKind::unreceived_message:
      return "unreceived message";
    case ViolationKind::deadlock:
      return "deadlock";
    case ViolationKind::redundant_copy:
      return "redundant copy";
    case ViolationKind::foreign_contribution:
      return "foreign contribution";
    case ViolationKind::shared_chunk:
      return "shared chunk";
    case ViolationKind::shared_connection:
      return "shared connection";
  }
  return "?";
}

std::vector<std::uint32_t> default_credits(const Plan& plan) {
  const auto least =
      std::max<std::uint32_t>(plan.least_credits, forwards_partial_sums(plan) ? 2 : 1);
  std::vector<std::uint32_t> depths{least};
  for (const std::uint32_t depth : {2U, 3U, 4U, 8U}) {
    if (depth > least && (least > 1 || depth != 4)) depths.push_back(depth);
  }
  return depths;
}

CheckReport check(const Plan& plan, const CheckOptions& options) {
  const auto depths = options.credits.empty() ? default_credits(plan) : options.credits;
  CheckReport report;
  report.channels = plan.channels();
  report.schedules = static_cast<std::uint32_t>(plan.schedules.size());
  const auto judged = judged_chunks(plan, report, options);
  std::uint64_t seed = options.seed;
  for (std::uint32_t s = 0; s < report.schedules; ++s) {
    const auto& of_channel = plan.schedule_of_channel;
    const auto channel = std::find(of_channel.begin(), of_channel.end(), s) - of_channel.begin();
    ViolationLog log(report, options, static_cast<std::uint32_t>(channel));
    const Schedule& schedule = plan.schedules[s];
    const ConnectionEnds ends = find_ends(schedule, log);
    if (!report.ok()) continue;  // without an order there is nothing to run
    for (const std::uint32_t credits : depths) {
      for (std::uint32_t order = 0; order < options.orders; ++order) {
        report.messages +=
            Run(plan, schedule, ends, judged[s], options.loops, credits, seed++, log).execute();
        ++report.runs;
      }
    }
  }
  return report;
}

}  // namespace collsim
