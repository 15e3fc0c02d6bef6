#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace collsim::command {

/// What computes the answers; `analytic` is the model of `collsim estimate`.
enum class EngineName : std::uint8_t { native, simgrid, analytic };

/// The value of --engine: auto, native, simgrid or analytic. Throws InputError for others, and
/// where SimGrid is left out.
EngineName parse_engine(const std::string& name);

/// "native", "simgrid", "analytic".
std::string_view name_of(EngineName engine_name);

}  // namespace collsim::command
