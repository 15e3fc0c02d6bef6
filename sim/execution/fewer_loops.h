#pragma once

#include <optional>

#include "sim/execution/executor.h"
#include "sim/fabric/engine.h"

namespace collsim {

/// Sends and receives of many loops, nothing of which folds: told by executions of 1, 2 and 4
/// loops. Plan, chunks and last loop stay; full loops are left out of every message. What the last
/// two loops take, all others take: each message has a channel of its own, so that nothing is
/// filled or drained but at the ends (SteadyState asks for more, and such channels are too unlike
/// for it).
///
/// Nothing where the execution is no such one or does not ask for it (Execution::steady), would
/// take few seconds, or where its first loops say another time by more than half a per cent.
std::optional<ExecutionResult> execute_fewer_loops(const Execution& execution, Engine engine);

}  // namespace collsim
