#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace collsim::command {

/// The line width that every terminal shows.
inline constexpr std::size_t line_width = 80;

/// Wraps the text into lines of at most line_width characters. Longer words get their own line. The
/// first line begins with `first`, the others with `next`. Each ends with a line end.
std::string wrapped(std::string_view text, std::string_view first, std::string_view next);

/// The names as "a, b, c", wrapped to line_width; every line begins with `indent`.
std::string wrapped_list(const std::vector<std::string>& names, std::string_view indent);

}  // namespace collsim::command
