#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tools/collsim/report/records.h"

namespace collsim::command {

/// The column that a person means: its name, or one without its unit ("time" for time_us). Throws
/// InputError that names the option.
std::string find_column(std::string_view option, std::string_view name,
                        std::span<const std::string> columns);

/// Keeps the fastest row for each value of a column, the first of equally fast ones. Rows without a
/// time do not count.
class FastestBy {
 public:
  explicit FastestBy(std::string column) : column_(std::move(column)) {}

  void add(const Record& row);
  /// The fastest rows, in the order in which the column's values came.
  std::vector<Record> rows() const;

 private:
  std::string column_;
  std::map<std::string, std::size_t> index_;  ///< of the value's row
  std::vector<Record> best_;
};

/// The rows that no other row beats: none is as good in every column and better in one. Less is
/// better, but more of a rate (`..._GBps`). Quantities count by their amount ("2 MiB"). Rows
/// without a value do not count.
class ParetoFront {
 public:
  explicit ParetoFront(std::vector<std::string> columns) : columns_(std::move(columns)) {}

  /// Throws InputError for a text that is no quantity.
  void add(const Record& row);
  /// The selected rows by the first column, best first.
  std::vector<Record> rows() const;

 private:
  struct Entry {
    std::vector<double> costs;
    Record row;
  };
  std::vector<std::string> columns_;
  std::vector<Entry> front_;
};

}  // namespace collsim::command
