#include "tools/collsim/sweep/sweep_dealer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace collsim::command {

namespace {

/// Of what is left, a worker gets this part of its share at once.
constexpr std::uint64_t parts_of_a_share = 4;
constexpr std::chrono::milliseconds between_shows{200};

}  // namespace

SweepDealer::SweepDealer(const Sweep& sweep, std::uint64_t first_row, std::uint32_t workers,
                         Write write, std::ostream& err)
    : sweep_(sweep),
      end_(row_count(sweep)),
      began_at_(first_row),
      workers_(workers),
      write_(std::move(write)),
      next_taken_(first_row),
      next_written_(first_row),
      line_(err) {}

std::optional<SweepPart> SweepDealer::take() {
  const std::scoped_lock lock(mutex_);
  if (stopped_ || next_taken_ == end_) return std::nullopt;
  const std::uint64_t share = (end_ - next_taken_) / (workers_ * parts_of_a_share);
  const std::uint64_t count = std::clamp<std::uint64_t>(share, 1, rows_alike(sweep_, next_taken_));
  const SweepPart part{next_taken_, count};
  next_taken_ += count;
  return part;
}

void SweepDealer::put(Record row) {
  const std::scoped_lock lock(mutex_);
  if (stopped_) return;
  ++answered_;
  const auto number = row["row"].get<std::uint64_t>();
  waiting_.emplace(number, std::move(row));
  try {
    write_waiting();
  } catch (...) {
    write_error_ = errno;
    stopped_ = true;
    throw;
  }
  show();
}

void SweepDealer::write_waiting() {
  while (!waiting_.empty() && waiting_.begin()->first == next_written_) {
    write_(waiting_.begin()->second);
    waiting_.erase(waiting_.begin());
    ++next_written_;
  }
}

void SweepDealer::stop() {
  const std::scoped_lock lock(mutex_);
  stopped_ = true;
}

void SweepDealer::show() {
  const Clock::time_point now = Clock::now();
  if (now - shown_ < between_shows) return;
  shown_ = now;
  const std::uint64_t rows = end_ - began_at_;
  const double seconds = std::chrono::duration<double>(now - started_).count();
  const double left =
      seconds / static_cast<double>(answered_) * static_cast<double>(rows - answered_);
  line_.show(fmt::format("{} of {} rows, {} %, {:.0f} s left", began_at_ + answered_, end_,
                         100 * (began_at_ + answered_) / end_, left));
}

}  // namespace collsim::command
