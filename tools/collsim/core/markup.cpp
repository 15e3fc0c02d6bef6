#include "tools/collsim/core/markup.h"

#include <boost/algorithm/string/replace.hpp>

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

std::string script_json(std::string_view json) {
  return boost::replace_all_copy(std::string(json), "<", "\\u003c");
}

}  // namespace collsim::command
