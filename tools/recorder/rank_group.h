#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace collsim::recorder {

inline constexpr int max_ranks = 64;

/// Memory that the processes of one run share. Only rank 0 writes `current_case` and `progress`.
struct SharedState {
  explicit SharedState(int rank_count) : ranks(rank_count) {}

  int ranks;
  std::atomic<int> arrived = 0;
  std::atomic<int> generation = 0;
  std::atomic<std::uint64_t> progress = 0;      ///< any change tells that the run is not stuck
  std::atomic<std::int64_t> current_case = -1;  ///< index into the run's cases; -1: none yet
  std::atomic<std::uint64_t> wrong = 0;
  std::atomic<bool> failed = false;
  std::array<char, 600> failure{};  ///< why; of whichever rank set `failed` first
  std::array<char, 256> unique_id{};
  std::array<double, max_ranks> rank_seconds{};

  /// Waits, spinning, until all ranks are here. Ends the process when another rank has failed.
  void wait_for_all();
};

struct Outcome {
  enum class Kind { done, failed, interrupted };
  Kind kind = Kind::done;
  std::string why;                         ///< what failed
  std::optional<std::size_t> failed_case;  ///< where; nothing: before the first case
};

/// What each process does; it reports by throwing, or by returning. `tell` sends a line to the
/// parent.
using RankMain = std::function<void(int rank, SharedState&,
                                    const std::function<void(const std::string&)>& tell)>;

/// Forks one process per rank and waits for all of them. The calling process must not have used
/// CUDA before, nor other threads. `on_line` gets what ranks tell, line by line; a rank that tells
/// "done" has finished its work, and what goes wrong in taking it down after that does not count.
/// All processes are killed when one fails, when there is no progress for `stall_seconds`, or when
/// `interrupted` says so.
Outcome run_ranks(int ranks, double stall_seconds, const RankMain& rank_main,
                  const std::function<void(std::string_view)>& on_line,
                  const std::function<bool()>& interrupted);

}  // namespace collsim::recorder
