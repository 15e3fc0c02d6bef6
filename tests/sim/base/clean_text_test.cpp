#include "sim/base/clean_text.h"

#include <gtest/gtest.h>

namespace collsim {
namespace {

const std::string replacement = "\xEF\xBF\xBD";  // U+FFFD

TEST(CleanText, what_may_be_shown_stays) {
  const std::string text = "a\tb\nµs, 北京, \xF0\x9F\x98\x80";
  EXPECT_EQ(clean_text(text), text);
}

// ESC, BEL, DEL, a return; CSI as one C1 character, U+009B; U+202E, which reverses what follows.
TEST(CleanText, control_characters_are_spelled_out) {
  EXPECT_EQ(clean_text("\x1b[31mred\x07"), "\\u001b[31mred\\u0007");
  EXPECT_EQ(clean_text("a\x7f\r"), "a\\u007f\\u000d");
  EXPECT_EQ(clean_text("\xC2\x9B"
                       "31m"),
            "\\u009b31m");
  EXPECT_EQ(clean_text("\xE2\x80\xAEtxt"), "\\u202etxt");
  EXPECT_EQ(clean_text(std::string("a\0b", 3)), "a\\u0000b");
}

// A lone byte, a sequence that is cut off, two bytes of a form that is too long (C0 80), and three
// of a surrogate (ED A0 80): the Unicode standard has one U+FFFD for every longest piece that
// begins a character, and for every other byte (section 3.9).
TEST(CleanText, what_is_not_utf_8_is_replaced) {
  EXPECT_EQ(clean_text("a\xFF"
                       "b"),
            "a" + replacement + "b");
  EXPECT_EQ(clean_text("a\xE2\x82"), "a" + replacement);
  EXPECT_EQ(clean_text("\xE2\x82 "), replacement + " ");
  EXPECT_EQ(clean_text("\xC0\x80"), replacement + replacement);
  EXPECT_EQ(clean_text("\xED\xA0\x80"), replacement + replacement + replacement);
  EXPECT_EQ(clean_text("\xF5\x80"), replacement + replacement);
}

TEST(CleanText, colours_of_a_terminal_are_left_out) {
  EXPECT_EQ(without_terminal_sequences("\x1b[1;36mworker-0 |\x1b[0m row\x1b[K"), "worker-0 | row");
  EXPECT_EQ(without_terminal_sequences("\x1b]0;title\x07text"), "text");
  EXPECT_EQ(without_terminal_sequences("\x1b]0;no end\nnext"), "\nnext");
  EXPECT_EQ(without_terminal_sequences("end\x1b["), "end");
  EXPECT_EQ(without_terminal_sequences("end\x1b"), "end");
}

}  // namespace
}  // namespace collsim
