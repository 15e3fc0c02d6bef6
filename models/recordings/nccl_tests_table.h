#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/recordings/readers.h"

namespace collsim {

/// The columns of a table of nccl-tests, counted from 0. A header may be torn, so that nothing that
/// it says holds for a row before `TableRow` has looked.
struct TableColumns {
  using Column = std::optional<std::size_t>;
  Column redop;
  Column root;
  std::array<Column, 2> time;  ///< out of place, in place
  /// The columns with the number of wrong results, out of place and in place.
  std::array<Column, 2> wrong;
  /// What older tables have instead: the largest deviation of any result.
  std::array<Column, 2> error;

  /// How many columns a row has at the least: all of those above but `wrong`, and algbw and busbw
  /// behind every time. A time stamp (-S) has a column of its own, in words of no fixed number.
  std::size_t min_count() const;
};

/// The columns that the names in a table's header say; nothing where there is no time among them.
/// A name that a torn header repeats is taken where it comes first.
std::optional<TableColumns> find_table_columns(const std::vector<std::string_view>& names);

/// The columns of a row whose table has lost its header, by how many words it has and which of them
/// are numbers; nothing where it has none of the numbers of words that nccl-tests has printed.
std::optional<TableColumns> guess_table_columns(const std::vector<Word>& row);

/// A line of a table, as words. The one place where a column becomes a word.
class TableRow {
 public:
  /// `line` is where the row stands; its column is what a launcher put before the row.
  TableRow(const std::vector<Word>& words, const SourcePosition& line)
      : words_(words), line_(line) {}

  std::size_t size() const { return words_.size(); }
  /// The word in a column. Throws InputError where the row is too short.
  const Word& at(std::size_t column) const;
  /// The word in a column, null where the table has no such column or the row is too short.
  const Word* find(TableColumns::Column column) const;
  /// Throws InputError that points to a word of the row.
  [[noreturn]] void fail(const Word& word, const std::string& wrong,
                         const std::string& accepted) const;

 private:
  const std::vector<Word>& words_;
  const SourcePosition& line_;
};

/// What a row says of its results in a place, 0 out of place and 1 in place.
enum class ResultCheck : std::uint8_t { unchecked, right, wrong };
ResultCheck result_check(const TableColumns& columns, const TableRow& row, std::size_t place);

}  // namespace collsim
