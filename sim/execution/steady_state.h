#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "sim/base/units.h"
#include "sim/execution/call_layout.h"
#include "sim/execution/execution.h"

namespace collsim {

/// About how much of a long call is simulated where it becomes steady: loops of a channel, or steps
/// of each stretch of equal ones.
struct SteadyLength {
  std::uint32_t loops = 0;
  std::uint32_t steps = 0;
};
SteadyLength steady_length(const Execution& execution);

struct SteadyCriterion;

/// Continues a call that repeats itself. What repeats are periods: a channel's loops over its
/// program, or, where a program has hundreds of equal steps (a ring's), so many steps of one
/// stretch of them as there are GPUs in a node, at least eight. When the periods of all channels
/// have become even, every channel skips as many as it would do in one and the same time, and goes
/// on from where it is: what its workers are ahead of each other stays as it is, and so does what
/// is in flight. The first periods of a call or stretch and the last ones are simulated.
///
/// Where links lose something to contention, that fades with the square root of the steps, as
/// thread blocks fall out of step (contended_share()). There, as many periods after the
/// jump are measured too. If period n takes P_n = A + B / sqrt(n), the mean
/// from period n to period m is (sqrt(n) P_n + sqrt(m) P_m) / (sqrt(n) + sqrt(m)).
class SteadyState {
 public:
  /// Nothing is skipped where the execution does not ask for it, where the machine changes during
  /// the call, or where links have bursts. Over loops of channels that a slow link makes unlike
  /// only where they repeat to the digit.
  SteadyState(const Execution& execution, const CallLayout& call);

  /// The worker has ended a primitive, which was number `primitive` of its program. May let all
  /// workers skip periods.
  void end_primitive(CallLayout& call, WorkerId worker, std::uint32_t primitive, Seconds now);
  /// What all skipped periods would have taken. Changes a last time with settle().
  Seconds skipped() const { return Seconds{settled_ + pending_}; }
  /// Periods that were skipped are settled by those that came after. Returns the change of
  /// skipped().
  Seconds settle();
  bool skipped_any() const { return skipped().value > 0; }

 private:
  enum class Period : std::uint8_t { none, loop, steps };

  /// Equal primitives in a row, of which `periods` periods are counted.
  struct UniformRun {
    std::uint32_t begin = 0;
    std::uint32_t periods = 0;
    bool operator==(const UniformRun&) const = default;
  };
  struct Channel {
    std::uint32_t round = 0;  ///< periods of a call or stretch; 0: idle
    std::uint32_t loops = 0;
    std::uint32_t workers = 0;
    std::uint64_t laps_of_call = 0;
    std::uint64_t all_laps = 0;      ///< of all calls
    std::uint64_t periods = 0;       ///< that all of its workers have done, in all rounds
    std::deque<std::uint32_t> more;  ///< workers that have done one period more, two more, ...
    std::vector<double> ends{0};     ///< of periods, since the round began or since a jump
    std::vector<double> leads;       ///< by period: how many the first worker was ahead of the last
    double before = 0;  ///< what a period took before the last jump; 0: in this round none
    double after = 0;   ///< and after it; 0: not known yet
    double from = 0;    ///< periods of the call before that jump, and after it
    double to = 0;

    /// Notes the periods after a jump, at the end of a round or when the jump is settled.
    void note_after();
    std::uint64_t max_periods() const { return periods + more.size(); }
    std::uint64_t round_end() const { return (periods / round + 1) * round; }
    /// Whether all rounds of the channel are over.
    bool is_done() const { return round == 0 || periods == all_laps; }
    /// Whether all workers are in the same round.
    bool is_together() const {
      return (periods % round > 0 || !more.empty()) && max_periods() < round_end();
    }
  };

  void find_uniform_runs(const CallLayout& call);
  bool ends_lap(const Worker& worker, std::uint32_t primitive) const;
  void count_lap(Channel& channel, double now);
  std::uint32_t laps_left(std::size_t channel, std::size_t even) const;
  bool is_idle(const Channel& channel) const;
  std::size_t known_periods() const;
  std::size_t even_laps(const Channel& last) const;
  bool are_even(const SteadyCriterion& evenly, std::size_t known) const;
  bool are_settled(std::size_t even) const;
  std::vector<double> periods_of_channels(std::size_t even) const;
  double time_for_all(std::size_t even, const std::vector<double>& periods) const;
  bool are_alike(std::size_t even) const;
  bool fit_into(double seconds, std::size_t even) const;
  void jump(CallLayout& call, double seconds, std::size_t even, const std::vector<double>& periods);

  const Execution& execution_;
  std::uint32_t steps_;  ///< of a period, if periods are steps
  Period period_ = Period::none;
  std::vector<UniformRun> stretches_;  ///< of every program, if periods are steps
  bool fades_ = false;                 ///< what contention costs a period, in the course of a call
  double settled_ = 0;
  double pending_ = 0;  ///< by what periods took before the jump
  std::vector<Channel> channels_;
  std::vector<std::uint64_t> laps_;  ///< by worker
};

}  // namespace collsim
