#include "tools/collsim/moe/traffic_matrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <numeric>
#include <string_view>
#include <utility>

#include "sim/base/lines.h"
#include "sim/base/number.h"
#include "sim/base/units.h"

namespace collsim {

namespace {

constexpr double largest_number = 1e12;

double number_of(std::string_view text, const SourcePosition& place) {
  constexpr const char* accepted = "a number from 0 to 1e12, or a size such as 4 MiB";
  double number = 0;
  if (const auto plain = parse_number<double>(text)) {
    number = *plain;
  } else {
    try {
      number = static_cast<double>(parse_bytes(text).count);
    } catch (const QuantityError&) {
      throw InputError(place, fmt::format("'{}' is no number", text), accepted);
    }
  }
  if (!(number >= 0 && number <= largest_number)) {
    throw InputError(place, fmt::format("'{}' is out of range", text), accepted);
  }
  return number;
}

NumberRow row_of(std::string_view line, const std::string& file, int number) {
  NumberRow row;
  for (const Word& field : split_fields(line, ',')) {
    row.places.push_back({file, number, field.column});
    row.numbers.push_back(number_of(field.text, row.places.back()));
  }
  return row;
}

bool begins_with_letter(std::string_view line) {
  return std::isalpha(static_cast<unsigned char>(line.front())) != 0;
}

}  // namespace

NumberTable read_number_table(const TextFile& text) {
  NumberTable table;
  int number = 0;
  for (const std::string_view line : split_lines(text.content)) {
    ++number;
    const std::string_view words = trimmed(line, " \t\r");
    if (words.empty() || words.front() == '#') continue;
    if (table.rows.empty() && table.header.empty() && begins_with_letter(words)) {
      table.header = std::string(words);
      continue;
    }
    table.rows.push_back(row_of(line, text.name, number));
  }
  if (table.rows.empty()) {
    throw InputError({text.name, 1, 1}, "no line of numbers", "numbers with commas between them");
  }
  return table;
}

namespace {

void require_width(const NumberRow& row, Rank ranks) {
  if (row.numbers.size() == ranks) return;
  const std::size_t wrong = std::min<std::size_t>(row.numbers.size() - 1, ranks);
  throw InputError(row.places[wrong], fmt::format("a line of {} sizes", row.numbers.size()),
                   fmt::format("{}, one for each rank", ranks));
}

}  // namespace

TrafficMatrix TrafficMatrix::of_equal_rows(std::vector<double> row) {
  TrafficMatrix matrix(0);
  matrix.ranks_ = static_cast<Rank>(row.size());
  matrix.amounts_ = std::move(row);
  return matrix;
}

double TrafficMatrix::sent(Rank from) const {
  double sum = 0;
  for (Rank to = 0; to < ranks_; ++to) sum += amount(from, to);
  return sum;
}

double TrafficMatrix::received(Rank to) const {
  double sum = 0;
  for (Rank from = 0; from < ranks_; ++from) sum += amount(from, to);
  return sum;
}

double TrafficMatrix::total() const {
  const double stored = std::accumulate(amounts_.begin(), amounts_.end(), 0.0);
  return row_ == 0 ? stored * ranks_ : stored;
}

double TrafficMatrix::busiest_sender() const {
  double most = 0;
  for (Rank from = 0; from < ranks_; ++from) {
    most = std::max(most, sent(from) - amount(from, from));
  }
  return most;
}

TrafficMatrix matrix_of(const NumberTable& table, Rank ranks) {
  if (table.rows.size() != ranks) {
    throw InputError(table.rows.back().places.front(),
                     fmt::format("a matrix of {} lines", table.rows.size()),
                     fmt::format("{}, one for each rank", ranks));
  }
  TrafficMatrix matrix(ranks);
  for (Rank from = 0; from < ranks; ++from) {
    require_width(table.rows[from], ranks);
    for (Rank to = 0; to < ranks; ++to) matrix.add(from, to, table.rows[from].numbers[to]);
  }
  return matrix;
}

TrafficMatrix gathered_matrix(const NumberTable& table, Rank ranks) {
  if (table.rows.size() != 1) {
    throw InputError(table.rows[1].places.front(), "a second line of sizes",
                     "one line, with a size for each rank");
  }
  require_width(table.rows.front(), ranks);
  TrafficMatrix matrix(ranks);
  for (Rank from = 0; from < ranks; ++from) {
    for (Rank to = 0; to < ranks; ++to) matrix.add(from, to, table.rows.front().numbers[from]);
  }
  return matrix;
}

TrafficMatrix weighted_matrix(const std::vector<double>& weights, double bytes) {
  const auto ranks = static_cast<Rank>(weights.size());
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  TrafficMatrix matrix(ranks);
  for (Rank from = 0; from < ranks; ++from) {
    for (Rank to = 0; to < ranks; ++to) matrix.add(from, to, bytes * weights[to] / sum);
  }
  return matrix;
}

TrafficMatrix evened(const TrafficMatrix& matrix) {
  const Rank ranks = matrix.ranks();
  double between = 0;
  for (Rank from = 0; from < ranks; ++from)
    between += matrix.sent(from) - matrix.amount(from, from);
  const double each = ranks > 1 ? between / ranks / (ranks - 1) : 0;
  TrafficMatrix even(ranks);
  for (Rank from = 0; from < ranks; ++from) {
    for (Rank to = 0; to < ranks; ++to) even.add(from, to, each);
  }
  return even;
}

}  // namespace collsim
