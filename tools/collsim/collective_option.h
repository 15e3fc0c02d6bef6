#pragma once

#include <boost/program_options.hpp>

#include "sim/collective.h"

namespace collsim::command {

/// The value of the option "collective". Throws InputError naming those there are.
Collective collective_option(const boost::program_options::variables_map& values);

}  // namespace collsim::command
