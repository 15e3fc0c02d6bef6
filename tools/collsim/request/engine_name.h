#pragma once

#include <boost/any.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/simulate/method.h"

namespace collsim::command {

/// What computes the answers; `analytic` is the model of `collsim estimate`.
enum class EngineName : std::uint8_t { native, simgrid, analytic };

/// Reads --engine for boost::program_options: auto, native, simgrid or analytic. Throws InputError
/// where SimGrid is left out.
void validate(boost::any& value, const std::vector<std::string>& texts, EngineName* target, int);

/// `exact`: where it simulates, every message of every rank.
Method method_of(EngineName engine_name, bool exact);

/// The word of `--engine`: "native", "simgrid" or "analytic".
std::string_view name_of(EngineName engine_name);

}  // namespace collsim::command
