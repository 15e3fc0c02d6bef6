#pragma once

#include <optional>
#include <string>

#include "sim/algorithms/registry.h"

namespace collsim {

class Group;

/// Nothing, or that there are too many ranks for an algorithm in which every pair is connected.
std::optional<std::string> unsupported_by_pairs(const Placement& placement, const Algorithm* inter);

/// Every rank sends chunk r to rank r, which adds it up. Each begins with the rank after its own,
/// so that no two send to the same rank at a time. The group has as many chunks as ranks.
void scatter_to_owners(Group& group);
/// Every rank r sends chunk r to all others.
void gather_from_owners(Group& group);

}  // namespace collsim
