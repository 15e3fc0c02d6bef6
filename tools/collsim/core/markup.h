#pragma once

#include <string>
#include <string_view>

namespace collsim::command {

/// A text as HTML and SVG have it, also inside quotes: nothing in it is taken for markup.
std::string escaped(std::string_view text);

}  // namespace collsim::command
