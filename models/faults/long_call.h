#pragma once

#include <cstdint>
#include <optional>

#include "sim/execution/disturbance.h"
#include "sim/execution/executor.h"

namespace collsim {

/// The time of a call, and how it came about.
struct CallTime {
  Seconds time;
  bool whole = true;  ///< all of it was simulated; else its steady state was found and continued
  std::uint64_t messages = 0;  ///< that were simulated for it
};

/// A call that does the same thing many times, and what it takes to find its steady state.
///
/// What repeats are the loops over the programs (every channel loses as many), or, within one loop,
/// the equal primitives that follow each other in every program (a ring's steps). Three calls with
/// b, b + k and b + 2k repeats are simulated, all ranks and links in place. Where the second k take
/// as long as the first, to what changes the whole call's time by less than 1 %, so does every
/// further one; else b and k are doubled. Against whole simulations that is right to a per cent:
/// the slow hops of a small window of a ring's steps weigh a little more than those of a whole
/// turn.
class LongCall {
 public:
  /// The execution's disturbance is not used. What it refers to must outlive this.
  explicit LongCall(const Execution& whole);

  /// Messages sent in the whole call, pieces counted where a slice goes in pieces.
  std::uint64_t transfers() const { return transfers_; }
  /// Messages of a time(), should the first try for a steady state succeed.
  std::uint64_t effort() const;
  /// With what is wrong with the machine from the start. Nothing where more than `most` messages
  /// would have to be simulated. May be called by several threads at once, and uses `threads`
  /// itself.
  std::optional<CallTime> time(const Disturbance& disturbance, std::uint64_t most,
                               std::uint32_t threads = 1) const;

 private:
  enum class Repeats : std::uint8_t { nothing, loops, steps };

  /// Where a steady state is looked for: at `base`, `base` + `more` and `base` + 2 `more` repeats.
  struct Probe {
    std::uint32_t base;
    std::uint32_t more;
  };

  void find_loops();
  void find_steps();
  Probe first_probe() const;
  std::uint64_t effort_of(Probe probe) const;
  Seconds time_of(const Disturbance& disturbance, std::uint32_t repeats) const;
  Seconds time_of_whole(const Disturbance& disturbance) const;

  /// The plan with short runs, of which shorter ones are made.
  struct HandyPlan {
    Plan plan;
    std::uint32_t kept = 0;
  };

  const Execution& whole_;
  std::uint64_t transfers_ = 0;
  std::uint64_t messages_per_send_ = 1;
  std::uint64_t per_repeat_ = 0;  // messages
  Repeats repeats_ = Repeats::nothing;
  std::uint32_t count_ = 0;  // of repeats in the whole call
  HandyPlan handy_;
};

}  // namespace collsim
