#pragma once

#include <optional>
#include <string>

#include "tools/collsim/train/inference.h"
#include "tools/collsim/train/step_report.h"

namespace collsim::command {

/// A step of inference as a row for programs.
Record inference_record(const std::string& machine, const InferenceSetup& setup,
                        const InferencePrediction& step, const std::optional<StepPrice>& price);

/// Adds the same in words: time of a token, its parts, speed, memory by part, cost.
void add_inference(const std::string& machine, const InferenceSetup& setup,
                   const InferencePrediction& step, const std::optional<StepPrice>& price,
                   Answer& answer);

}  // namespace collsim::command
