#pragma once

#include <optional>
#include <string>

#include "sim/algorithms/registry.h"

namespace collsim {

/// The schedule of an algorithm whose sums and copies an NVSwitch makes (multimem loads and stores
/// of NVLink SHARP). It is written out, since a textbook's transfers know no switch. The switch is
/// participant `ranks`.
using SwitchSchedule = Schedule (*)(Rank ranks);

/// Returns the switch's part of the algorithm, or null where ranks do all themselves.
SwitchSchedule switch_schedule_of(const Algorithm& algorithm);

/// Nothing, or why no NVSwitch joins all the ranks: they are in several nodes.
std::optional<std::string> unsupported_by_switch(const Placement& placement,
                                                 const Algorithm* inter);

/// Every rank loads the sum of the whole buffer: the switch reads S of each rank for each.
Schedule multimem_one_shot_schedule(Rank ranks);
/// Every rank loads the sum of its part and stores it to all.
Schedule multimem_two_shot_schedule(Rank ranks);
/// Every rank stores its part to all.
Schedule multimem_all_gather_schedule(Rank ranks);
/// Every rank loads the sum of its part.
Schedule multimem_reduce_scatter_schedule(Rank ranks);

}  // namespace collsim
