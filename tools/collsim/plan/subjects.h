#pragma once

#include <boost/program_options.hpp>
#include <set>
#include <string>
#include <vector>

#include "tools/collsim/core/waiting.h"
#include "tools/collsim/plan/step_plan.h"
#include "tools/collsim/report/answer.h"

namespace collsim::command {

/// What `plan` says of a subject.
struct PlannedAnswer {
  Answer answer;
  std::set<std::string> warnings;
  bool met = true;  ///< whether anything meets the deadline and the budget, or the target
};

/// Plans whole steps of training. The request has alternatives, prices and NCCL's run; the options
/// say the rest. Throws InputError.
PlannedAnswer plan_training(StepPlanRequest request,
                            const boost::program_options::variables_map& values,
                            const std::string& command, Waiting& waiting);

/// Plans for decoding on these machines, by that NCCL. Throws InputError.
PlannedAnswer plan_decoding(std::vector<Alternative> alternatives, RunSpec run,
                            const boost::program_options::variables_map& values,
                            const std::string& command);

/// Plans the exchange of a mixture of experts on these machines. Throws InputError.
PlannedAnswer plan_expert_exchange(std::vector<Alternative> alternatives,
                                   const boost::program_options::variables_map& values,
                                   const std::string& command);

}  // namespace collsim::command
