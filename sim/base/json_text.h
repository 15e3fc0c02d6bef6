#pragma once

#include <string>

namespace collsim {

/// JSON as text, on one line or indented by `indent` blanks. A string in it that is not UTF-8 (a
/// file's name, a word of a log) gets U+FFFD for what is not, where dump() alone would throw.
template <typename Json>
std::string json_text(const Json& json, int indent = -1) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace collsim
