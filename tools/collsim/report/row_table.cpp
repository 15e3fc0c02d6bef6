#include "tools/collsim/report/row_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/json_text.h"
#include "tools/collsim/core/wrap.h"

namespace collsim::command {

namespace {

std::string number_text(double value, const Column& column) {
  std::string text;
  for (int digits = column.digits; digits >= 0; --digits) {
    text = fmt::format("{:.{}f}", value, digits);
    if (text.size() <= column.width) break;
  }
  return text;
}

std::string text_of(const Record& value, const Column& column) {
  if (value.is_null()) return "-";
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_float()) return number_text(value.get<double>(), column);
  return json_text(value);
}

/// A line of titles or values. The mark is in the first character, which no value uses.
template <typename Text>
std::string line(char mark, std::span<const Column> columns, Text text) {
  std::string line(1, mark);
  for (const Column& column : columns) {
    line +=
        fmt::format("{}{:>{}}", &column == columns.data() ? "" : " ", text(column), column.width);
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

}  // namespace

std::vector<Column> fitting(std::vector<Column> columns) {
  std::vector<Column> by_rank = columns;
  std::stable_sort(by_rank.begin(), by_rank.end(),
                   [](const Column& a, const Column& b) { return a.rank < b.rank; });
  std::size_t used = 0;
  std::vector<std::string_view> kept;
  for (const Column& column : by_rank) {
    if (column.rank == wide_only || used + 1 + column.width > line_width) continue;
    used += 1 + column.width;
    kept.push_back(column.key);
  }
  std::erase_if(columns, [&](const Column& column) {
    return std::find(kept.begin(), kept.end(), column.key) == kept.end();
  });
  return columns;
}

std::string titles_of(std::span<const Column> columns) {
  return line('#', columns, [](const Column& column) { return column.title; }) + "\n" +
         line('#', columns, [](const Column& column) { return column.unit; }) + "\n";
}

std::string line_of(std::span<const Column> columns, const Record& record) {
  return line(' ', columns,
              [&](const Column& column) { return text_of(record.at(column.key), column); });
}

}  // namespace collsim::command
