#include "tools/collsim/core/time_limit.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <string_view>

#include "sim/base/input_error.h"
#include "sim/base/number.h"
#include "sim/base/parallel.h"
#include "tools/collsim/core/subcommand.h"

namespace collsim::command {

namespace {

constexpr std::string_view limit_option = "--time-limit";
/// A simulation hears of its messages every 16,384, which takes a few milliseconds, or a good part
/// of a second where hundreds of flows share each link.
constexpr double grace_seconds = 1;
constexpr double longest_seconds = 1e9;  // beyond, the clock of a wait would overflow

std::optional<double> positive_number(std::string_view text) {
  const double number = parse_number<double>(text).value_or(0);
  if (!(number > 0)) return std::nullopt;
  return std::min(number, longest_seconds);
}

/// The limit in the arguments, before they are parsed: parsing complains about a wrong one.
std::optional<double> limit_in(std::span<const std::string> args) {
  for (std::size_t i = 0; i < args.size(); ++i) {
    const std::string_view arg = args[i];
    if (arg == limit_option && i + 1 < args.size()) return positive_number(args[i + 1]);
    if (arg.starts_with(limit_option) && arg.substr(limit_option.size()).starts_with('=')) {
      return positive_number(arg.substr(limit_option.size() + 1));
    }
  }
  return std::nullopt;
}

/// Another thread may be anywhere, also within a write: only what is whole is flushed.
[[noreturn]] void end_program(double limit) {
  if (ftrylockfile(stdout) == 0) {
    std::fflush(stdout);
    funlockfile(stdout);
  }
  const std::string message = fmt::format(
      "{}collsim: {}: {:g} s are over; a longer limit, or less to answer: fewer ranks, "
      "sizes, machines or rows\n",
      isatty(STDERR_FILENO) == 1 ? "\r\x1b[K" : "", limit_option, limit);
  static_cast<void>(!write(STDERR_FILENO, message.data(), message.size()));
  _exit(exit_bad_input);
}

}  // namespace

class TimeLimit::Timer {
 public:
  explicit Timer(double seconds) : thread_(try_to_start([this, seconds] { wait(seconds); })) {
    if (thread_.joinable()) return;
    throw InputError(
        fmt::format("{}: the system gives no thread that looks at the time", limit_option),
        "more threads for this user, or no time limit");
  }
  ~Timer() {
    {
      const std::scoped_lock lock(mutex_);
      over_ = true;
    }
    changed_.notify_all();
  }
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

 private:
  void wait(double seconds) {
    std::unique_lock lock(mutex_);
    const std::chrono::duration<double> time(seconds + grace_seconds);
    if (!changed_.wait_for(lock, time, [this] { return over_; })) end_program(seconds);
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
  std::jthread thread_;  // last: it uses the others
};

std::optional<double> time_limit(const boost::program_options::variables_map& values) {
  if (values.count(std::string(limit_option.substr(2))) == 0) return std::nullopt;
  const double seconds = values[std::string(limit_option.substr(2))].as<double>();
  if (seconds > 0) return seconds;
  throw InputError(fmt::format("{} {}", limit_option, seconds), "a number of seconds above 0");
}

TimeLimit::TimeLimit(std::span<const std::string> args) {
  if (const auto limit = limit_in(args)) timer_ = std::make_unique<Timer>(*limit);
}

TimeLimit::~TimeLimit() = default;

}  // namespace collsim::command
