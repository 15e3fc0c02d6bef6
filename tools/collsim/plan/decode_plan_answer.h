#pragma once

#include <boost/program_options.hpp>
#include <iosfwd>
#include <string>
#include <vector>

#include "tools/collsim/plan/decode_plan.h"

namespace collsim::command {

/// Plans for decoding on these machines, by that NCCL, and writes the answer. Gives the exit code.
/// Throws InputError.
int answer_decode_plan(std::vector<Alternative> alternatives, RunSpec run,
                       const boost::program_options::variables_map& values,
                       const std::string& command, std::ostream& out, std::ostream& err);

}  // namespace collsim::command
