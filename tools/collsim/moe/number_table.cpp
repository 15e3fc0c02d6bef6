#include "tools/collsim/moe/number_table.h"

#include <fmt/format.h>

#include <cctype>
#include <string_view>

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

}  // namespace collsim
