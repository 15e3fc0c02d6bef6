#include "sim/base/lines.h"

#include <algorithm>

namespace collsim {

std::vector<Word> split_words(std::string_view line) {
  constexpr std::string_view blanks = " \t";
  std::vector<Word> words;
  for (std::size_t begin = line.find_first_not_of(blanks); begin != std::string_view::npos;) {
    const std::size_t end = std::min(line.find_first_of(blanks, begin), line.size());
    words.push_back({line.substr(begin, end - begin), static_cast<int>(begin) + 1});
    begin = line.find_first_not_of(blanks, end);
  }
  return words;
}

std::vector<std::string_view> split_lines(std::string_view text, char end) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    lines.push_back(text.substr(0, text.find(end)));
    text.remove_prefix(std::min(lines.back().size() + 1, text.size()));
  }
  return lines;
}

std::vector<Word> split_fields(std::string_view line, char separator) {
  std::vector<Word> fields;
  for (std::size_t begin = 0;;) {
    const std::size_t end = std::min(line.find(separator, begin), line.size());
    const std::string_view field = trimmed(line.substr(begin, end - begin), " \t\r");
    fields.push_back({field, static_cast<int>(begin) + 1});
    if (end == line.size()) return fields;
    begin = end + 1;
  }
}

std::string_view trimmed(std::string_view text, std::string_view blanks) {
  const std::size_t begin = std::min(text.find_first_not_of(blanks), text.size());
  return text.substr(begin, text.find_last_not_of(blanks) + 1 - begin);
}

SourcePosition position_at(const std::string& file, std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, offset);
  const std::size_t line_begin = before.rfind('\n') + 1;  // npos + 1 is 0
  return {file, static_cast<int>(std::count(before.begin(), before.end(), '\n')) + 1,
          static_cast<int>(before.size() - line_begin) + 1};
}

}  // namespace collsim
