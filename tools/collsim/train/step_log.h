#pragma once

#include <string>
#include <utility>
#include <vector>

#include "sim/base/text_file.h"
#include "tools/collsim/train/training_setup.h"

namespace collsim {

/// What a number of a job's log says of its speed.
enum class StepQuantity : std::uint8_t {
  seconds,             ///< of a step
  steps_per_second,    ///< of the job
  samples_per_second,  ///< sequences, of the job
  tokens_per_gpu,      ///< a second, of each GPU
};

/// What the log of a job of training says of its steps and its layout.
struct StepLog {
  std::string software{};  ///< whose lines they are: "Megatron"
  StepQuantity quantity = StepQuantity::seconds;
  std::vector<double> values{};  ///< of each line, in order
  /// Options of `collsim train` with their values: {"--tp", "8"}.
  std::vector<std::pair<std::string, std::string>> layout{};
};

/// Reads such a log by the words of models/data/step-logs.yaml. Throws InputError where no line
/// says how long a step takes, and at a mistake of that file.
StepLog read_step_log(const TextFile& text);

/// Times of steps of a layout, sorted, by what the lines say. The first one warms up, and is left
/// out where there are others.
std::vector<Seconds> step_times(const StepLog& log, const TrainingSetup& setup);

}  // namespace collsim
