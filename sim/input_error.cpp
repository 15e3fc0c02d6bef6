#include "sim/input_error.h"

#include <fmt/format.h>

namespace collsim {

std::string to_string(const SourcePosition& position) {
  if (position.line == 0) return position.file;
  if (position.column == 0) return fmt::format("{}:{}", position.file, position.line);
  return fmt::format("{}:{}:{}", position.file, position.line, position.column);
}

InputError::InputError(const SourcePosition& position, const std::string& wrong,
                       const std::string& accepted)
    : std::runtime_error(fmt::format("{}: {}; {}", to_string(position), wrong, accepted)) {}

InputError::InputError(const std::string& wrong, const std::string& accepted)
    : std::runtime_error(fmt::format("{}; {}", wrong, accepted)) {}

}  // namespace collsim
