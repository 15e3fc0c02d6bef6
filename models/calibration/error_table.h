#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "models/calibration/trust.h"
#include "sim/base/units.h"
#include "sim/cost/trust.h"

namespace collsim {

class YamlValue;

/// The range in which eight of ten measured times lie beside the predicted one, as shares of it:
/// the 10th and the 90th percentile. 0.9 to 1.3 means from a tenth faster to three tenths slower.
struct ErrorRange {
  double low = 1;
  double high = 1;
};

/// Reads one that is written [0.9, 1.2]. Throws InputError.
ErrorRange read_error_range(const YamlValue& value);

/// What became of predictions that rest on the same and whose data cross the same: by size.
struct ErrorClass {
  Trust trust = Trust::guessed;
  std::string medium{};              ///< its name, or "any"
  std::vector<ErrorRange> ranges{};  ///< one per band of sizes
  int machines = 0;                  ///< that were measured
  int rows = 0;
  std::uint32_t max_hosts = any_number;

  static constexpr std::uint32_t any_number = std::numeric_limits<std::uint32_t>::max();
};

/// How far measured times lie from predicted ones, by classes. Machines count, not rows: a machine
/// with many rows weighs as much as one with few.
struct ErrorTable {
  std::vector<Bytes> ends;  ///< of the bands but for the last, rising
  std::vector<ErrorClass> classes;
};

/// Reads models/data/errors.yaml, which tools/dev/update-accuracy writes. Throws InputError.
ErrorTable load_error_table();

/// The class of such predictions: that of the medium, or else of any, and of the fewest hosts that
/// are no fewer than the medium's. Nothing for exact ones.
const ErrorClass* find_error_class(const ErrorTable& table, Trust trust, const Medium& medium);

/// The classes of some predictions, in the order of their table.
using ErrorClasses = std::set<const ErrorClass*>;
/// Adds the class of such predictions, if they have one.
void add_class(const ErrorTable& table, Trust trust, const Medium& medium, ErrorClasses& classes);

/// The range of eight of ten times of calls of this size; nothing for exact predictions.
std::optional<ErrorRange> error_range(const ErrorTable& table, Trust trust, const Medium& medium,
                                      Bytes size);

/// The median of how far off such times are, as a share: that of a normal distribution of
/// logarithms of which eight of ten lie in the range, about its own middle.
double typical_error(const ErrorRange& range);

/// The typical error of calls of this size; 0 of exact predictions.
double typical_error(const ErrorTable& table, Trust trust, const Medium& medium, Bytes size);

}  // namespace collsim
