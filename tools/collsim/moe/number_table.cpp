#include "tools/collsim/moe/number_table.h"

#include <fmt/format.h>

#include <cctype>
#include <string_view>

#include "sim/base/number.h"
#include "sim/base/units.h"

namespace collsim {

namespace {

constexpr double largest_number = 1e12;
constexpr std::string_view blanks = " \t\r";

std::string_view without_blanks(std::string_view text) {
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

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
  std::size_t begin = 0;
  while (begin <= line.size()) {
    const std::size_t end = std::min(line.find(',', begin), line.size());
    const SourcePosition place{file, number, static_cast<int>(begin) + 1};
    row.numbers.push_back(number_of(without_blanks(line.substr(begin, end - begin)), place));
    row.places.push_back(place);
    begin = end + 1;
  }
  return row;
}

bool begins_with_letter(std::string_view line) {
  return std::isalpha(static_cast<unsigned char>(line.front())) != 0;
}

}  // namespace

NumberTable read_number_table(const TextFile& text) {
  NumberTable table;
  std::string_view rest = text.content;
  for (int number = 1; !rest.empty(); ++number) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    const std::string_view words = without_blanks(line);
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
