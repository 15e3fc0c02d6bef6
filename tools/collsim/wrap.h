#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace collsim::command {

/// What a terminal is sure to show of a line.
inline constexpr std::size_t line_width = 80;

/// The words of the text in lines of at most line_width characters; longer words stand alone. The
/// first line begins with `first`, the others with `next`; each ends with a line end.
std::string wrapped(std::string_view text, std::string_view first, std::string_view next);

/// "a, b, c", wrapped and indented.
std::string wrapped_list(const std::vector<std::string>& names, std::string_view indent);

}  // namespace collsim::command
