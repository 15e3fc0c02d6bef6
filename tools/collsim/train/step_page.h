#pragma once

#include <span>
#include <string>
#include <vector>

#include "models/program/program_schedule.h"
#include "tools/collsim/report/report.h"
#include "tools/collsim/train/what_if.h"

namespace collsim::command {

/// What the page of a step of training shows.
struct StepPageParts {
  Record row;
  std::vector<BucketTime> buckets;  ///< that were tried, if any
  std::vector<Remedy> remedies;     ///< likewise
  const CallProgram& program;       ///< of the first microbatches
  const ProgramSchedule& schedule;
  std::string command;
};

/// The page of a step of training: a headline, where its time goes, what each stream of each stage
/// does, what was tried, all numbers.
Report step_page(const StepPageParts& parts);

/// Of a step of inference.
Report inference_report(const Record& row, const CallProgram& program,
                        const ProgramSchedule& schedule, const std::string& command);

/// Of a program of one's own: its groups, and what each of their streams does.
Report program_report(const CallProgram& program, const ProgramSchedule& schedule,
                      const std::string& command);

/// Of the quickest layouts, as rows of step_record().
Report search_report(const std::string& machine, std::span<const Record> rows,
                     const std::string& command);

/// Of measured steps beside predictions, as rows of comparison_record().
Report validation_report(std::span<const Record> rows, const std::string& command);

}  // namespace collsim::command
