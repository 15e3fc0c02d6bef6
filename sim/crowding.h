#pragma once

#include <cstdint>
#include <vector>

#include "sim/binding.h"
#include "sim/plan.h"
#include "sim/thread_block_cost.h"
#include "sim/wiring.h"

namespace collsim {

/// By resource of the wiring: how many thread blocks send through it in a call.
std::vector<std::uint32_t> count_senders(const Plan& plan, const Binding& binding,
                                         const Wiring& wiring);

/// By rank of a channel: what is left of its thread block's rate beside those that it shares its
/// links with. `kinds` are slowest_links(), `senders` count_senders().
std::vector<double> crowded_shares(const Schedule& schedule, const std::vector<Wire>& wires,
                                   const std::vector<BytesPerSecond>& capacities,
                                   const std::vector<std::uint32_t>& senders,
                                   const std::vector<LinkKind>& kinds,
                                   const ThreadBlockCosts& costs);

}  // namespace collsim
