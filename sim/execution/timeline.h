#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "sim/base/units.h"
#include "sim/plan/plan.h"

namespace collsim {

using RecordId = std::uint32_t;
inline constexpr RecordId no_record = std::numeric_limits<RecordId>::max();

/// What a primitive had to wait for last: nothing (the call began), the primitive before it in its
/// program, a message, or a free slot in a peer's FIFO.
enum class Cause : std::uint8_t { begin, program_order, message, credit };

/// One slice of one primitive as executed, or one piece of it (bytes_of_pieces()).
struct TimelineRecord {
  std::uint32_t channel = 0;
  Rank rank = 0;
  std::uint32_t lane = 0;
  std::uint32_t loop = 0;
  std::uint32_t primitive = 0;  ///< index in the program
  std::uint32_t slice = 0;
  Bytes bytes;     ///< of this piece
  Seconds begin;   ///< all that it waited for was there
  Seconds moving;  ///< serial cost that comes first is paid, bytes flow from here
  Seconds end;     ///< its last byte has left
  Seconds over;    ///< serial cost that comes last is paid, the program goes on from here
  Cause cause = Cause::begin;
  RecordId caused_by = no_record;  ///< the record that it waited for
};

/// Everything that happened in one execution, in order of completion of no particular kind:
/// records are appended as they begin.
struct Timeline {
  std::vector<TimelineRecord> records;
};

}  // namespace collsim
