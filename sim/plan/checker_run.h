#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <deque>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sim/plan/checker.h"

namespace collsim {

/// The number of no program.
inline constexpr std::uint32_t nobody = 0xffffffff;

/// Which program uses each end of a connection; a program is participant * lanes + lane.
struct ConnectionEnds {
  std::vector<std::uint32_t> sender;
  std::vector<std::uint32_t> receiver;
};

/// Collects violations of one schedule up to a number.
class ViolationLog {
 public:
  ViolationLog(CheckReport& report, const CheckOptions& options, std::uint32_t channel)
      : report_(report), most_(options.max_violations), channel_(channel) {}

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
class CheckerRun {
 public:
  CheckerRun(const Plan& plan, const Schedule& schedule, const ConnectionEnds& ends,
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
  /// The place of a program: its loop, its primitive, and whether this has received.
  struct Progress {
    std::uint32_t loop = 0;
    std::uint32_t position = 0;
    Program::Iterator primitive;  // at that position
    bool received = false;
    bool queued = false;         // is in runnable_
    std::vector<Count> partial;  // what it has received and does not store, with its own part
  };

  Rank rank_of(std::uint32_t program) const { return program / schedule_.lanes(); }  // or agent
  Program primitives(std::uint32_t program) const {
    return schedule_.program(rank_of(program), program % schedule_.lanes());
  }
  /// The primitive at which a program is. It holds until the program goes on.
  const Primitive& current(std::uint32_t program) const { return *progress_[program].primitive; }
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

}  // namespace collsim
