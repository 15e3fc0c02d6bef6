#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

namespace collsim::command {

/// What a detector compares: the logarithm of measured time over expected time of a call, of calls
/// whose noise is alike (`kind`: a collective and about a size).
struct Sample {
  std::uint64_t kind = 0;
  double log_ratio = 0;
  double slowest = 0;       ///< the logarithm beyond which even a first time is slow
  std::int64_t number = 0;  ///< number of the call
  std::int64_t written_us = 0;
};

/// Calls take longer than they should.
struct Slowdown {
  bool from_the_start = false;  ///< longer than expected; else longer than they themselves did
  double factor = 1;            ///< by how much, in the median: times as long as that
  std::int64_t since = 0;       ///< the number of the first such call
  std::int64_t since_us = 0;    ///< when, since 1970; 0 where nobody said it
};

/// Tells that calls have become slow from the noise that they have. The first 32 calls of a kind
/// say what is normal and how it scatters, by their quartiles. Then a one-sided CUSUM runs over all
/// kinds together (E. S. Page, "Continuous inspection schemes", 1954): it adds how many scatters a
/// call is above the upper quartile, less one, at most three, and sounds at 30. Ten calls that are
/// far off sound it. What is less than a tenth, or a scatter, slower is none.
class SlowdownDetector {
 public:
  /// Takes a call; the slowdown that it makes certain, told once.
  std::optional<Slowdown> add(const Sample& sample);
  /// Nothing more comes: a stream of a few calls is judged by what there is.
  std::optional<Slowdown> finish();

  /// The median of the last calls beside what is normal, as a factor; 1 where too few came.
  [[nodiscard]] double recent_factor() const;
  /// The number of calls that came.
  [[nodiscard]] std::int64_t calls() const { return calls_; }
  /// Whether it has sounded and no call since has brought the sum back to nothing.
  [[nodiscard]] bool is_slow() const { return is_slow_; }

 private:
  struct Normal {
    std::vector<double> first;  ///< logarithms, until there are enough
    double median = 0;
    double upper = 0;  ///< the upper quartile: of two regimes the slower one
    double scatter = 0;
  };

  std::optional<Slowdown> judge_start();
  std::optional<Slowdown> judge_change(const Sample& sample, const Normal& normal);

  std::map<std::uint64_t, Normal> normals_;
  std::vector<double> start_;           ///< logarithms of the first calls
  std::vector<double> excess_;          ///< the same over their `slowest`
  std::deque<double> recent_;           ///< logarithms over normal
  std::deque<double> recent_scatters_;  ///< the same in scatters
  std::size_t rising_ = 0;              ///< calls since the sum left nothing
  std::int64_t calls_ = 0;
  std::int64_t first_ = 0;
  std::int64_t first_us_ = 0;
  double sum_ = 0;
  std::int64_t since_ = 0;
  std::int64_t since_us_ = 0;
  bool start_judged_ = false;
  bool is_slow_ = false;
};

}  // namespace collsim::command
