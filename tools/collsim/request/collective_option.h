#pragma once

#include <boost/program_options.hpp>
#include <optional>
#include <string>

#include "sim/plan/collective.h"

namespace collsim::command {

/// The collective of that name, as --collective takes it. Throws InputError.
Collective parse_collective(const std::string& name);

/// The value of --collective. Throws InputError.
Collective collective_option(const boost::program_options::variables_map& values);

/// What --collective says or, where nobody gave it, what the schedule file is of that --algorithm
/// names first; nothing where it names none. Throws InputError.
std::optional<Collective> asked_collective(const boost::program_options::variables_map& values);

}  // namespace collsim::command
