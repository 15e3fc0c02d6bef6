#include "sim/plan/steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cassert>
#include <deque>
#include <utility>

#include "sim/base/input_error.h"

namespace collsim {

namespace {

/// The receiving or the sending half of a primitive. What is sent at time t is received at t + 1 or
/// later; time t is the end of the t-th step.
struct Event {
  std::uint32_t time = 0;
  bool is_send = false;
  Rank rank = 0;
  std::uint32_t program = 0;  // rank * lanes + lane
  Primitive primitive{};
};

/// Finds out when everything happens, program by program as far as each can go.
class Clockwork {
 public:
  explicit Clockwork(const Schedule& schedule)
      : schedule_(schedule), arrivals_(schedule.connections().size()) {
    for_each_program(schedule, [&](Rank, std::uint32_t, const Program& program) {
      programs_.push_back({program.begin()});
    });
  }

  /// In order of time; at one time receives come first.
  std::vector<Event> run() && {
    bool moved = true;
    while (moved) {
      moved = false;
      for (std::uint32_t program = 0; program < programs_.size(); ++program) {
        while (try_primitive(program)) moved = true;
      }
    }
    std::stable_sort(events_.begin(), events_.end(), [](const Event& a, const Event& b) {
      return std::pair(a.time, a.is_send) < std::pair(b.time, b.is_send);
    });
    return std::move(events_);
  }

 private:
  struct Progress {
    Program::Iterator next;
    std::uint32_t time = 0;
  };

  bool try_primitive(std::uint32_t program) {
    const Rank rank = program / schedule_.lanes();
    Progress& progress = programs_[program];
    if (progress.next.at_end()) return false;
    const Primitive primitive = *progress.next;
    const auto incoming = schedule_.peers(primitive.receive_group);
    for (const ConnectionId id : incoming) {
      if (arrivals_[id].empty()) return false;
    }
    for (const ConnectionId id : incoming) {
      progress.time = std::max(progress.time, arrivals_[id].front());
      arrivals_[id].pop_front();
    }
    if (!incoming.empty()) events_.push_back({progress.time, false, rank, program, primitive});
    if (sends(primitive.kind)) {
      events_.push_back({progress.time, true, rank, program, primitive});
      ++progress.time;
      for (const ConnectionId id : schedule_.peers(primitive.send_group)) {
        arrivals_[id].push_back(progress.time);
      }
    }
    ++progress.next;
    return true;
  }

  const Schedule& schedule_;
  std::vector<Progress> programs_;
  std::vector<std::deque<std::uint32_t>> arrivals_;  // [connection]: times of what is under way
  std::vector<Event> events_;
};

/// Of a chunk that has at most one rank's contribution.
std::int32_t number_of(Contributions own) {
  return own.bits == 0 ? 0 : std::countr_zero(own.bits) + 1;
}

/// Plays events in order of time on the ranks' buffers.
class Replay {
 public:
  Replay(const Plan& plan, std::uint32_t channel)
      : schedule_(plan.schedule(channel)),
        buffers_(with_numbers(initial_buffers(plan, channel))),
        partial_(std::size_t{schedule_.participants()} * schedule_.lanes()),
        queues_(schedule_.connections().size()) {}

  std::vector<Step> run(const std::vector<Event>& events) && {
    for (const Event& event : events) {
      if (event.is_send) {
        send(event);
      } else {
        receive(event);
      }
    }
    end_step();
    return std::move(steps_);
  }

 private:
  /// What a chunk holds. The number tells what bits do not: a contribution that came twice.
  struct Content {
    Contributions whose;
    std::int32_t number = 0;
  };
  struct Message {
    PhaseId phase;
    std::vector<Content> chunks;
  };

  static std::vector<Content> with_numbers(const std::vector<Contributions>& buffers) {
    std::vector<Content> contents;
    contents.reserve(buffers.size());
    for (const Contributions& each : buffers) contents.push_back({each, number_of(each)});
    return contents;
  }

  void end_step() {
    if (steps_.empty()) return;
    Step& step = steps_.back();
    for (const Content& each : buffers_) {
      step.buffers.push_back(each.whose);
      step.values.push_back(each.number);
    }
  }

  Content* chunks_of(const Event& event) {
    return &buffers_[std::size_t{event.rank} * schedule_.chunks() + event.primitive.first_chunk];
  }

  /// A primitive that forwards without storing works on a copy of its own part.
  static bool is_partial(const Primitive& primitive) {
    return receives(primitive.kind) && !stores(primitive.kind);
  }

  void send(const Event& event) {
    const Content* first =
        is_partial(event.primitive) ? partial_[event.program].data() : chunks_of(event);
    for (const ConnectionId id : schedule_.peers(event.primitive.send_group)) {
      queues_[id].push_back({static_cast<PhaseId>(event.primitive.phase),
                             {first, first + event.primitive.chunk_count}});
    }
  }

  void receive(const Event& event) {
    // Where nothing arrives, since sends are one after the other, there is no step.
    if (steps_.empty() || event.time != time_) {
      end_step();
      steps_.emplace_back();
      time_ = event.time;
    }
    const auto peers = schedule_.peers(event.primitive.receive_group);
    std::vector<ConnectionId> incoming(peers.begin(), peers.end());
    // In the order in which they will be listed.
    std::stable_sort(incoming.begin(), incoming.end(), [&](ConnectionId a, ConnectionId b) {
      return schedule_.connections()[a].src < schedule_.connections()[b].src;
    });
    const bool alone = event.primitive.kind == PrimitiveKind::recv_send;
    const bool reduce = reduces(event.primitive.kind) && !(alone && incoming.size() == 1);
    Content* own = chunks_of(event);
    if (is_partial(event.primitive)) {
      auto& partial = partial_[event.program];
      partial.assign(own, own + event.primitive.chunk_count);
      if (alone) std::fill(partial.begin(), partial.end(), Content{});
      own = partial.data();
    }
    for (const ConnectionId id : incoming) {
      const Message message = std::move(queues_[id].front());
      queues_[id].pop_front();
      const Connection& connection = schedule_.connections()[id];
      StepTransfer transfer{connection.src, connection.dst, connection.lane,
                            event.primitive.chunks(), reduce};
      for (std::size_t i = 0; i < message.chunks.size(); ++i) {
        const Content& came = message.chunks[i];
        transfer.had.push_back(own[i].number);
        transfer.came.push_back(came.number);
        transfer.whose.push_back(came.whose);
        own[i].whose.bits = came.whose.bits | (reduce ? own[i].whose.bits : 0);
        own[i].number = came.number + (reduce ? own[i].number : 0);
      }
      steps_.back().transfers.push_back(std::move(transfer));
      add_phase(schedule_.phase_name(message.phase));
    }
    if (schedule_.is_agent(event.rank)) {
      std::copy_n(own, event.primitive.chunk_count, chunks_of(event));
    }
  }

  void add_phase(std::string_view name) {
    std::string& phase = steps_.back().phase;
    if (phase.find(name) != std::string::npos) return;
    phase += (phase.empty() ? "" : " + ") + std::string(name);
  }

  const Schedule& schedule_;
  std::vector<Content> buffers_;
  std::vector<std::vector<Content>> partial_;  // [program]
  std::vector<std::deque<Message>> queues_;    // [connection]
  std::vector<Step> steps_;
  std::uint32_t time_ = 0;  // of the last step
};

}  // namespace

std::vector<Contributions> initial_buffers(const Plan& plan, std::uint32_t channel) {
  const std::uint32_t chunks = plan.schedule(channel).chunks();
  const std::uint32_t per_block = chunks / blocks(plan.collective, plan.ranks());
  std::vector<Contributions> buffers;
  for (Rank rank = 0; rank < plan.ranks(); ++rank) {
    for (std::uint32_t chunk = 0; chunk < chunks; ++chunk) {
      const Holding own =
          held_before(plan.collective, plan.ranks(), plan.root, rank, chunk / per_block);
      const bool has_one = own.kind == Holding::Kind::one;
      buffers.push_back({has_one ? std::uint64_t{1} << own.origin : 0});
    }
  }
  buffers.resize(std::size_t{plan.schedule(channel).participants()} * chunks);
  return buffers;
}

std::vector<std::int32_t> initial_values(const Plan& plan, std::uint32_t channel) {
  std::vector<std::int32_t> values;
  for (const Contributions& each : initial_buffers(plan, channel)) {
    values.push_back(number_of(each));
  }
  return values;
}

std::optional<std::string> wrong_value(const Plan& plan, std::uint32_t channel,
                                       std::span<const std::int32_t> values) {
  const auto ranks = static_cast<std::int32_t>(plan.ranks());
  const std::uint32_t chunks = plan.schedule(channel).chunks();
  const std::uint32_t per_block = chunks / blocks(plan.collective, plan.ranks());
  const std::vector<std::int32_t> before = initial_values(plan, channel);
  for (Rank rank = 0; rank < plan.ranks(); ++rank) {
    for (std::uint32_t chunk = 0; chunk < chunks; ++chunk) {
      const std::size_t i = std::size_t{rank} * chunks + chunk;
      if (plan.channels_divide_chunks && values[i] == before[i]) continue;
      const Holding holding =
          held_after(plan.collective, plan.ranks(), plan.root, rank, chunk / per_block);
      if (holding.kind == Holding::Kind::anything) continue;
      const bool all = holding.kind == Holding::Kind::all;
      const std::int32_t right =
          all ? ranks * (ranks + 1) / 2 : static_cast<std::int32_t>(holding.origin) + 1;
      if (values[i] == right) continue;
      return fmt::format("rank {} has {} in chunk {}, not {}", rank, values[i], chunk, right);
    }
  }
  return std::nullopt;
}

std::vector<Step> replay_steps(const Plan& plan, std::uint32_t channel) {
  if (plan.ranks() > max_replayed_ranks) {
    throw InputError(fmt::format("{} ranks are too many to show step by step", plan.ranks()),
                     fmt::format("at most {}", max_replayed_ranks));
  }
  auto steps = Replay(plan, channel).run(Clockwork(plan.schedule(channel)).run());
  for (Step& step : steps) {
    std::stable_sort(step.transfers.begin(), step.transfers.end(),
                     [](const StepTransfer& a, const StepTransfer& b) {
                       return std::pair(a.from, a.to) < std::pair(b.from, b.to);
                     });
  }
  return steps;
}

}  // namespace collsim
