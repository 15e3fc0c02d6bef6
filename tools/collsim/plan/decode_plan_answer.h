#pragma once

#include <boost/program_options.hpp>
#include <iosfwd>
#include <string>
#include <vector>

#include "models/workload/decode_plan.h"

namespace collsim::command {

/// Adds the options of `plan --decode`.
void add_decode_options(boost::program_options::options_description& options);

/// Plans for decoding on these machines, by that NCCL, and writes the answer. Gives the exit code.
/// Throws InputError.
int answer_decode_plan(std::vector<Alternative> alternatives, RunSpec run,
                       const boost::program_options::variables_map& values,
                       const std::string& command, std::ostream& out, std::ostream& err);

}  // namespace collsim::command
