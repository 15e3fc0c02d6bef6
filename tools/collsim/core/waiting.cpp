#include "tools/collsim/core/waiting.h"

#include <fmt/format.h>

#include <utility>

#include "sim/base/parallel.h"

namespace collsim::command {

namespace {

constexpr std::chrono::seconds until_first_line{1};
constexpr std::chrono::milliseconds between_lines{200};

}  // namespace

Waiting::Waiting(std::ostream& err, std::string what) : line_(err), what_(std::move(what)) {
  if (!line_.is_shown()) return;
  thread_ = try_to_start([this] { show_until_over(); });
  if (!thread_.joinable()) line_.show(what_);  // for how long, nobody counts then
}

Waiting::~Waiting() {
  {
    const std::scoped_lock lock(mutex_);
    over_ = true;
  }
  changed_.notify_all();
}

void Waiting::say(std::string what) {
  const std::scoped_lock lock(mutex_);
  what_ = std::move(what);
  if (line_.is_shown() && !thread_.joinable()) line_.show(what_);
}

void Waiting::show_until_over() {
  std::unique_lock lock(mutex_);
  const auto over = [this] { return over_; };
  if (changed_.wait_for(lock, until_first_line, over)) return;
  do {
    const std::chrono::duration<double> time = Clock::now() - began_;
    line_.show(fmt::format("{}, {:.0f} s", what_, time.count()));
  } while (!changed_.wait_for(lock, between_lines, over));
  line_.clear();
}

}  // namespace collsim::command
