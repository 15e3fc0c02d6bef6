#pragma once

#include <string>

namespace collsim::command {

/// A drawing as a PNG of twice its size, by librsvg's `rsvg-convert`, which has to be on the PATH.
/// Throws InputError where it is not, or where it fails.
std::string png_of(const std::string& svg);

}  // namespace collsim::command
