#pragma once

#include <chrono>
#include <condition_variable>
#include <iosfwd>
#include <mutex>
#include <string>
#include <thread>

#include "tools/collsim/core/progress_line.h"

namespace collsim::command {

/// Shows on a terminal what a command is at and for how long, where nobody knows how long it will
/// take: from a second on, while it exists. Nothing else may be printed meanwhile.
class Waiting {
 public:
  Waiting(std::ostream& err, std::string what);
  ~Waiting();
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

  /// What it is at now. Any thread may say it.
  void say(std::string what);

 private:
  using Clock = std::chrono::steady_clock;

  void show_until_over();

  ProgressLine line_;
  const Clock::time_point began_ = Clock::now();
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string what_;
  bool over_ = false;
  std::jthread thread_;  // only on a terminal; last: it uses the others
};

}  // namespace collsim::command
