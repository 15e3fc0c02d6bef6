#include "tools/recorder/rank_group.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <exception>
#include <new>
#include <system_error>
#include <vector>

namespace collsim::recorder {

namespace {

using Clock = std::chrono::steady_clock;

/// What processes have to be taken down, once one has told "done".
constexpr double take_down_seconds = 20;

[[noreturn]] void fail_with_errno(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

/// SharedState in memory that forked processes see too.
class SharedMemory {
 public:
  explicit SharedMemory(int ranks) {
    void* memory = mmap(nullptr, sizeof(SharedState), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) fail_with_errno("mmap");
    state_ = new (memory) SharedState(ranks);
  }
  ~SharedMemory() { munmap(state_, sizeof(SharedState)); }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  SharedState& state() { return *state_; }

 private:
  SharedState* state_;
};

void set_failure(SharedState& shared, const std::string& why) {
  if (shared.failed.exchange(true)) return;
  const std::size_t length = std::min(why.size(), shared.failure.size() - 1);
  std::memcpy(shared.failure.data(), why.data(), length);
}

void write_all(int file, const std::string& text) {
  std::size_t written = 0;
  while (written < text.size()) {
    const ssize_t count = write(file, text.data() + written, text.size() - written);
    if (count < 0 && errno != EINTR) fail_with_errno("write to the recorder");
    if (count > 0) written += static_cast<std::size_t>(count);
  }
}

[[noreturn]] void be_rank(int rank, SharedState& shared, int pipe, const RankMain& rank_main) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  try {
    rank_main(rank, shared, [&](const std::string& line) { write_all(pipe, line + '\n'); });
  } catch (const std::exception& error) {
    set_failure(shared, "rank " + std::to_string(rank) + ": " + error.what());
    _exit(1);
  }
  _exit(0);
}

/// The processes of one run, seen from their parent. None outlives it.
class Children {
 public:
  Children(int ranks, SharedState& shared, const RankMain& rank_main) : shared_(shared) {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) fail_with_errno("pipe");
    pipe_ = ends[0];
    for (int rank = 0; rank < ranks; ++rank) {
      const pid_t process = fork();
      if (process < 0) fail_with_errno("fork");
      if (process == 0) be_rank(rank, shared, ends[1], rank_main);
      processes_.push_back(process);
    }
    close(ends[1]);
  }
  ~Children() {
    kill_all();
    close(pipe_);
  }
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;

  /// Waits a moment for what ranks tell; returns whole lines, each with its end.
  std::string read_lines() {
    pollfd waiting{pipe_, POLLIN, 0};
    if (poll(&waiting, 1, 50) <= 0) return {};
    std::array<char, 65536> buffer{};
    const ssize_t count = read(pipe_, buffer.data(), buffer.size());
    if (count > 0) pending_.append(buffer.data(), static_cast<std::size_t>(count));
    const std::size_t whole = pending_.rfind('\n') + 1;  // npos + 1 is 0
    std::string lines = pending_.substr(0, whole);
    pending_.erase(0, whole);
    return lines;
  }

  /// Takes notice of processes that ended.
  void reap() {
    for (pid_t& process : processes_) {
      int status = 0;
      if (process == 0 || waitpid(process, &status, WNOHANG) != process) continue;
      const auto rank = static_cast<int>(&process - processes_.data());
      process = 0;
      if (WIFSIGNALED(status)) {
        set_failure(shared_, "rank " + std::to_string(rank) + " died of signal " +
                                 std::to_string(WTERMSIG(status)));
      } else if (WEXITSTATUS(status) != 0) {
        set_failure(shared_, "rank " + std::to_string(rank) + " exited with " +
                                 std::to_string(WEXITSTATUS(status)));
      }
    }
  }
  bool all_ended() const {
    return std::all_of(processes_.begin(), processes_.end(), [](pid_t p) { return p == 0; });
  }
  void kill_all() {
    for (const pid_t process : processes_) {
      if (process != 0) kill(process, SIGKILL);
    }
    for (pid_t& process : processes_) {
      if (process != 0) waitpid(process, nullptr, 0);
      process = 0;
    }
  }

 private:
  SharedState& shared_;
  std::vector<pid_t> processes_;
  int pipe_ = -1;
  std::string pending_;
};

/// Notices when nothing has happened for too long.
class Watchdog {
 public:
  explicit Watchdog(double seconds) : limit_(seconds) {}
  bool stalled(std::uint64_t progress) {
    if (progress != progress_) {
      progress_ = progress;
      since_ = Clock::now();
    }
    return std::chrono::duration<double>(Clock::now() - since_).count() > limit_;
  }

 private:
  double limit_;
  std::uint64_t progress_ = 0;
  Clock::time_point since_ = Clock::now();
};

/// Hands on the lines of `text`; returns whether one of them is "done".
bool hand_on(std::string_view text, const std::function<void(std::string_view)>& on_line) {
  bool done = false;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(line.size() + 1);
    if (line == "done") {
      done = true;
    } else {
      on_line(line);
    }
  }
  return done;
}

Outcome failure_of(const SharedState& shared, const std::string& why) {
  Outcome outcome{Outcome::Kind::failed, why, std::nullopt};
  const std::int64_t at = shared.current_case;
  if (at >= 0) outcome.failed_case = static_cast<std::size_t>(at);
  return outcome;
}

}  // namespace

void SharedState::wait_for_all() {
  const int now = generation;
  if (arrived.fetch_add(1) + 1 == ranks) {
    arrived = 0;
    ++generation;
    return;
  }
  for (unsigned turns = 0; generation == now; ++turns) {
    if (failed) _exit(1);
    if (turns > 100'000) sched_yield();
  }
}

Outcome run_ranks(int ranks, double stall_seconds, const RankMain& rank_main,
                  const std::function<void(std::string_view)>& on_line,
                  const std::function<bool()>& interrupted) {
  assert(ranks >= 1 && ranks <= max_ranks);
  SharedMemory memory(ranks);
  SharedState& shared = memory.state();
  Children children(ranks, shared, rank_main);
  Watchdog watchdog(stall_seconds);
  std::optional<Watchdog> take_down;
  for (;;) {
    children.reap();
    const bool all_ended = children.all_ended();
    const std::string lines = children.read_lines();
    if (hand_on(lines, on_line)) take_down.emplace(take_down_seconds);
    if (take_down) {
      if (all_ended || take_down->stalled(0)) return {};
      continue;
    }
    if (interrupted()) return {Outcome::Kind::interrupted, "interrupted", std::nullopt};
    if (shared.failed) {
      children.kill_all();
      hand_on(children.read_lines(), on_line);
      return failure_of(shared, shared.failure.data());
    }
    if (all_ended && lines.empty())
      return failure_of(shared, "the ranks ended before they were done");
    if (watchdog.stalled(shared.progress)) {
      return failure_of(shared, "no progress for " + std::to_string(stall_seconds) + " s");
    }
  }
}

}  // namespace collsim::recorder
