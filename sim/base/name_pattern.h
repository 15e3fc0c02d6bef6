#pragma once

#include <string>

namespace collsim {

/// Whether a name is as a shell's pattern says: `*` is any text, `?` any one character, `[ab]` one
/// of several.
bool matches(const std::string& pattern, const std::string& name);

}  // namespace collsim
