#pragma once

#include <fstream>
#include <optional>
#include <string>

#include "sim/base/input_error.h"

namespace collsim::command {

/// A text that others write to while it is read: a file, or standard input by the name "-".
class GrowingFile {
 public:
  /// Throws InputError where it cannot be opened.
  explicit GrowingFile(std::string name);

  /// The next whole line, without its end; nothing where none is there yet. `at_end` takes a last
  /// line without an end, too: nobody writes any more.
  std::optional<std::string> next_line(bool at_end);
  /// The place of the line that came last.
  [[nodiscard]] SourcePosition place() const { return {name_, line_, 0}; }
  /// Begins anew where the file has become shorter: somebody rotated it.
  void follow_rotation();

 private:
  std::istream& stream();

  std::string name_;
  std::ifstream file_;
  std::string begun_;  ///< of a line whose end has not come
  int line_ = 0;
};

}  // namespace collsim::command
