#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "sim/topology.h"

namespace collsim {

/// What has to hold after the call; an Algorithm says how it is reached.
enum class Collective : std::uint8_t { all_reduce };

std::string_view to_string(Collective collective);
/// The collective of that name, or nothing.
std::optional<Collective> find_collective(std::string_view name);
std::span<const Collective> all_collectives();

/// busbw = algbw * factor: nccl-tests' figure that does not depend on the rank count on an ideal
/// machine. all_reduce: 2(N-1)/N (nccl-tests doc/PERFORMANCE.md).
double busbw_factor(Collective collective, Rank ranks);

}  // namespace collsim
