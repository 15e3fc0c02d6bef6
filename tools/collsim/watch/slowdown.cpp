#include "tools/collsim/watch/slowdown.h"

#include <algorithm>
#include <cmath>

#include "sim/base/median.h"

namespace collsim::command {

namespace {

constexpr std::size_t enough = 32;      // calls of a kind, for its median and scatter
constexpr std::size_t at_start = 8;     // calls that say whether all were slow from the first
constexpr std::size_t fewest = 4;       // of a stream that ends
constexpr std::size_t kept = 32;        // recent calls
constexpr std::size_t max_kinds = 512;  // of a communicator
constexpr double min_scatter = 0.03;    // a clock's and a kernel's; steadier streams are chance
constexpr double slack = 1;
constexpr double most = 4;
constexpr double limit = 30;
const double worth_telling = std::log(1.1);
constexpr double quartiles_apart = 1.349;  // in deviations of a normal distribution

double median_of_last(const std::deque<double>& values, std::size_t count) {
  return median({values.end() - static_cast<std::ptrdiff_t>(count), values.end()});
}

}  // namespace

std::optional<Slowdown> SlowdownDetector::add(const Sample& sample) {
  if (calls_ == 0) {
    first_ = sample.number;
    first_us_ = sample.written_us;
  }
  ++calls_;
  if (excess_.size() < at_start) {
    excess_.push_back(sample.log_ratio - sample.slowest);
    start_.push_back(sample.log_ratio);
    if (excess_.size() == at_start) return judge_start();
  }
  if (normals_.size() >= max_kinds && !normals_.contains(sample.kind)) return std::nullopt;
  Normal& normal = normals_[sample.kind];
  if (normal.scatter > 0) return judge_change(sample, normal);
  normal.first.push_back(sample.log_ratio);
  if (normal.first.size() < enough) return std::nullopt;
  std::sort(normal.first.begin(), normal.first.end());
  normal.median = median(normal.first);
  normal.upper = normal.first[enough * 3 / 4];
  normal.scatter =
      std::max(min_scatter, (normal.upper - normal.first[enough / 4]) / quartiles_apart);
  normal.first = {};
  return std::nullopt;
}

std::optional<Slowdown> SlowdownDetector::finish() {
  if (start_judged_ || excess_.size() < fewest) return std::nullopt;
  return judge_start();
}

std::optional<Slowdown> SlowdownDetector::judge_start() {
  start_judged_ = true;
  if (median(excess_) <= 0) return std::nullopt;
  is_slow_ = true;
  return Slowdown{true, std::exp(median(start_)), first_, first_us_};
}

std::optional<Slowdown> SlowdownDetector::judge_change(const Sample& sample, const Normal& normal) {
  const double over = sample.log_ratio - normal.median;
  recent_.push_back(over);
  recent_scatters_.push_back((sample.log_ratio - normal.upper) / normal.scatter);
  if (recent_.size() > kept) {
    recent_.pop_front();
    recent_scatters_.pop_front();
  }
  if (sum_ <= 0) {
    since_ = sample.number;
    since_us_ = sample.written_us;
    rising_ = 0;
  }
  ++rising_;
  sum_ = std::max(0.0, sum_ + std::clamp(recent_scatters_.back(), -most, most) - slack);
  if (sum_ == 0 && recent_.size() == kept && recent_factor() < std::exp(worth_telling)) {
    is_slow_ = false;
  }
  if (sum_ < limit) return std::nullopt;
  sum_ = limit;  // so that it falls again as fast as it rose
  const std::size_t risen = std::min(recent_.size(), rising_);
  const double shift = median_of_last(recent_, risen);
  const bool is_told = shift >= worth_telling && median_of_last(recent_scatters_, risen) >= slack;
  if (is_slow_ || !is_told) return std::nullopt;
  is_slow_ = true;
  return Slowdown{false, std::exp(shift), since_, since_us_};
}

double SlowdownDetector::recent_factor() const {
  return recent_.size() < fewest ? 1 : std::exp(median_of_last(recent_, recent_.size()));
}

}  // namespace collsim::command
