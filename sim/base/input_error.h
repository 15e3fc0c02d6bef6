#pragma once

#include <stdexcept>
#include <string>

namespace collsim {

/// A place in a file that a person wrote. Lines and columns count from 1; 0 means unknown.
struct SourcePosition {
  std::string file;
  int line = 0;
  int column = 0;
};

/// Writes a place as "file:line:col" and leaves out what is unknown.
std::string to_string(const SourcePosition& position);

/// Something a person gave us is wrong: a file, an option, a machine that cannot do what is asked.
/// The one exception type for it; the command prints what() and exits with 2. The text reads
/// "file:line:col: what is wrong; what would be accepted".
class InputError : public std::runtime_error {
 public:
  InputError(const SourcePosition& position, const std::string& wrong, const std::string& accepted);
  /// The constructor for input that is no file, such as a command-line option.
  InputError(const std::string& wrong, const std::string& accepted);
};

}  // namespace collsim
