#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/execution/timeline.h"
#include "sim/plan/plan.h"

namespace collsim {

/// What a participant does on a channel. Of what its lanes do at a time, the last of this list that
/// any of them does counts.
enum class RankState : std::uint8_t {
  idle,     ///< has not been launched, or has ended
  waits,    ///< every lane for a message, a free slot or the rest of its rank
  copies,   ///< stores what came, without sending it on
  sends,    ///< what it has, or what came
  reduces,  ///< adds what came, and may send the sum on
};
/// '.', 'W', 'C', 'S', 'R'.
char letter_of(RankState state);

/// One letter for each of equal slices of time.
struct StateRow {
  Rank participant = 0;
  std::string letters;
};

/// A stretch of time, and when ranks are launched within a call.
struct ChartSpan {
  Seconds begin;
  Seconds end;
  Seconds launch;
};

/// What participants that have anything to do on a channel do from `begin` to `end`, in `columns`
/// columns. In a column stands what takes most of it; of two that take as long, the later in the
/// list of states.
std::vector<StateRow> state_chart(const Timeline& timeline, const Schedule& schedule,
                                  std::uint32_t channel, const ChartSpan& span,
                                  std::size_t columns);

}  // namespace collsim
