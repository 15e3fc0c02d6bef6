#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/base/input_error.h"
#include "sim/plan/collective.h"
#include "sim/plan/plan.h"
#include "sim/plan/schedule_builder.h"
#include "sim/plan/steps.h"

namespace collsim {

/// One message of a schedule that somebody wrote.
struct WrittenTransfer {
  Rank from = 0;
  Rank to = 0;
  ChunkRange chunks;
  bool reduce = false;  ///< added to what the receiver holds; else it replaces that
  std::uint32_t lane = 0;
  SourcePosition place{};
};

/// Messages that may go at the same time: all read what their senders held before the step.
struct WrittenStep {
  std::string phase;
  std::vector<WrittenTransfer> transfers;
};

/// A schedule for `ranks` ranks, message by message.
struct TransferList {
  Collective collective = Collective::all_reduce;
  Rank ranks = 1;
  Rank root = 0;
  std::uint32_t chunks = 1;
  std::vector<WrittenStep> steps;
};

/// Throws InputError, at the transfer, where a rank sends to itself, a rank or chunk is not there,
/// or lanes do not fit: a message needs values that two lanes received, or one connection is used
/// from two lanes.
void require_valid(const TransferList& list);

/// Lowers a valid list into the programs of a group of its ranks and chunks.
void emit(const TransferList& list, Group& group);

/// The messages of a plan's channel, by replay_steps().
TransferList transfers_of(const Plan& plan, std::uint32_t channel = 0);

}  // namespace collsim
