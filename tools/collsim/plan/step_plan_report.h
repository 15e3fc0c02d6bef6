#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "models/workload/step_plan.h"
#include "tools/collsim/report/report.h"

namespace collsim::command {

/// A row for programs for each machine and count.
std::vector<Record> step_plan_records(const StepPlanRequest& request, const StepPlan& plan);

/// One sentence that answers the question, for people who read no more.
std::string step_plan_headline(const StepPlanRequest& request, const StepPlan& plan);

/// The headline, a table, the assumptions.
void print_step_plan(const StepPlanRequest& request, const StepPlan& plan, std::ostream& out);

/// The same as a page, with the cost of a token and the speed by GPUs.
Report step_plan_report(const StepPlanRequest& request, const StepPlan& plan,
                        const std::string& command);

}  // namespace collsim::command
