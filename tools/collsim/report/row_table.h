#pragma once

#include <cstddef>
#include <iosfwd>
#include <span>
#include <string_view>
#include <vector>

#include "tools/collsim/report/records.h"

namespace collsim::command {

/// The rank of columns that only --wide shows.
inline constexpr int wide_only = 100;

/// A column of a printed table.
struct Column {
  std::string_view key;    ///< of the record
  std::string_view title;  ///< the table's first line of titles
  std::string_view unit;   ///< the second
  std::size_t width = 0;
  /// Numbers: digits after the point, fewer where they do not fit. Texts: any.
  int digits = 2;
  /// Columns with a lower rank are shown first in line_width; wide_only: never.
  int rank = 0;
};

/// The columns that fit into line_width, in the given order. They are chosen by rank. None has the
/// rank wide_only.
std::vector<Column> fitting(std::vector<Column> columns);

/// Both lines of titles: "#      size      time\n#       (B)      (us)\n".
std::string titles_of(std::span<const Column> columns);

/// The record as a line without its line end; "-" for a missing value.
std::string line_of(std::span<const Column> columns, const Record& record);

}  // namespace collsim::command
