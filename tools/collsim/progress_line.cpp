#include "tools/collsim/progress_line.h"

#include <unistd.h>

#include <iostream>
#include <ostream>

namespace collsim::command {

namespace {
constexpr std::string_view clear_line = "\r\x1b[K";
}

ProgressLine::ProgressLine(std::ostream& err)
    : err_(err), shown_(&err == &std::cerr && isatty(STDERR_FILENO) == 1) {}

ProgressLine::~ProgressLine() {
  if (shown_) err_.write(clear_line.data(), clear_line.size());
}

void ProgressLine::show(std::string_view text) {
  if (!shown_) return;
  err_ << clear_line << text;
  err_.flush();
}

void ProgressLine::clear() {
  show({});
}

}  // namespace collsim::command
