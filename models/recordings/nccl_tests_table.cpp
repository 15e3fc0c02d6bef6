#include "models/recordings/nccl_tests_table.h"

#include <fmt/format.h>

#include <algorithm>

namespace collsim {

std::size_t TableColumns::least_count() const {
  std::size_t count = 0;
  for (const Column& column : {redop, root}) {
    if (column) count = std::max(count, *column + 1);
  }
  for (const Column& column : time) {
    if (column) count = std::max(count, *column + 3);
  }
  return count;
}

std::optional<TableColumns> find_table_columns(const std::vector<std::string_view>& names) {
  TableColumns columns;
  const auto take = [](TableColumns::Column& column, std::size_t place) {
    if (!column) column = place;
  };
  std::size_t places = 0;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == "redop" || names[i] == "op") take(columns.redop, i);
    if (names[i] == "root") take(columns.root, i);
    if (names[i] == "time" && places < columns.time.size()) columns.time[places++] = i;
    if (places > 0 && (names[i] == "#wrong" || names[i] == "wrong")) {
      take(columns.wrong[places - 1], i);
    }
  }
  if (places == 0) return std::nullopt;
  return columns;
}

const Word& TableRow::at(std::size_t column) const {
  if (column < words_.size()) return words_[column];
  fail(words_.empty() ? Word{} : words_.back(), fmt::format("a row of {} columns", words_.size()),
       fmt::format("{} or more, as the table's header has", column + 1));
}

const Word* TableRow::find(TableColumns::Column column) const {
  return column && *column < words_.size() ? &words_[*column] : nullptr;
}

void TableRow::fail(const Word& word, const std::string& wrong, const std::string& accepted) const {
  throw InputError({line_.file, line_.line, word.column + line_.column}, wrong, accepted);
}

}  // namespace collsim
