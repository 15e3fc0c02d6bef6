#pragma once

#include <boost/program_options.hpp>
#include <string>

#include "sim/plan/collective.h"

namespace collsim::command {

/// The collective of that name, as --collective takes it. Throws InputError.
Collective parse_collective(const std::string& name);

/// The value of --collective. Throws InputError.
Collective collective_option(const boost::program_options::variables_map& values);

}  // namespace collsim::command
