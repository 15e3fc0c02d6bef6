#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace collsim {

/// The parts of a text between separators, those that are not empty.
std::vector<std::string> split(std::string_view text, char separator);

}  // namespace collsim
