#pragma once

#include <string>

#include "tools/collsim/plan/step_plan.h"
#include "tools/collsim/report/answer.h"

namespace collsim::command {

/// One sentence that answers the question, a row for each machine and count, the assumptions, and
/// charts of the cost of a token and of the speed by GPUs.
Answer step_plan_answer(const StepPlanRequest& request, const StepPlan& plan,
                        const std::string& command);

}  // namespace collsim::command
