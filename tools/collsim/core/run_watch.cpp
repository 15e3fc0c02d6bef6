#include "tools/collsim/core/run_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/base/input_error.h"

namespace collsim::command {

namespace {

constexpr double between_updates = 0.2;  // seconds
constexpr std::size_t bar_width = 24;

double seconds_since(std::chrono::steady_clock::time_point then) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - then).count();
}

}  // namespace

RunWatch::RunWatch(std::ostream& err, std::optional<double> limit_seconds)
    : line_(err),
      limit_(limit_seconds),
      watch_([this](std::uint64_t messages) { hear(static_cast<double>(messages)); }) {}

void RunWatch::begin(std::string what, double messages) {
  what_ = std::move(what);
  messages_ = messages;
  began_ = shown_ = Clock::now();
}

void RunWatch::hear(double messages) {
  if (limit_ && seconds_since(started_) > *limit_) {
    throw InputError(fmt::format("--time-limit: {} s are over at {}, {:.0f} % done", *limit_, what_,
                                 100 * std::min(messages / messages_, 1.0)),
                     "a longer limit, `collsim estimate`, fewer ranks (-n), or no --exact");
  }
  if (seconds_since(shown_) < between_updates) return;
  shown_ = Clock::now();
  line_.show(progress(messages, seconds_since(began_)));
}

std::string RunWatch::progress(double messages, double seconds) const {
  const double done = std::clamp(messages / messages_, 1e-3, 1.0);
  const auto filled = static_cast<std::size_t>(done * bar_width);
  return fmt::format("{} [{:#<{}}{:.<{}}] {:.0f} %, {:.0f} s left", what_, "", filled, "",
                     bar_width - filled, 100 * done, seconds / done - seconds);
}

}  // namespace collsim::command
