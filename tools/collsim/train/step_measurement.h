#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/collsim/traces/job_trace.h"
#include "tools/collsim/train/step_explanation.h"
#include "tools/collsim/train/step_log.h"

namespace collsim::command {

/// What a person has of a measured step: its time, a job's log, or traces of its ranks.
struct StepMeasurement {
  std::string name{};  ///< of the log, or of the first trace
  std::optional<Seconds> time{};
  std::optional<StepLog> log{};
  std::vector<RankTrace> traces{};
};

/// Reads `4.2s`, or files. Throws InputError for what is none of them, and for several times or
/// logs.
StepMeasurement read_measurement(const std::vector<std::string>& what);

/// The arguments with those options of the layout added that only the log says, in their order.
std::vector<std::string> with_layout(const StepMeasurement& measurement,
                                     std::vector<std::string> args);

/// The measured step of a job of that layout: the median of a log's steps, or the mean of the
/// traces' ranks. A communicator of a trace has the layout's name (tp, dp, pp) where its ranks are
/// those of the layout. Throws InputError where the log says another number of ranks.
MeasuredStep measured_step(const StepMeasurement& measurement, const TrainingSetup& setup);

}  // namespace collsim::command
