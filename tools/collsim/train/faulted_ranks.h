#pragma once

#include <vector>

#include "models/program/call_costs.h"

namespace collsim {

/// Which ranks of a job faults of links can slow.
struct FaultedRanks {
  bool any = false;  ///< whether there are faults
  /// By rank, whether a fault is of a link of its node. Ranks of other nodes meet it, too, in calls
  /// with these.
  std::vector<bool> near{};
  bool between_switches = false;  ///< of links that belong to no node
};

/// Finds them.
FaultedRanks faulted_ranks(const MachineCalls& calls);

/// Communicators of a step stand for others like them: those of the other ranks of their groups. On
/// a machine with faults all of a group wait for the slowest, so that it has to stand for them.
/// Moves each communicator to the ranks of those like it whose largest call takes longest. The
/// program's groups must have consecutive ranks, as those of training_program() have.
void move_to_slowest(CallProgram& program, const FaultedRanks& faulted, CallCosts& costs);

}  // namespace collsim
