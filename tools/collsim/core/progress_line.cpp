#include "tools/collsim/core/progress_line.h"

#include <unistd.h>

#include <iostream>
#include <ostream>

namespace collsim::command {

namespace {

/// To the terminal itself: `err` lets no control characters through.
void clear_line() {
  constexpr std::string_view sequence = "\r\x1b[K";
  [[maybe_unused]] const auto written = write(STDERR_FILENO, sequence.data(), sequence.size());
}

}  // namespace

ProgressLine::ProgressLine(std::ostream& err)
    : err_(err), shown_(&err == &std::cerr && isatty(STDERR_FILENO) == 1) {}

ProgressLine::~ProgressLine() {
  if (shown_) clear_line();
}

void ProgressLine::show(std::string_view text) {
  if (!shown_) return;
  clear_line();
  err_ << text;
  err_.flush();
}

void ProgressLine::clear() {
  show({});
}

}  // namespace collsim::command
