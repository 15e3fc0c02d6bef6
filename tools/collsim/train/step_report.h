#pragma once

#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/program/program_schedule.h"
#include "models/workload/published_steps.h"
#include "models/workload/training_step.h"
#include "tools/collsim/report/records.h"

namespace collsim::command {

/// What a GPU costs an hour, and who says so.
struct StepPrice {
  double per_hour = 0;
  std::string currency{};
  std::string source{};
};

/// A step as a row for programs.
Record step_record(const std::string& machine, const TrainingSetup& setup,
                   const StepPrediction& step, const std::optional<StepPrice>& price);

/// A step in words: its time and parts, memory by part, speed, cost.
void print_step(const std::string& machine, const TrainingSetup& setup, const StepPrediction& step,
                const std::optional<StepPrice>& price, std::ostream& out);

/// Says how a batch is divided by speed, and what the step takes with equal parts; the same in a
/// row.
void print_division(const TrainingSetup& setup, const StepPrediction& step, std::ostream& out);
void add_division(Record& row, const StepPrediction& step);

/// Layouts, one a line.
void print_layouts(std::span<const FoundLayout> layouts, std::ostream& out);

/// What a group of ranks of a program does, as a row for programs.
Record group_record(const CallProgram& program, const ProgramSchedule& schedule, std::size_t group);
/// All of them, as a table.
void print_schedule(const CallProgram& program, const ProgramSchedule& schedule, std::ostream& out);

/// When each stream of each group does what: a line a stream, a letter for the op that takes most
/// of a column's time (of its name; small where calls wait for others), a dot for nothing.
void print_timeline(const CallProgram& program, const ProgramSchedule& schedule, std::ostream& out);

/// Published steps beside predictions, as rows for programs; scores by group, as a table.
Record comparison_record(const StepComparison& comparison);
void print_scores(const PublishedSteps& steps, std::span<const StepScore> scores,
                  std::ostream& out);

}  // namespace collsim::command
