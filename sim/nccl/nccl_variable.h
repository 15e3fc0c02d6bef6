#pragma once

#include <string_view>

namespace collsim {

/// Whether an environment variable whose name begins with NCCL_ can be a setting of NCCL's: not
/// those by which images of containers and builds say which NCCL they have, and where.
bool is_nccl_setting(std::string_view variable);

}  // namespace collsim
