#include "tools/collsim/core/interruption.h"

#include <ctime>

namespace collsim::command {

namespace {

sigset_t interrupt() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  return signals;
}

}  // namespace

Interruption::Interruption() {
  const sigset_t signals = interrupt();
  pthread_sigmask(SIG_BLOCK, &signals, &before_);
}

Interruption::~Interruption() {
  // Take the pending signal before unblocking it; otherwise it would end the program now.
  const sigset_t signals = interrupt();
  const timespec at_once{};
  if (asked()) sigtimedwait(&signals, nullptr, &at_once);
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

bool Interruption::asked() {
  sigset_t pending;
  sigemptyset(&pending);
  sigpending(&pending);
  return sigismember(&pending, SIGINT) == 1;
}

}  // namespace collsim::command
