#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace collsim {

/// What stands at a place of a text from outside.
struct TextUnit {
  enum class Kind {
    plain,       ///< may be shown as it is
    control,     ///< steers a terminal or hides what is there: C0, DEL, C1, and bidirectional marks
    unfinished,  ///< the beginning of a UTF-8 sequence whose end the text does not have
    invalid,     ///< a byte that is not UTF-8 (RFC 3629)
  };
  Kind kind = Kind::plain;
  std::size_t length = 1;   ///< bytes
  char32_t code_point = 0;  ///< of what is plain or control
};

/// The character or the wrong byte at a place of a text, which has one there.
TextUnit unit_at(std::string_view text, std::size_t place);

/// A text of other people's that may be shown and written: bytes that are not UTF-8 are U+FFFD,
/// and control characters but tabs and ends of line are spelled out, as in \u001b. Text that is
/// clean stays as it is.
std::string clean_text(std::string_view text);

/// A text of a log without the sequences by which terminals colour: ESC [ ... letter, and
/// ESC ] ... BEL. Text that has none stays as it is.
std::string without_terminal_sequences(std::string_view text);

}  // namespace collsim
