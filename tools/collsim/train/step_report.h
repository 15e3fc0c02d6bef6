#pragma once

#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/program/program_schedule.h"
#include "tools/collsim/report/answer.h"
#include "tools/collsim/train/published_steps.h"
#include "tools/collsim/train/training_step.h"

namespace collsim::command {

/// What a GPU costs an hour, and who says so.
struct StepPrice {
  double per_hour = 0;
  std::string currency{};
  std::string source{};
};

/// Adds a step to a table of layouts.
void add_step_row(const std::string& machine, const TrainingSetup& setup,
                  const StepPrediction& step, const std::optional<StepPrice>& price, Table& table);
/// The step as a row for programs.
Record step_record(const std::string& machine, const TrainingSetup& setup,
                   const StepPrediction& step, const std::optional<StepPrice>& price);

/// What a million tokens cost.
Fact token_fact(double cost, const StepPrice& price);

/// What is asked: model, machine, layout, batch.
std::vector<Note> layout_notes(const std::string& machine, const TrainingSetup& setup);
/// Warns where no step on the machine's GPUs was measured.
void warn_of_kernels(const StepMachine& machine, std::ostream& err);

/// Adds a step in words: its time and parts, memory by part, speed, cost.
void add_step(const std::string& machine, const TrainingSetup& setup, const StepPrediction& step,
              const std::optional<StepPrice>& price, Answer& answer);

/// Says how a batch is divided by speed, and what the step takes with equal parts; the same in a
/// row.
std::string division_words(const TrainingSetup& setup, const StepPrediction& step);
void add_division(Record& row, const StepPrediction& step);

/// A column for each key of the row.
std::vector<Column> columns_of(const Record& row);

/// What the groups of ranks of a program do.
Table schedule_table(const CallProgram& program, const ProgramSchedule& schedule);

/// When each stream of each group does what: a line a stream, a letter for the op that takes most
/// of a column's time (of its name; small where calls wait for others), a dot for nothing.
void print_timeline(const CallProgram& program, const ProgramSchedule& schedule, std::ostream& out);

/// A published step beside its prediction, as a row for programs.
Record comparison_record(const StepComparison& comparison);
/// Scores by group, and what was left out.
AnswerSection score_section(const PublishedSteps& steps, std::span<const StepScore> scores);

}  // namespace collsim::command
