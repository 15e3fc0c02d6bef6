#include "tools/collsim/core/markup.h"

#include "sim/base/clean_text.h"

namespace collsim::command {

std::string escaped(std::string_view text) {
  std::string html;
  for (const char letter : clean_text(text)) {
    switch (letter) {
      case '&':
        html += "&amp;";
        break;
      case '<':
        html += "&lt;";
        break;
      case '>':
        html += "&gt;";
        break;
      case '"':
        html += "&quot;";
        break;
      case '\'':
        html += "&#39;";
        break;
      default:
        html += letter;
    }
  }
  return html;
}

}  // namespace collsim::command
