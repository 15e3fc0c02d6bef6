#pragma once

#include <filesystem>
#include <vector>

#include "tools/recorder/run_list.h"

namespace collsim::recorder {

/// The runs that a plan (`collsim: recording-plan/1`, docs/formats.md) asks for, each choice of
/// ranks or hosts, algorithm, protocol, channels and environment a run of its own. Sizes are those
/// that the collective can really have on so many ranks. Throws InputError with file:line:col.
std::vector<Run> load_plan(const std::filesystem::path& path);

}  // namespace collsim::recorder
