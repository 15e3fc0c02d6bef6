#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/plan/plan.h"

namespace collsim {

/// The most ranks that replay_steps() takes: what a person can still read.
inline constexpr Rank max_replayed_ranks = 64;

/// Whose contributions a chunk contains.
struct Contributions {
  std::uint64_t bits = 0;  ///< bit r: that of rank r
  bool contains(Rank rank) const { return (bits >> rank & 1) != 0; }
  bool operator==(const Contributions&) const = default;
};

/// A message that is received in a step. Switch agents are numbered after the ranks.
struct StepTransfer {
  Rank from = 0;
  Rank to = 0;
  std::uint32_t lane = 0;  ///< of its connection
  ChunkRange chunks;
  bool reduce = false;  ///< added to what the receiver holds; else it replaces that
  /// Numbers of each of its chunks (initial_values()): what the receiver had just before, and what
  /// came. Messages for one receiver are added in the order in which they are listed.
  std::vector<std::int32_t> had{};
  std::vector<std::int32_t> came{};
  std::vector<Contributions> whose{};  ///< contributions in what came, by chunk
};

/// What happens in one unit of time, in which every message takes one unit.
struct Step {
  std::string phase;  ///< of its messages; "a + b" where phases overlap
  std::vector<StepTransfer> transfers;
  /// What is held after the step: [participant * chunks + chunk]; by a switch, what it passed on
  /// last.
  std::vector<Contributions> buffers;
  std::vector<std::int32_t> values;  ///< the same as numbers, added as the plan adds
};

/// What every participant holds before the call: [participant * chunks + chunk] of a channel.
std::vector<Contributions> initial_buffers(const Plan& plan, std::uint32_t channel = 0);
/// What every participant holds before, as numbers that are easy to add: rank r has r + 1 in each
/// of its chunks, 0 where it has nothing.
std::vector<std::int32_t> initial_values(const Plan& plan, std::uint32_t channel = 0);

/// Where the numbers after the last step are not what the collective promises, in words: "rank 2
/// has 7 in chunk 0, not 10". If channels divide the chunks of the plan,
/// only chunks that this channel has changed are compared.
std::optional<std::string> wrong_value(const Plan& plan, std::uint32_t channel,
                                       std::span<const std::int32_t> values);

/// Runs one loop of a channel as a textbook shows it: every message takes one step, and a primitive
/// sends in the step after the one in which it has received; unlimited credits. A message is listed
/// in the step in which it is received, which for a child that has less to wait for than its
/// siblings is later than it could have been sent. Precondition: check() finds nothing. Throws
/// InputError for more than max_replayed_ranks ranks.
std::vector<Step> replay_steps(const Plan& plan, std::uint32_t channel = 0);

}  // namespace collsim
