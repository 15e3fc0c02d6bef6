#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tools/collsim/train/inference.h"
#include "tools/collsim/train/step_range.h"
#include "tools/collsim/train/training_setup.h"

namespace collsim {

/// What the software of a step does in its own way (models/data/software.yaml).
struct TrainingSoftware {
  StepSoftware step{};               ///< what has no option of its own
  std::vector<std::string> words{};  ///< one of them in the source of a row names it, ...
  std::string note{};                ///< ... if this is in its notes
  bool sequence_parallel = false;
  TensorOverlap tensor_overlap = TensorOverlap::none;
  bool overlap_gradients = true;
  AttentionKind attention = AttentionKind::flash2;
  bool whole_messages = false;
};

/// Reads the shipped models/data/software.yaml. Throws InputError at the place of a mistake.
std::vector<TrainingSoftware> load_software();

/// The serving engine of that name in the same file. Throws InputError likewise, or naming the
/// known ones.
ServingEngine find_engine(std::string_view option, std::string_view name);

/// The software of that name. Throws InputError that names `option` and the known ones.
const TrainingSoftware& find_software(const std::vector<TrainingSoftware>& all,
                                      std::string_view option, std::string_view name);

/// The first software that a row's source and notes name, or null.
const TrainingSoftware* software_in(const std::vector<TrainingSoftware>& all,
                                    std::string_view source, std::string_view notes);

/// Makes the setup one of that software. Calls run beside products where tensor-parallel ranks are
/// sequence parallel.
void apply_software(const TrainingSoftware& software, TrainingSetup& setup);

}  // namespace collsim
