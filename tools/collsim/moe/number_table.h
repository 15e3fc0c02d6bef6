#pragma once

#include <string>
#include <vector>

#include "sim/base/input_error.h"
#include "sim/base/text_file.h"

namespace collsim {

/// A line of numbers of a file, with the place of each.
struct NumberRow {
  std::vector<double> numbers;
  std::vector<SourcePosition> places;
};

/// A file of comma-separated numbers: what people write about traffic.
struct NumberTable {
  std::string header;           ///< the first line where it begins with a letter, else empty
  std::vector<NumberRow> rows;  ///< without comments (`#`) and empty lines
};

/// Reads such a text. A number is zero or more, and may have a unit of bytes ("4 MiB"). Throws
/// InputError, at its place, for anything else and where there is no row.
NumberTable read_number_table(const TextFile& text);

}  // namespace collsim
