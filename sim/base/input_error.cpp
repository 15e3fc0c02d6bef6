#include "sim/base/input_error.h"

#include "sim/base/shortened.h"

namespace collsim {

namespace {

/// Both may quote what a person wrote, however long. What is accepted also lists all names.
std::string sentence(const std::string& wrong, const std::string& accepted) {
  constexpr std::size_t longest_wrong = 480;
  constexpr std::size_t longest_accepted = 4096;
  return shortened(wrong, longest_wrong) + "; " + shortened(accepted, longest_accepted);
}

}  // namespace

std::string to_string(const SourcePosition& position) {
  std::string text = position.file;
  if (position.line != 0) text += ':' + std::to_string(position.line);
  if (position.line != 0 && position.column != 0) text += ':' + std::to_string(position.column);
  return text;
}

InputError::InputError(const SourcePosition& position, const std::string& wrong,
                       const std::string& accepted)
    : std::runtime_error(to_string(position) + ": " + sentence(wrong, accepted)) {}

InputError::InputError(const std::string& wrong, const std::string& accepted)
    : std::runtime_error(sentence(wrong, accepted)) {}

}  // namespace collsim
