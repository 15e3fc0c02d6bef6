#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <map>
#include <mutex>
#include <optional>

#include "tools/collsim/core/progress_line.h"
#include "tools/collsim/report/records.h"
#include "tools/collsim/sweep/sweep_rows.h"

namespace collsim::command {

/// Rows that one worker answers in a row.
struct SweepPart {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
};

/// Hands out the rows of a sweep, and writes the answers in the order of the rows, whichever comes
/// first. Shows the progress. Threads may share it.
class SweepDealer {
 public:
  using Write = std::function<void(const Record& row)>;

  /// Rows before `first_row` are there already.
  SweepDealer(const Sweep& sweep, std::uint64_t first_row, std::uint32_t workers, Write write,
              std::ostream& err);

  /// What to answer next; nothing once all is handed out or stop() was called. Parts become smaller
  /// towards the end, so that workers finish together.
  std::optional<SweepPart> take();
  /// An answer. May write it and others that waited for it; stops and throws where that fails.
  void put(Record row);
  /// Stops: nothing more is handed out or written.
  void stop();
  /// Rows that are written or were there.
  std::uint64_t written() const { return next_written_; }
  /// errno of a write that failed, which other calls may have set anew since; else 0.
  int write_error() const { return write_error_; }

 private:
  using Clock = std::chrono::steady_clock;
  void write_waiting();
  void show();

  const Sweep& sweep_;
  const std::uint64_t end_;
  const std::uint64_t began_at_;
  const std::uint32_t workers_;
  Write write_;
  std::mutex mutex_;
  std::uint64_t next_taken_;
  std::uint64_t next_written_;
  std::uint64_t answered_ = 0;
  std::map<std::uint64_t, Record> waiting_;  ///< by row: answered before an earlier one
  bool stopped_ = false;
  int write_error_ = 0;
  ProgressLine line_;
  Clock::time_point started_ = Clock::now();
  Clock::time_point shown_ = started_;
};

}  // namespace collsim::command
