#include "sim/base/text_encoding.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

namespace collsim {

namespace {

using namespace std::string_view_literals;

constexpr std::string_view utf8_mark = "\xEF\xBB\xBF"sv;
constexpr std::uint32_t unknown_character = 0xFFFD;

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

void append_utf8(std::string& text, std::uint32_t character) {
  const auto add = [&](std::uint32_t byte) { text += static_cast<char>(byte); };
  const auto add_rest = [&](std::uint32_t shift) { add(0x80 | (character >> shift & 0x3F)); };
  if (character < 0x80) {
    add(character);
  } else if (character < 0x800) {
    add(0xC0 | character >> 6);
    add_rest(0);
  } else if (character < 0x10000) {
    add(0xE0 | character >> 12);
    add_rest(6);
    add_rest(0);
  } else {
    add(0xF0 | character >> 18);
    add_rest(12);
    add_rest(6);
    add_rest(0);
  }
}

bool is_first_half(std::uint32_t unit) {
  return unit >= 0xD800 && unit < 0xDC00;
}

bool is_second_half(std::uint32_t unit) {
  return unit >= 0xDC00 && unit < 0xE000;
}

std::string utf8_of_utf16(std::string_view bytes, ByteOrder order) {
  const auto unit_at = [&](std::size_t at) {
    const auto first = static_cast<unsigned char>(bytes[at]);
    const auto second = static_cast<unsigned char>(bytes[at + 1]);
    return order == ByteOrder::little ? first | std::uint32_t{second} << 8U
                                      : second | std::uint32_t{first} << 8U;
  };
  std::string text;
  text.reserve(bytes.size() / 2);
  std::size_t at = 0;
  for (; at + 1 < bytes.size(); at += 2) {
    std::uint32_t character = unit_at(at);
    const bool two_units =
        is_first_half(character) && at + 3 < bytes.size() && is_second_half(unit_at(at + 2));
    if (two_units) {
      at += 2;
      character = 0x10000 + ((character - 0xD800) << 10U) + (unit_at(at) - 0xDC00);
    } else if (is_first_half(character) || is_second_half(character)) {
      character = unknown_character;
    }
    append_utf8(text, character);
  }
  if (at < bytes.size()) append_utf8(text, unknown_character);
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
