#include "tools/collsim/report/table.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <ostream>
#include <utility>

#include "sim/base/json_text.h"
#include "tools/collsim/core/wrap.h"

namespace collsim::command {

namespace {

/// Between columns that are as wide as their values; those of stated width have room of their own.
std::size_t gap_before(const Column& column) {
  return column.width > 0 ? 1 : 2;
}

/// Letters, of which UTF-8 has one or more bytes each.
std::size_t letters_of(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char byte) {
    return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U;
  }));
}

std::string number_text(double value, int digits, bool signs) {
  return signs ? fmt::format("{:+.{}f}", value, digits) : fmt::format("{:.{}f}", value, digits);
}

/// A value as a terminal shows it, with fewer digits where the column is narrow.
std::string cell_text(const Record& value, const Column& column) {
  std::string text = shown_text(value, column);
  if (column.width == 0 || !value.is_number_float() || text == "-") return text;
  for (int digits = column.digits; digits > 0 && text.size() > column.width;) {
    text = number_text(value.get<double>() * column.scale, --digits, column.signs);
  }
  return text;
}

/// A column of a terminal, whose width is settled.
struct ShownColumn {
  const Column* column;
  std::size_t width;
  bool to_left;
};

/// A line of titles or values. The mark is in the first character, which no value uses.
template <typename Text>
std::string line(char mark, std::span<const ShownColumn> columns, Text text) {
  std::string line(1, mark);
  if (columns.front().to_left) line += ' ';
  for (const ShownColumn& shown : columns) {
    if (&shown != columns.data()) line.append(gap_before(*shown.column), ' ');
    const std::string cell = text(*shown.column);
    const std::size_t letters = letters_of(cell);
    const std::string room(shown.width > letters ? shown.width - letters : 0, ' ');
    line += shown.to_left ? cell + room : room + cell;
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

std::vector<ShownColumn> of_stated_width(std::span<const Column> columns) {
  std::vector<ShownColumn> shown;
  shown.reserve(columns.size());
  for (const Column& column : columns) shown.push_back({&column, column.width, false});
  return shown;
}

std::string title_lines(std::span<const ShownColumn> columns) {
  std::string text = line('#', columns, [](const Column& column) { return column.title; }) + "\n";
  const bool any_unit = std::any_of(columns.begin(), columns.end(), [](const ShownColumn& each) {
    return !each.column->unit.empty();
  });
  if (!any_unit) return text;
  return text + line('#', columns, [](const Column& column) { return column.unit; }) + "\n";
}

/// Leaves out columns by rank until the others fit into a line.
void drop_by_rank(std::vector<ShownColumn>& columns) {
  std::vector<ShownColumn> by_rank = columns;
  std::stable_sort(by_rank.begin(), by_rank.end(), [](const ShownColumn& a, const ShownColumn& b) {
    return a.column->rank < b.column->rank;
  });
  std::size_t used = 0;
  std::vector<const Column*> kept;
  for (const ShownColumn& each : by_rank) {
    const std::size_t needed = gap_before(*each.column) + each.width;
    if (each.column->rank >= wide_only) continue;
    if (each.column->rank > 0 && used + needed > line_width) continue;
    used += needed;
    kept.push_back(each.column);
  }
  std::erase_if(columns, [&](const ShownColumn& each) {
    return std::find(kept.begin(), kept.end(), each.column) == kept.end();
  });
}

bool has_value(std::span<const Record> rows, const Column& column) {
  return std::any_of(rows.begin(), rows.end(), [&](const Record& row) {
    const Record& value = row.at(column.key);
    const bool is_empty = value.is_string() && value.get_ref<const std::string&>().empty();
    return !value.is_null() && !is_empty;
  });
}

/// The columns that a terminal shows of rows that are all known.
std::vector<ShownColumn> shown_columns(const Table& table, std::span<const Record> rows) {
  std::vector<ShownColumn> shown;
  shown.reserve(table.columns.size());
  for (const Column& column : table.columns) {
    if (column.rank == data_only) continue;
    if (column.title.empty() && column.width == 0 && !has_value(rows, column)) continue;
    std::size_t width = std::max({column.width, letters_of(column.title), letters_of(column.unit)});
    for (const Record& row : rows) {
      width = std::max(width, letters_of(cell_text(row.at(column.key), column)));
    }
    shown.push_back({&column, width, column.width == 0 && !is_of_numbers(table, column)});
  }
  if (!table.wide) drop_by_rank(shown);
  return shown;
}

}  // namespace

NewRow::NewRow(Table& table) : table_(table) {
  table.rows.push_back(Record::object());
}

void NewRow::operator()(Column column, Record value) {
  table_.rows.back()[column.key] = std::move(value);
  if (table_.rows.size() == 1) table_.columns.push_back(std::move(column));
}

void NewRow::data(std::string key, Record value) {
  (*this)({std::move(key), "", "", 2, 1, data_only}, std::move(value));
}

Column fixed_column(std::string key, std::string title, std::string unit, std::size_t width,
                    int digits, int rank) {
  return {std::move(key), std::move(title), std::move(unit), digits, 1, rank, width, false};
}

std::vector<Column> fitting(std::vector<Column> columns) {
  std::vector<ShownColumn> shown = of_stated_width(columns);
  drop_by_rank(shown);
  std::vector<Column> kept;
  kept.reserve(shown.size());
  for (const ShownColumn& each : shown) kept.push_back(*each.column);
  return kept;
}

std::string titles_of(std::span<const Column> columns) {
  return title_lines(of_stated_width(columns));
}

std::string line_of(std::span<const Column> columns, const Record& record) {
  return line(' ', of_stated_width(columns),
              [&](const Column& column) { return cell_text(record.at(column.key), column); });
}

void print_table(const Table& table, std::ostream& out) {
  if (table.rows.empty()) return;
  const std::size_t all = table.rows.size();
  const std::size_t count = table.max_rows > 0 ? std::min(table.max_rows, all) : all;
  const auto rows = std::span(table.rows).first(count);
  const std::vector<ShownColumn> columns = shown_columns(table, rows);
  if (!table.title.empty()) out << wrapped(table.title, "# ", "#   ");
  out << title_lines(columns);
  for (const Record& row : rows) {
    out << line(' ', columns, [&](const Column& column) {
      return cell_text(row.at(column.key), column);
    }) << '\n';
  }
  if (count < all) fmt::print(out, "# {} {}\n", all - count, table.rest);
}

std::vector<Column> page_columns(const Table& table) {
  std::vector<Column> columns = table.columns;
  std::erase_if(columns, [](const Column& column) { return column.rank == data_only; });
  return columns;
}

std::string title_with_unit(const Column& column) {
  return column.unit.empty() ? column.title : fmt::format("{} {}", column.title, column.unit);
}

std::string shown_text(const Record& value, const Column& column) {
  std::string exact = json_text(value);
  if (exact == "null") return "-";
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (value.is_number_float() || (value.is_number() && column.scale != 1)) {
    return number_text(value.get<double>() * column.scale, column.digits, column.signs);
  }
  return exact;
}

bool is_of_numbers(const Table& table, const Column& column) {
  return std::any_of(table.rows.begin(), table.rows.end(),
                     [&](const Record& row) { return row.at(column.key).is_number(); });
}

}  // namespace collsim::command
