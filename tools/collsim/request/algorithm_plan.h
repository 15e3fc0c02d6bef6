#pragma once

#include <optional>
#include <string>

#include "sim/algorithms/registry.h"
#include "sim/algorithms/schedule_fault.h"
#include "sim/plan/collective.h"
#include "sim/plan/plan.h"

namespace collsim::command {

// Plans by their names, for the commands that show and prove them: those of make_plan(), and NCCL's
// plans that no textbook has (nvls, nvls_tree, collnet_direct, collnet_chain, pat). NCCL's plans
// need the same number of ranks on every node, and every rank is the head of a stripe.

/// Why there is no such plan on the placement, and what is accepted; nothing if there is one.
/// Throws InputError for an unknown name.
std::optional<std::string> why_no_named_plan(Collective collective, const std::string& name,
                                             const Placement& placement);

/// Throws InputError if why_no_named_plan() has a reason, or the root is not a rank.
Plan named_plan(Collective collective, const std::string& name, const Placement& placement,
                std::uint32_t channels = 1, Rank root = 0);

/// A contribution that a schedule file's plan misses or doubles; nothing if it is right, no file,
/// or of more ranks than replay_steps() takes.
std::optional<ScheduleFault> written_fault(const Plan& plan, const Placement& placement);

}  // namespace collsim::command
