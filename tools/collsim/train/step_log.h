#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/file_format.h"
#include "sim/base/text_file.h"
#include "tools/collsim/train/training_setup.h"

namespace collsim {

/// What a line of a job's log says of its speed.
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
  /// The layout as options of `collsim train`, with their values: {"tp", "8"}.
  std::vector<std::pair<std::string, std::string>> layout{};
  std::int64_t ranks = 0;  ///< of the job; 0: not said
};

/// How the log of a job is read. Lines are those of Megatron, Megatron Bridge, NeMo, DeepSpeed,
/// torchtitan, torchtune, Hugging Face (also progress bars of tqdm), composer, MaxText and nanoGPT.
using StepLogFormat = ReadFormat<FileKind::steps, StepLog(const TextFile& text)>;

/// Reads such a log. Throws InputError where it has no line that says how long a step takes.
StepLog read_step_log(const TextFile& text);

/// Times of steps of a layout, by what the lines say. The first one warms up, and is left out
/// where there are others.
std::vector<Seconds> step_times(const StepLog& log, const TrainingSetup& setup);

}  // namespace collsim
