#include "sim/base/text.h"

#include <fnmatch.h>

#include "sim/base/lines.h"

namespace collsim {

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& letter : lower) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  }
  return lower;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (const std::string_view part : split_lines(text, separator)) {
    if (!part.empty()) parts.emplace_back(part);
  }
  return parts;
}

bool matches(const std::string& pattern, const std::string& name) {
  return fnmatch(pattern.c_str(), name.c_str(), FNM_NOESCAPE) == 0;
}

}  // namespace collsim
