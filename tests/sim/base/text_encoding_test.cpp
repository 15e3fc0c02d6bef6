#include "sim/base/text_encoding.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <string_view>

#include "sim/base/text_stream.h"
#include "tests/support/error_of.h"

namespace collsim::test {
namespace {

using namespace std::string_literals;
using namespace std::string_view_literals;

std::string decoded(std::string_view bytes) {
  return utf8_text(std::string(bytes), {"file"});
}

TEST(TextEncoding, LeavesUtf8AsItIs) {
  EXPECT_EQ(decoded(""), "");
  EXPECT_EQ(decoded("a"), "a");
  EXPECT_EQ(decoded("\xC3\xBC = 1\n"), "\xC3\xBC = 1\n");
  // One zero among letters is a fault of the text and no UTF-16.
  EXPECT_EQ(decoded("ab\0c"sv), "ab\0c"s);
}

TEST(TextEncoding, MakesEndsOfLineAlike) {
  EXPECT_EQ(decoded("a\r\n\r\nb\rc\r\n"), "a\n\nb\rc\n");
  EXPECT_EQ(decoded("\xEF\xBB\xBF"
                    "a\r\n\xEF\xBB\xBF"
                    "b\r"),
            "a\nb\r");
}

TEST(TextEncoding, LeavesOutMarksAtTheStartOfLines) {
  EXPECT_EQ(decoded("\xEF\xBB\xBF"
                    "a\n\xEF\xBB\xBF"
                    "b"),
            "a\nb");
  // Inside of a line it is a character like any other.
  EXPECT_EQ(decoded("a\xEF\xBB\xBF"
                    "b"),
            "a\xEF\xBB\xBF"
            "b");
}

// U+0041, U+00FC, U+20AC and U+1F600, which is D83D DE00 in UTF-16: 1, 2, 3 and 4 bytes in UTF-8.
constexpr std::string_view letters = "A\xC3\xBC\xE2\x82\xAC\xF0\x9F\x98\x80";

TEST(TextEncoding, ReadsUtf16OfBothOrders) {
  EXPECT_EQ(decoded("\xFF\xFE"
                    "A\0\xFC\0\xAC\x20\x3D\xD8\x00\xDE"sv),
            letters);
  EXPECT_EQ(decoded("\xFE\xFF\0A\0\xFC\x20\xAC\xD8\x3D\xDE\x00"sv), letters);
}

TEST(TextEncoding, ReadsUtf16WithoutAMark) {
  EXPECT_EQ(decoded("<\0s\0>\0"sv), "<s>");
  EXPECT_EQ(decoded("\0<\0s\0>"sv), "<s>");
}

TEST(TextEncoding, HalvesOfCharactersAreUnknownOnes) {
  EXPECT_EQ(decoded("\xFF\xFE\x3D\xD8"
                    "A\0"sv),
            "\xEF\xBF\xBD"
            "A");
  EXPECT_EQ(decoded("\xFF\xFE"
                    "A\0B"sv),
            "A\xEF\xBF\xBD");
}

TEST(TextEncoding, RefusesUtf32ByItsName) {
  EXPECT_EQ(error_of([] { return decoded("\xFF\xFE\0\0A\0\0\0"sv); }),
            "file: text in UTF-32; UTF-8 or UTF-16");
}

TEST(TextEncoding, StreamsAreReadLikeFiles) {
  std::istringstream stream("\xEF\xBB\xBF#\n");
  EXPECT_EQ(read_text_stream(stream, "standard input").content, "#\n");
}

}  // namespace
}  // namespace collsim::test
