#pragma once

#include "models/estimate/call_time.h"
#include "sim/execution/thread_block_cost.h"
#include "sim/plan/collective.h"

namespace collsim {

/// PAT's binomial trees, of which every rank is at another place in each.
struct PatShape {
  Collective collective = Collective::all_gather;
  bool in_place = false;
  double ranks = 0;
  LinkKind slowest = LinkKind::nvlink;
  double speed = 1;  ///< of the slowest rank, as of a LaneSetting
  HopClass hop;
};

/// The time of a call by PAT. Derivation: docs/formulas.md.
FormulaTime pat_time(const PatShape& shape, const ThreadBlockCosts& costs,
                     const PipelineCall& call);

}  // namespace collsim
