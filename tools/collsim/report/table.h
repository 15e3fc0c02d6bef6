#pragma once

#include <cstddef>
#include <iosfwd>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tools/collsim/report/records.h"

namespace collsim::command {

/// The rank of columns that pages have, and a terminal only with --wide.
inline constexpr int wide_only = 100;
/// The rank of columns that only csv and json have.
inline constexpr int data_only = 101;

/// A column of a table: the values that the rows' records have under a key.
struct Column {
  std::string key;
  std::string title;
  std::string unit{};  ///< "(us)": a terminal's second line of titles
  int digits = 2;      ///< of numbers that are not whole, after the point
  double scale = 1;    ///< shown are values times this: 100 for shares in percent
  /// Where a terminal's line is full, columns of the highest rank are left out; those of rank 0
  /// never are.
  int rank = 0;
  /// The width of a terminal's column. It is aligned to the right, and its numbers lose digits
  /// before it widens. 0: as wide as its values, texts to the left. One without a title is not
  /// shown without a value.
  std::size_t width = 0;
  bool signs = false;  ///< numbers have their sign
};

/// A column of stated width, for tables whose rows are printed as they come.
Column fixed_column(std::string key, std::string title, std::string unit, std::size_t width,
                    int digits = 2, int rank = 0);

/// Rows of one kind. They are the rows of csv and of json, too, which have all their keys.
struct Table {
  std::string title{};
  std::vector<Column> columns{};
  std::vector<Record> rows{};
  std::size_t max_rows = 0;                                ///< that a terminal shows; 0: all
  std::string rest = "more rows: --format json has them";  ///< said of the others, after how many
  bool wide = false;                                       ///< a terminal shows all columns
};

/// A row of a table while it is made: its values with their columns, in the order of csv and json.
/// The first row makes the columns.
class NewRow {
 public:
  explicit NewRow(Table& table);

  /// Adds a value.
  void operator()(Column column, Record value);
  /// Adds a value that only csv and json have.
  void data(std::string key, Record value);

 private:
  Table& table_;
};

/// The columns of stated width that fit into line_width, in the given order. They are chosen by
/// rank. None has the rank wide_only.
std::vector<Column> fitting(std::vector<Column> columns);

/// Both lines of titles: "#      size      time\n#       (B)      (us)\n"; one where no column has
/// a unit.
std::string titles_of(std::span<const Column> columns);

/// The record as a line without its line end; "-" for a missing value.
std::string line_of(std::span<const Column> columns, const Record& record);

/// The table as a terminal shows it.
void print_table(const Table& table, std::ostream& out);

/// The columns that pages have: all but those of csv and json alone.
std::vector<Column> page_columns(const Table& table);

/// A column's title with its unit, in one line.
std::string title_with_unit(const Column& column);

/// A value of the column as people read it: "-" for null and for what is not finite, "yes" and
/// "no".
std::string shown_text(const Record& value, const Column& column);

/// Whether the column has a number in some row.
bool is_of_numbers(const Table& table, const Column& column);

}  // namespace collsim::command
