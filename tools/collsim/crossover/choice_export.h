#pragma once

#include <string>

#include "tools/collsim/crossover/choice_map_report.h"

namespace collsim::command {

/// A map as a configuration file of NCCL's example tuner plug-in: a rule for sizes at which NCCL's
/// choice loses more than the error of such predictions, simulated; for others none, so that NCCL
/// chooses. Comments say what each rule rests on. The channels are always named, since the plug-in
/// would run one.
std::string tuner_file_of(const ChoiceMap& map);

/// The variables that lose least over the sizes of a map's only row, as a shell reads them, with
/// the reason as comments. No variables where NCCL's own choice loses least, or no more than the
/// error.
std::string environment_of(const ChoiceMap& map);

}  // namespace collsim::command
