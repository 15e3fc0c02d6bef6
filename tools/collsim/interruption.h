#pragma once

#include <csignal>

namespace collsim::command {

/// While it exists, Ctrl-C does not end the program but is noted. Threads that begin meanwhile are
/// covered too.
class Interruption {
 public:
  Interruption();
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  /// Whether somebody has pressed it. From any thread.
  static bool asked();

 private:
  sigset_t before_{};
};

}  // namespace collsim::command
