#pragma once

#include <optional>
#include <string>

#include "sim/algorithms/registry.h"
#include "sim/plan/collective.h"
#include "sim/plan/plan.h"

namespace collsim::command {

// Plans that a person names, for the commands that show and prove them: those of make_plan(), and
// those of NCCL's that are no textbook's (nvls, nvls_tree, collnet_direct, collnet_chain, pat), on
// equally full nodes of which every rank heads a stripe.

/// Nothing, or why there is no such plan on the placement and what would do. Throws InputError for
/// an unknown name.
std::optional<std::string> why_no_named_plan(Collective collective, const std::string& name,
                                             const Placement& placement);

/// Throws InputError where why_no_named_plan() has a reason, or the root is no rank.
Plan named_plan(Collective collective, const std::string& name, const Placement& placement,
                std::uint32_t channels = 1, Rank root = 0);

}  // namespace collsim::command
