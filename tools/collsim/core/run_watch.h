#pragma once

#include <chrono>
#include <iosfwd>
#include <optional>
#include <string>

#include "sim/execution/execution.h"
#include "tools/collsim/core/progress_line.h"

namespace collsim::command {

/// Watches simulations: shows on a terminal how far each is and how long it still takes, and ends
/// it when the time limit of all of them together is over.
class RunWatch {
 public:
  /// The limit counts from here. Throws nothing.
  RunWatch(std::ostream& err, std::optional<double> limit_seconds);

  /// A simulation of about `messages` messages begins; `what` names it ("1 GiB").
  void begin(std::string what, double messages);
  /// It is over: its line goes.
  void end() { line_.clear(); }
  /// The Watch for SimulationOptions. It throws InputError when the time is over.
  const Watch* watch() const { return &watch_; }

 private:
  using Clock = std::chrono::steady_clock;

  void hear(double messages);
  std::string progress(double messages, double seconds) const;

  ProgressLine line_;
  std::optional<double> limit_;
  Clock::time_point started_ = Clock::now();
  Clock::time_point began_ = started_;
  Clock::time_point shown_ = started_;
  std::string what_;
  double messages_ = 0;
  Watch watch_;
};

}  // namespace collsim::command
