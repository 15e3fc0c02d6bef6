#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sim/algorithms/transfer_list.h"

namespace collsim {

/// Why a schedule is wrong: one contribution that one rank has too seldom or too often in the end,
/// and where that came about.
struct ScheduleFault {
  enum class Kind : std::uint8_t {
    never_sent,      ///< no message of the chunk comes to the rank after its contribution was ready
    not_in_message,  ///< the last message of the chunk comes without it
    overwritten,     ///< a copy without it replaced it
    doubled,         ///< it was added to a sum that had it
    foreign,         ///< a rank gets what it must not have
  };
  Kind kind = Kind::never_sent;
  Rank rank = 0;
  std::uint32_t chunk = 0;
  Rank origin = 0;          ///< whose contribution
  std::uint32_t count = 0;  ///< how often the rank has it in the end
  std::uint32_t due = 0;    ///< how often it must
  /// The step, from 1, and its message that did it; 0 and nothing where no message did.
  std::uint32_t step = 0;
  std::optional<WrittenTransfer> transfer{};
  std::string text;  ///< all of it as a sentence
};

/// The first fault of a valid schedule, by chunk, origin and rank; nothing if every rank has in the
/// end what the collective promises. Looks ranks x chunks times at all messages of a chunk.
std::optional<ScheduleFault> find_fault(const TransferList& list);

/// The first fault of a schedule that has been made a plan, with the steps of replay_steps(), which
/// people see; places are those of `written`.
std::optional<ScheduleFault> find_fault(const TransferList& written, const Plan& plan);

}  // namespace collsim
