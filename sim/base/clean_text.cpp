#include "sim/base/clean_text.h"

#include <fmt/format.h>

#include <algorithm>

namespace collsim {

namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD";  // U+FFFD

/// C0, DEL and C1, and what reorders or breaks lines beyond them: embeddings, overrides and
/// isolates (Unicode standard annex 9), line and paragraph separators.
bool is_control(char32_t code) {
  return code < 0x20 || (code >= 0x7F && code <= 0x9F) || (code >= 0x2028 && code <= 0x202E) ||
         (code >= 0x2066 && code <= 0x2069);
}

/// The second byte of a sequence that begins so: shorter forms, surrogates and what is beyond
/// U+10FFFF are not UTF-8 (table 3-7 of the Unicode standard).
struct ByteRange {
  unsigned min = 0x80;
  unsigned max = 0xBF;
};
ByteRange second_byte_after(unsigned lead) {
  if (lead == 0xE0) return {0xA0, 0xBF};
  if (lead == 0xED) return {0x80, 0x9F};
  if (lead == 0xF0) return {0x90, 0xBF};
  if (lead == 0xF4) return {0x80, 0x8F};
  return {};
}

/// Where a sequence of a terminal's that begins with ESC ends.
std::size_t end_of_sequence(std::string_view text, std::size_t escape) {
  const auto letter = [&](std::size_t at) { return at < text.size() ? text[at] : '\0'; };
  std::size_t end = escape + 1;
  if (letter(end) == '[') {
    for (++end; letter(end) >= 0x20 && letter(end) <= 0x3F;) ++end;
    return letter(end) >= 0x40 && letter(end) <= 0x7E ? end + 1 : end;
  }
  if (letter(end) != ']') return end;
  while (end < text.size() && text[end] != '\a' && text[end] != '\n' && text[end] != '\x1b') ++end;
  return letter(end) == '\a' ? end + 1 : end;
}

}  // namespace

TextUnit unit_at(std::string_view text, std::size_t place) {
  using Kind = TextUnit::Kind;
  const auto byte = [&](std::size_t offset) {
    return static_cast<unsigned char>(text[place + offset]);
  };
  const unsigned lead = byte(0);
  if (lead < 0x80) return {is_control(lead) ? Kind::control : Kind::plain, 1, lead};
  if (lead < 0xC2 || lead > 0xF4) return {Kind::invalid, 1, 0};
  const std::size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  char32_t code = lead & (0x7FU >> length);
  ByteRange range = second_byte_after(lead);
  for (std::size_t i = 1; i < length; ++i, range = {}) {
    if (place + i == text.size()) return {Kind::unfinished, i, 0};
    if (byte(i) < range.min || byte(i) > range.max) return {Kind::invalid, i, 0};
    code = code << 6 | (byte(i) & 0x3FU);
  }
  return {is_control(code) ? Kind::control : Kind::plain, length, code};
}

std::string clean_text(std::string_view text) {
  std::string clean;
  clean.reserve(text.size());
  for (std::size_t place = 0; place < text.size();) {
    const TextUnit unit = unit_at(text, place);
    const bool is_layout = text[place] == '\n' || text[place] == '\t';
    if (unit.kind == TextUnit::Kind::plain || is_layout) {
      clean += text.substr(place, unit.length);
    } else if (unit.kind == TextUnit::Kind::control) {
      clean += fmt::format("\\u{:04x}", static_cast<std::uint32_t>(unit.code_point));
    } else {
      clean += replacement;
    }
    place += unit.length;
  }
  return clean;
}

std::string without_terminal_sequences(std::string_view text) {
  std::string without;
  without.reserve(text.size());
  for (std::size_t place = 0; place < text.size();) {
    const std::size_t escape = std::min(text.find('\x1b', place), text.size());
    without += text.substr(place, escape - place);
    place = escape == text.size() ? escape : end_of_sequence(text, escape);
  }
  return without;
}

}  // namespace collsim
