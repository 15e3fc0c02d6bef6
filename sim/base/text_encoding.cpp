#include "sim/base/text_encoding.h"

#include <boost/nowide/utf/utf.hpp>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

namespace collsim {

namespace {

using namespace std::string_view_literals;
namespace utf = boost::nowide::utf;

constexpr std::string_view utf8_mark = "\xEF\xBB\xBF"sv;
constexpr char16_t unknown_character = 0xFFFD;

enum class ByteOrder : std::uint8_t { little, big };

/// The order of the bytes of UTF-16: as its mark says, or as the zeros of the first two letters
/// show, since a text of ours begins with letters of ASCII. Nothing for any other text.
std::optional<ByteOrder> utf16_order(std::string_view bytes) {
  if (bytes.starts_with("\xFF\xFE"sv)) return ByteOrder::little;
  if (bytes.starts_with("\xFE\xFF"sv)) return ByteOrder::big;
  constexpr std::size_t two_letters = 4;
  if (bytes.size() < two_letters) return std::nullopt;
  const auto zeros = [&](std::size_t first) {
    return bytes[first] == 0 && bytes[first + 2] == 0 && bytes[1 - first] != 0 &&
           bytes[3 - first] != 0;
  };
  if (zeros(1)) return ByteOrder::little;
  if (zeros(0)) return ByteOrder::big;
  return std::nullopt;
}

std::string utf8_of_utf16(std::string_view bytes, ByteOrder order) {
  std::u16string units;
  units.reserve(bytes.size() / 2 + 1);
  for (std::size_t at = 0; at + 1 < bytes.size(); at += 2) {
    const auto first = static_cast<unsigned char>(bytes[at]);
    const auto second = static_cast<unsigned char>(bytes[at + 1]);
    const bool is_little = order == ByteOrder::little;
    units += static_cast<char16_t>(is_little ? first | second << 8 : second | first << 8);
  }
  if (bytes.size() % 2 != 0) units += unknown_character;
  std::string text;
  text.reserve(units.size());
  const char16_t* const end = units.data() + units.size();
  for (const char16_t* at = units.data(); at != end;) {
    const char16_t* const begin = at;
    auto character = utf::utf_traits<char16_t>::decode(at, end);
    if (character == utf::illegal || character == utf::incomplete) {
      character = unknown_character;
      at = begin + 1;  // what follows half a character is one of its own
    }
    utf::utf_traits<char>::encode(character, std::back_inserter(text));
  }
  return text;
}

/// Without marks at the start of a line, and with "\n" for "\r\n".
std::string with_plain_lines(std::string text) {
  std::size_t kept = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view rest = std::string_view(text).substr(at);
    const bool begins_line = kept == 0 || text[kept - 1] == '\n';
    if (begins_line && rest.starts_with(utf8_mark)) {
      at += utf8_mark.size();
    } else if (rest.starts_with("\r\n")) {
      ++at;
    } else {
      text[kept++] = text[at++];
    }
  }
  text.resize(kept);
  return text;
}

}  // namespace

std::string utf8_text(std::string bytes, const SourcePosition& position) {
  if (bytes.starts_with("\xFF\xFE\0\0"sv) || bytes.starts_with("\0\0\xFE\xFF"sv)) {
    throw InputError(position, "text in UTF-32", "UTF-8 or UTF-16");
  }
  if (const auto order = utf16_order(bytes)) bytes = utf8_of_utf16(bytes, *order);
  return with_plain_lines(std::move(bytes));
}

}  // namespace collsim
