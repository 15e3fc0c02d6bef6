#include "models/recordings/nccl_tests_table.h"

#include <fmt/format.h>

#include <algorithm>

namespace collsim {

std::size_t TableColumns::min_count() const {
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
    if (places > 0 && names[i] == "error") take(columns.error[places - 1], i);
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

std::optional<TableColumns> guess_table_columns(const std::vector<Word>& row) {
  constexpr std::size_t of_places = 8;    // time, algbw, busbw, #wrong or error, twice
  constexpr std::size_t before_type = 3;  // size, count, type
  if (row.size() < of_places + before_type || row.size() > of_places + before_type + 2) {
    return std::nullopt;
  }
  TableColumns columns;
  const std::size_t first = row.size() - of_places;
  if (first > before_type) {
    const bool is_root = decimal_number(row[before_type].text).has_value();
    (is_root ? columns.root : columns.redop) = before_type;
  }
  if (first > before_type + 1) columns.root = before_type + 1;
  for (std::size_t place = 0; place < 2; ++place) {
    const std::size_t time = first + place * of_places / 2;
    columns.time[place] = time;
    const bool is_error = row[time + 3].text.find('e') != std::string_view::npos;
    (is_error ? columns.error : columns.wrong)[place] = time + 3;
  }
  return columns;
}

namespace {

/// The largest deviation that nccl-tests let pass, by type, while it printed deviations: the most
/// that any release allowed (DeltaMaxValue() in its src/common.cu: half 1e-2, and 5e-2 before).
/// Whole numbers must be exact.
double largest_deviation(std::string_view type) {
  if (type == "double" || type == "float64") return 1e-12;
  if (type == "float" || type == "float32") return 1e-5;
  const bool is_short = type == "half" || type == "float16" || type == "bfloat16";
  return is_short || type.find("fp8") == 0 || type.find("f8") == 0 ? 5e-2 : 0;
}

}  // namespace

ResultCheck result_check(const TableColumns& columns, const TableRow& row, std::size_t place) {
  const auto check = [](const Word* word, double most) {
    if (word == nullptr || word->text == "N/A") return ResultCheck::unchecked;
    if (word->text.find("nan") != std::string_view::npos) return ResultCheck::wrong;
    if (word->text.find("inf") != std::string_view::npos) return ResultCheck::wrong;
    const auto number = decimal_number(word->text);  // counts from 1e+06 on have an exponent, too
    if (!number) return ResultCheck::unchecked;
    return *number > most ? ResultCheck::wrong : ResultCheck::right;
  };
  const ResultCheck counted = check(row.find(columns.wrong[place]), 0);
  if (counted != ResultCheck::unchecked) return counted;
  return check(row.find(columns.error[place]), largest_deviation(row.at(2).text));
}

}  // namespace collsim
