#pragma once

#include <string>
#include <string_view>

#include "sim/nccl/nccl_version.h"

namespace collsim {

/// Reads "2.28.9", or "2.28", which is the last of that series. Throws InputError for anything else
/// or a release that is not known.
NcclVersion parse_nccl_version(std::string_view text);

/// The release that a log names, or the nearest whose rules are known; default_nccl_version where
/// the text begins with no release.
NcclVersion nearest_nccl_version(std::string_view logged);

/// Writes a release as "2.28.9"; the last one of a series is "2.28".
std::string to_string(NcclVersion version);

}  // namespace collsim
