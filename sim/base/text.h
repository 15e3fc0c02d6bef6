#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace collsim {

/// The text with its letters A to Z in lower case.
std::string lower_case(std::string_view text);

/// The parts of a text between separators, those that are not empty.
std::vector<std::string> split(std::string_view text, char separator);

/// Whether a name is as a shell's pattern says: `*` is any text, `?` any one character, `[ab]` one
/// of several.
bool matches(const std::string& pattern, const std::string& name);

}  // namespace collsim
