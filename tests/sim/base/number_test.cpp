// One reader of numbers for options, files and variables.

#include "sim/base/number.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace collsim {
namespace {

TEST(Number, is_all_of_a_text) {
  EXPECT_EQ(parse_number<std::uint32_t>("17"), 17U);
  EXPECT_EQ(parse_number<double>("1.5e3"), 1500);
  for (const char* const text : {"", " 1", "1 ", "+1", "-1", "0x1", "1.5", "4294967296"}) {
    EXPECT_EQ(parse_number<std::uint32_t>(text), std::nullopt) << text;
  }
  EXPECT_EQ(parse_hexadecimal<int>("ff"), 255);
  EXPECT_EQ(parse_hexadecimal<int>("0xff"), std::nullopt);
}

TEST(Number, is_taken_off_the_front) {
  std::string_view text = "2.28.9";
  EXPECT_EQ(take_number<int>(text), 2);
  EXPECT_EQ(text, ".28.9");
  EXPECT_EQ(take_number<int>(text), std::nullopt);
  EXPECT_EQ(text, ".28.9");
}

}  // namespace
}  // namespace collsim
