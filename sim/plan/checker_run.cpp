#include "sim/plan/checker_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

namespace collsim {

namespace {

std::string words(ChunkRange chunks) {
  return chunks.count == 1
             ? fmt::format("chunk {}", chunks.first)
             : fmt::format("chunks {}..{}", chunks.first, chunks.first + chunks.count - 1);
}

}  // namespace

CheckerRun::CheckerRun(const Plan& plan, const Schedule& schedule, const ConnectionEnds& ends,
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
  for (std::uint32_t program = 0; program < progress_.size(); ++program) {
    progress_[program].primitive = primitives(program).begin();
  }
  for (Rank rank = 0; rank < schedule.ranks(); ++rank) {
    for (std::uint32_t chunk = 0; chunk < schedule.chunks(); ++chunk) {
      const Holding own =
          held_before(plan.collective, schedule.ranks(), plan.root, rank, block_of(chunk));
      if (own.kind != Holding::Kind::one) continue;
      for (std::uint32_t loop = 0; loop < loops; ++loop) held(rank, loop, chunk)[own.origin] = 1;
    }
  }
}

std::uint64_t CheckerRun::execute() {
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
std::optional<ConnectionId> CheckerRun::blocking(std::uint32_t program) {
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

void CheckerRun::queue_if_runnable(std::uint32_t program) {
  if (program == nobody || progress_[program].queued || finished(program)) return;
  if (blocking(program)) return;
  progress_[program].queued = true;
  runnable_.push_back(program);
}

// Half the time the program that ran last goes on, so that both even and very uneven progress
// occur.
std::uint32_t CheckerRun::pick() {
  const std::uint64_t draw = random_();
  std::size_t index = (draw >> 1) % runnable_.size();
  if ((draw & 1) != 0 && runnable_.back() == last_) index = runnable_.size() - 1;
  const std::uint32_t program = runnable_[index];
  runnable_[index] = runnable_.back();
  runnable_.pop_back();
  progress_[program].queued = false;
  return last_ = program;
}

void CheckerRun::advance(std::uint32_t program) {
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

void CheckerRun::finish_primitive(std::uint32_t program) {
  Progress& progress = progress_[program];
  progress.received = false;
  ++progress.position;
  if (!(++progress.primitive).at_end()) return;
  progress.position = 0;
  progress.primitive = primitives(program).begin();
  ++progress.loop;
}

void CheckerRun::receive(std::uint32_t program) {
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

void CheckerRun::begin_partial(std::uint32_t program) {
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
CheckerRun::Count* CheckerRun::result(std::uint32_t program) {
  const Primitive& primitive = current(program);
  if (receives(primitive.kind) && !stores(primitive.kind)) {
    return progress_[program].partial.data();
  }
  return held(rank_of(program), progress_[program].loop, primitive.first_chunk);
}

void CheckerRun::take(std::uint32_t program, const Message& message, bool from_agent) {
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

void CheckerRun::reduce_chunk(std::uint32_t program, std::uint32_t i, const Count* counts) {
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
void CheckerRun::copy_chunk(std::uint32_t program, std::uint32_t i, const Count* counts,
                            bool from_agent) {
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

void CheckerRun::send(std::uint32_t program) {
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

void CheckerRun::give_back_credits(const Primitive& primitive) {
  for (const ConnectionId id : schedule_.peers(primitive.receive_group)) {
    --in_flight_[id];
    queue_if_runnable(ends_.sender[id]);
  }
}

Violation CheckerRun::violation_at(ViolationKind kind, std::uint32_t program) const {
  Violation violation;
  violation.kind = kind;
  violation.rank = rank_of(program);
  violation.loop = progress_[program].loop;
  violation.chunks = current(program).chunks();
  violation.lane = program % schedule_.lanes();
  violation.step = progress_[program].position;
  return violation;
}

std::string CheckerRun::place(std::uint32_t program) const {
  const Primitive& primitive = current(program);
  return fmt::format("{}, channel {}, lane {}, step {} of loop {} ({} {})",
                     name_of(rank_of(program)), log_.channel(), program % schedule_.lanes(),
                     progress_[program].position, progress_[program].loop,
                     to_string(primitive.kind), words(primitive.chunks()));
}

std::string CheckerRun::waiting_words(std::uint32_t program, ConnectionId id) const {
  const Connection& connection = schedule_.connections()[id];
  const bool receiving = receives(current(program).kind) && !progress_[program].received;
  return receiving
             ? fmt::format("{} waits for a message from {}", place(program),
                           name_of(connection.src))
             : fmt::format("{} waits for a credit of {}", place(program), name_of(connection.dst));
}

std::uint32_t CheckerRun::waits_for(std::uint32_t program, ConnectionId id) const {
  const bool receiving = receives(current(program).kind) && !progress_[program].received;
  const std::uint32_t other = receiving ? ends_.sender[id] : ends_.receiver[id];
  return other == nobody || finished(other) ? nobody : other;
}

// Everybody left waits. Following the waiting from anyone ends at a cycle or at somebody whose peer
// is gone.
void CheckerRun::report_deadlock() {
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
    constexpr std::size_t max_places = 12;
    for (std::size_t i = 0; i < std::min(path.size(), max_places); ++i) {
      text += (i == 0 ? "" : "; ") + waiting_words(path[i], *blocking(path[i]));
    }
    if (path.size() > max_places) text += fmt::format("; {} more", path.size() - max_places);
    return text + (cycle ? "; and so on round the cycle" : ", whose program has none left to give");
  });
}

void CheckerRun::report_unreceived() {
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

void CheckerRun::report_results() {
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

void CheckerRun::report_result(Rank rank, std::uint32_t loop, std::uint32_t chunk,
                               const Holding& wanted) {
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

}  // namespace collsim
