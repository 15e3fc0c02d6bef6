#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "models/program/call_program.h"

namespace collsim {

/// The call in which a group of ranks waits for groups that have not come to it.
struct WaitingCall {
  std::uint32_t op = 0;
  ProgramCall call{};
  std::vector<std::uint32_t> waited_for{};
};

/// Throws HangError, which names the shortest cycle of groups that wait for each other, or all that
/// wait if there is none, each with its op and its call. `waiting` is by group.
[[noreturn]] void report_hang(const CallProgram& program,
                              const std::vector<std::optional<WaitingCall>>& waiting);

}  // namespace collsim
