#include "tests/support/test_name.h"

#include <algorithm>
#include <cctype>

namespace collsim::test {

std::string test_name(std::string text) {
  std::replace_if(
      text.begin(), text.end(),
      [](char letter) { return std::isalnum(static_cast<unsigned char>(letter)) == 0; }, '_');
  return text;
}

}  // namespace collsim::test
