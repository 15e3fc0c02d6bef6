#include "tests/fuzz/fuzz_target.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <ctime>
#include <exception>

#include "sim/base/input_error.h"
#include "tests/fuzz/mutation.h"

namespace collsim {

namespace {

constexpr std::uint64_t seed = 20'261'121;
constexpr long memory_limit_kib = 1 << 20;

#if defined(__SANITIZE_ADDRESS__)
constexpr time_t cpu_limit = 300;  // seconds
constexpr long memory_factor = 4;  // its shadow, and freed memory that it keeps
#else
constexpr time_t cpu_limit = 10;
constexpr long memory_factor = 1;
#endif

/// What the process that runs mutants says of them, in memory that both processes see.
struct Report {
  std::size_t mutants = 0;  ///< begun
  std::size_t accepted = 0;
  double longest = 0;  ///< seconds of a CPU
  std::array<char, 2000> failure{};
};

/// SIGPROF ends the process where a mutant takes longer.
void limit_next_mutant() {
  const itimerval limit{{0, 0}, {cpu_limit, 0}};
  setitimer(ITIMER_PROF, &limit, nullptr);
}

long memory_of(int who) {
  rusage usage{};
  getrusage(who, &usage);
  return usage.ru_maxrss;
}

void set_failure(Report& report, const std::string& text) {
  std::strncpy(report.failure.data(), text.c_str(), report.failure.size() - 1);
}

/// Ends at the first mutant that fails.
void run_mutants(const FuzzTarget& target, std::size_t first, std::size_t count, Report& report) {
  const long before = memory_of(RUSAGE_SELF);
  for (std::size_t i = 0; i < count && report.failure.front() == '\0'; ++i) {
    const TextFile text = mutant_of(target, first + i);
    ++report.mutants;
    limit_next_mutant();
    const std::clock_t begin = std::clock();
    try {
      if (target.read(text)) ++report.accepted;
    } catch (const InputError&) {
      // refused
    } catch (const std::exception& error) {
      set_failure(report, error.what());
    }
    const auto taken = static_cast<double>(std::clock() - begin);
    report.longest = std::max(report.longest, taken / CLOCKS_PER_SEC);
    const long memory = memory_of(RUSAGE_SELF) - before;
    if (memory > memory_limit_kib * memory_factor) {
      set_failure(report, fmt::format("{} MiB of memory", memory / 1024));
    }
  }
}

std::string reason_of(int status, const Report& report) {
  if (report.failure.front() != '\0') return report.failure.data();
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGPROF) {
    return fmt::format("more than {} s of a CPU", cpu_limit);
  }
  if (WIFSIGNALED(status)) return strsignal(WTERMSIG(status));
  return status == 0 ? "" : fmt::format("the process ended with {}", WEXITSTATUS(status));
}

}  // namespace

TextFile mutant_of(const FuzzTarget& target, std::size_t number) {
  Dice dice(seed + number);
  TextFile text = target.seeds[dice.below(target.seeds.size())];
  for (std::size_t changes = 1 + dice.below(1 + dice.below(8)); changes > 0; --changes) {
    mutate(text.content, target.seeds, dice);
  }
  return text;
}

FuzzResult fuzz(const FuzzTarget& target, std::size_t first, std::size_t count) {
  void* const shared =
      mmap(nullptr, sizeof(Report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  auto* const report = new (shared) Report;
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    run_mutants(target, first, count, *report);
    _exit(0);
  }
  int status = 0;
  rusage usage{};
  wait4(child, &status, 0, &usage);
  FuzzResult result{report->mutants, report->accepted, report->longest, usage.ru_maxrss, {}};
  const std::string reason = reason_of(status, *report);
  if (!reason.empty()) {
    result.failure = fmt::format("mutant {}: {}", first + report->mutants - 1, reason);
  }
  munmap(shared, sizeof(Report));
  return result;
}

}  // namespace collsim
