#include "sim/base/text_stream.h"

#include <array>
#include <istream>
#include <utility>

#include "sim/base/read_files.h"
#include "sim/base/text_encoding.h"

namespace collsim {

TextFile read_text_stream(std::istream& stream, const std::string& name) {
  std::string text;
  std::array<char, 65'536> piece{};
  while (stream.read(piece.data(), piece.size()) || stream.gcount() > 0) {
    append_input(text, {piece.data(), static_cast<std::size_t>(stream.gcount())}, {name});
  }
  return {name, utf8_text(std::move(text), {name})};
}

}  // namespace collsim
