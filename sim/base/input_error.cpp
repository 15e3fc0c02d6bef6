#include "sim/base/input_error.h"

namespace collsim {

std::string to_string(const SourcePosition& position) {
  std::string text = position.file;
  if (position.line != 0) text += ':' + std::to_string(position.line);
  if (position.line != 0 && position.column != 0) text += ':' + std::to_string(position.column);
  return text;
}

InputError::InputError(const SourcePosition& position, const std::string& wrong,
                       const std::string& accepted)
    : std::runtime_error(to_string(position) + ": " + wrong + "; " + accepted) {}

InputError::InputError(const std::string& wrong, const std::string& accepted)
    : std::runtime_error(wrong + "; " + accepted) {}

}  // namespace collsim
