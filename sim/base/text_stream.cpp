#include "sim/base/text_stream.h"

#include <istream>
#include <iterator>
#include <utility>

#include "sim/base/text_encoding.h"

namespace collsim {

TextFile read_text_stream(std::istream& stream, const std::string& name) {
  std::string text{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  return {name, utf8_text(std::move(text), {name})};
}

}  // namespace collsim
