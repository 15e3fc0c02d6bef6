#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace collsim::command {

/// The line width that every terminal shows.
inline constexpr std::size_t line_width = 80;

/// Wraps the text into lines of at most line_width characters. Longer words get their own line. The
/// first line begins with `first`, the others with `next`. Each ends with a line end.
std::string wrapped(std::string_view text, std::string_view first, std::string_view next);

}  // namespace collsim::command
