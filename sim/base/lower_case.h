#pragma once

#include <string>
#include <string_view>

namespace collsim {

/// The text with the letters A to Z in lower case; all else as it is.
std::string lower_case(std::string_view text);

}  // namespace collsim
