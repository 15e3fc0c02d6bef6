#pragma once

#include <iosfwd>
#include <string>
#include <string_view>

namespace collsim::command {

/// One line that is overwritten again and again, only on a terminal. It is cleared at the end.
class ProgressLine {
 public:
  /// Shows something only if `err` is standard error and that is a terminal.
  explicit ProgressLine(std::ostream& err);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  bool is_shown() const { return shown_; }
  void show(std::string_view text);
  void clear();

 private:
  std::ostream& err_;
  bool shown_;
};

}  // namespace collsim::command
