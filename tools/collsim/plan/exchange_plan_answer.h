#pragma once

#include <boost/program_options.hpp>
#include <iosfwd>
#include <string>
#include <vector>

#include "tools/collsim/plan/exchange_plan.h"

namespace collsim::command {

/// Plans the exchange of a mixture of experts on these machines, and writes the answer. Gives the
/// exit code. Throws InputError.
int answer_exchange_plan(std::vector<Alternative> alternatives,
                         const boost::program_options::variables_map& values,
                         const std::string& command, std::ostream& out, std::ostream& err);

}  // namespace collsim::command
