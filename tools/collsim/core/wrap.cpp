#include "tools/collsim/core/wrap.h"

#include <sstream>

namespace collsim::command {

std::string wrapped(std::string_view text, std::string_view first, std::string_view next) {
  std::string lines;
  std::string line(first);
  bool any_word = false;
  std::istringstream words{std::string(text)};
  for (std::string word; words >> word;) {
    if (any_word && line.size() + 1 + word.size() > line_width) {
      lines += line + "\n";
      line = next;
      any_word = false;
    }
    line += (any_word ? " " : "") + word;
    any_word = true;
  }
  return lines + line + "\n";
}

}  // namespace collsim::command
