#pragma once

#include <span>
#include <string>
#include <vector>

#include "models/program/program_schedule.h"
#include "tools/collsim/report/answer.h"
#include "tools/collsim/train/what_if.h"

namespace collsim::command {

/// The answer on a step of training, by its step_record(): for pages a headline, where its time
/// goes, and what each stream of each stage does, of a program of its first microbatches.
Answer step_answer(const Record& row, const CallProgram& program, const ProgramSchedule& schedule,
                   const std::string& command);

/// The page of a step of inference.
Answer inference_answer(const Record& row, const CallProgram& program,
                        const ProgramSchedule& schedule, const std::string& command);

/// Ends an answer that has one row: pages list all that it has.
void add_numbers(const Record& row, Answer& answer);

/// The page of a program of one's own: its groups, and what each of their streams does.
Answer program_answer(const CallProgram& program, const ProgramSchedule& schedule,
                      const std::string& command);

/// The page of the quickest layouts, as rows of add_step_row().
Answer search_answer(const std::string& machine, Table layouts, const std::string& command);

/// The page of measured steps beside predictions, as rows of comparison_record().
Answer validation_answer(std::vector<Record> rows, const std::string& command);

}  // namespace collsim::command
