#pragma once

#include <csignal>

namespace collsim::command {

/// While it exists, Ctrl-C does not end the program. asked() then returns true. This includes
/// threads that begin meanwhile.
class Interruption {
 public:
  Interruption();
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  /// Whether Ctrl-C was pressed. Any thread may call it.
  static bool asked();

 private:
  sigset_t before_{};
};

}  // namespace collsim::command
