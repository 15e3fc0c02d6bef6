#pragma once

#include <boost/program_options.hpp>
#include <iosfwd>
#include <string>
#include <vector>

#include "tools/collsim/plan/step_plan.h"

namespace collsim::command {

/// What the options of `plan train` ask. Alternatives, prices and NCCL's run are the caller's to
/// fill in. Throws InputError.
StepPlanRequest read_step_plan(const boost::program_options::variables_map& values);

/// Adds to machines what `--fault` says of them: for each fault an alternative of each machine.
/// Throws InputError for faults that are not of links.
void add_faulty_machines(std::vector<Alternative>& alternatives,
                         const boost::program_options::variables_map& values);
/// Plans, and writes the answer. Gives the exit code: exit_answer_is_no where nothing meets the
/// deadline and the budget.
int answer_step_plan(StepPlanRequest& request, const boost::program_options::variables_map& values,
                     const std::string& command, std::ostream& out, std::ostream& err);

}  // namespace collsim::command
