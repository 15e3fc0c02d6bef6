#pragma once

#include <string>

#include "tools/collsim/choice_map_report.h"

namespace collsim::command {

/// A map as a configuration file of NCCL's example tuner plug-in: the fastest for every size, those
/// beyond the sweep as its ends. The channels are always named, since the plug-in would run one.
std::string tuner_file_of(const ChoiceMap& map);

/// The variables that lose least over the sizes of a map's only row, as a shell reads them, with
/// the reason as comments. No variables where NCCL's own choice loses least.
std::string environment_of(const ChoiceMap& map);

}  // namespace collsim::command
