#pragma once

#include <cstdint>
#include <vector>

#include "models/estimate/call_time.h"
#include "models/estimate/step_time.h"
#include "sim/execution/thread_block_cost.h"
#include "sim/plan/protocol.h"

namespace collsim {

/// Steps of a textbook's algorithm in which all ranks do the same with other peers each.
struct TextbookPhase {
  /// Who sends to whom by classes of ranks: a ring, or one hop where a pair is by itself. Unlike
  /// ones only.
  std::vector<Ring> circuits;
  StepProgram program;
  double chunks = 1;        ///< of the loop, in a message
  std::uint32_t lane = 0;   ///< of the thread block, where it has several
  bool one_by_one = false;  ///< a rank sends them all without waiting for any
  bool streams = false;     ///< one loop follows the other without waiting for its end
};

/// A textbook's algorithm on one channel of a machine.
struct TextbookShape {
  std::vector<TextbookPhase> phases;
  /// Whether a loop's phases run while the one before is in later ones, as in trees and chains;
  /// else ranks end a loop before they begin the next.
  bool pipelined = false;
  /// The operations of the lanes of a thread block, unlike ones only. For pipelines.
  std::vector<std::vector<MemoryOps>> blocks;
  LinkKind slowest = LinkKind::nvlink;
  double speed = 1;  ///< of the slowest rank, as of a LaneSetting
};

/// What the first channel carries, which has the largest share.
struct TextbookCall {
  Protocol protocol = Protocol::simple;
  StepSetting setting{};
  std::uint32_t loops = 0;
  double chunk = 0;   ///< bytes
  double filled = 1;  ///< share of the chunks that have data
};

/// The time of a call. Derivation: docs/estimate.md.
FormulaTime textbook_time(const TextbookShape& shape, const ThreadBlockCosts& costs,
                          const TextbookCall& call);

}  // namespace collsim
