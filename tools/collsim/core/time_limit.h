#pragma once

#include <boost/program_options.hpp>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace collsim::command {

/// The seconds of --time-limit, which every subcommand takes. Throws InputError where they are not
/// above 0.
std::optional<double> time_limit(const boost::program_options::variables_map& values);

/// Ends the program by exit code 2, with a message, when the time limit of a command is over and
/// some more: simulations that watch the time end by themselves within that, and say how far they
/// are. Whatever takes the time ends: reading, searching and laying out too. Nothing is written
/// half, since no output has a name before it is complete.
class TimeLimit {
 public:
  /// The limit is in the arguments; without --time-limit nothing happens.
  explicit TimeLimit(std::span<const std::string> args);
  ~TimeLimit();
  TimeLimit(const TimeLimit&) = delete;
  TimeLimit& operator=(const TimeLimit&) = delete;

 private:
  class Timer;
  std::unique_ptr<Timer> timer_;
};

}  // namespace collsim::command
