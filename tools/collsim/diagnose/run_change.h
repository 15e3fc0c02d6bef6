#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/recordings/recording.h"
#include "models/validation/recorded_call.h"
#include "tools/collsim/diagnose/spread.h"

namespace collsim {

/// What became of a time.
enum class Change : std::uint8_t { same, faster, slower };
/// The word of a change: "same", "faster" or "slower".
std::string_view to_string(Change change);

/// One size of one call in two recordings.
struct ChangedSize {
  RecordedCall call;
  bool in_place = false;
  Bytes size;
  Seconds before;  ///< the geometric mean of the rows
  Seconds after;
  double limit = 0;  ///< of |log(after / before)|, from which it is a change
  Change change = Change::same;

  /// The ratio of busbw: after / before.
  double ratio() const { return before.value / after.value; }
};

/// The sizes of one call that are bound by bandwidth, or the others, judged together.
struct ChangedBand {
  RecordedCall call;
  bool bound_by_bandwidth = false;
  std::size_t sizes = 0;
  double ratio = 1;  ///< the middle one of the sizes' ratios of busbw
  Change change = Change::same;
};

/// What differs between two recordings of the same calls.
struct RunChange {
  std::vector<ChangedSize> sizes;
  std::vector<ChangedBand> bands;
  std::vector<std::string> settings;  ///< that differ, in words; releases and GPUs as well
  std::size_t only_before = 0;        ///< sizes that the other recording lacks
  std::size_t only_after = 0;

  /// Whether any band got slower.
  bool is_slower() const;
};

/// Holds the rows of two recordings against each other, size by size: no machine is asked. Two
/// times differ if they are farther apart than `threshold`, a share, and than what noise makes
/// of two healthy runs in 19 of 20 cases. A band differs if the middle one of its sizes does;
/// single sizes that are off do not count. Throws InputError where no size is in both.
RunChange compare_runs(const Recording& before, const Recording& after, double threshold,
                       const Spread& spread);

}  // namespace collsim
