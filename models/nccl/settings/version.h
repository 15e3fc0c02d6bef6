#pragma once

#include <string>
#include <string_view>

#include "sim/nccl/nccl_version.h"

namespace collsim {

/// Reads "2.28.9", or "2.28", which is the last of that series. Throws InputError for anything else
/// or a release that is not known.
NcclVersion parse_nccl_version(std::string_view text);

/// "2.28.9"; "2.28" for the last of a series.
std::string to_string(NcclVersion version);

}  // namespace collsim
