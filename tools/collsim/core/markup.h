#pragma once

#include <string>
#include <string_view>

namespace collsim::command {

/// A text as HTML and SVG have it, also inside quotes: nothing in it is taken for markup.
std::string escaped(std::string_view text);

/// JSON as it stands inside a script element: each "<" is spelled out, so that no text in it ends
/// the element (`</script>`) or hides its end (`<!--<script>`).
std::string script_json(std::string_view json);

}  // namespace collsim::command
