#pragma once

#include <string_view>

namespace collsim {

/// Whether a name is as a pattern says, in which `*` stands for any text and `?` for any one
/// character.
bool matches(std::string_view pattern, std::string_view name);

}  // namespace collsim
