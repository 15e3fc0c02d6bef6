#include "models/program/call_order.h"

#include <optional>
#include <utility>
#include <vector>

#include "models/program/program_schedule.h"
#include "sim/execution/machine_events.h"

namespace collsim {

namespace {

/// Calls that take no time.
class TimelessCalls : public CallCosts {
 public:
  CallCost cost_of(const ProgramCommunicator& /*communicator*/,
                   const ProgramCall& /*call*/) override {
    return {};
  }
};

/// Why a program does not end; nothing if it does.
std::optional<std::string> hang_of(const CallProgram& program) {
  TimelessCalls calls;
  try {
    schedule_program(program, calls);
    return std::nullopt;
  } catch (const HangError& error) {
    return std::string(error.what());
  }
}

}  // namespace

CallProgram one_call_at_a_time(CallProgram program) {
  for (RankGroup& group : program.groups) {
    const auto calls = static_cast<std::uint32_t>(group.streams.size());
    group.streams.emplace_back("calls");
    std::vector<std::optional<std::uint32_t>> last(group.streams.size());
    for (std::uint32_t i = 0; i < group.ops.size(); ++i) {
      ProgramOp& op = group.ops[i];
      // What came before it on its own stream still does.
      if (last[op.stream]) op.after.push_back(*last[op.stream]);
      last[op.stream] = i;
      if (!op.computes()) op.stream = calls;
    }
  }
  return program;
}

CallOrderVerdict check_call_order(const CallProgram& program) {
  CallOrderVerdict verdict;
  if (const auto hang = hang_of(program)) {
    verdict.hangs = true;
    verdict.why = *hang;
    return verdict;
  }
  if (const auto hang = hang_of(one_call_at_a_time(program))) {
    verdict.hangs_one_at_a_time = true;
    verdict.why = *hang;
  }
  return verdict;
}

}  // namespace collsim
