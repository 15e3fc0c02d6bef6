#pragma once

#include <cstdint>
#include <optional>

#include "models/estimate/call_time.h"
#include "models/estimate/step_time.h"
#include "sim/plan/collective.h"
#include "sim/topologies/topology.h"

namespace collsim {

/// What the ranks of a ring do in one loop, read from the plan.
struct RingPrograms {
  /// Whether every rank begins by itself, so that receives close a circle and all are in step. Else
  /// one rank begins.
  bool in_step = true;
  StepProgram own{};                  ///< of any rank that is in step
  std::optional<Primitives> first{};  ///< else: of the rank that begins,
  std::optional<Primitives> inner{};  ///< of those between,
  Primitives end{};                   ///< and of the last
};

/// The programs of NCCL's ring over `ranks` ranks.
RingPrograms ring_programs(Collective collective, Rank ranks, bool in_place);

/// What a ring carries on its busiest channel, and how it is cut.
struct RingCall {
  const RingPrograms* programs = nullptr;
  Rank ranks = 0;
  StepSetting setting{};
  /// The share of the way round a ring that lies between two calls of a rooted collective on
  /// several rings: a rank has another place on each ring, and begins its next call when it has
  /// ended the last on all.
  double turn = 0;
  double startup = 0;  ///< of a call, in seconds
  double calls = 1;    ///< in a row
  std::uint32_t loops = 0;
  double full = 0;    ///< bytes of a chunk in all loops but the last,
  double last = 0;    ///< in the last,
  double filled = 0;  ///< in which so many chunks of a loop have data
};

/// The time of a call over one ring. Derivation: docs/algorithms.md.
FormulaTime ring_time(const Ring& ring, const ThreadBlockCosts& costs, const RingCall& call);

}  // namespace collsim
