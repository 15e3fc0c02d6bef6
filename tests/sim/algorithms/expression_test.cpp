#include "sim/algorithms/expression.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

namespace collsim {
namespace {

const std::vector<std::string> names{"N", "r"};

std::int64_t value_of(const std::string& text, std::int64_t n = 8, std::int64_t r = 5) {
  return Expression(text, names).value(std::array{n, r});
}

std::string error_of(const std::string& text) {
  try {
    return std::to_string(value_of(text));
  } catch (const ExpressionError& error) {
    return error.what();
  }
}

TEST(Expression, OperatorsBindAsInPython) {
  EXPECT_EQ(value_of("2 + 3 * 4 - 1"), 13);
  EXPECT_EQ(value_of("2 ** 3 ** 2"), 512);  // from the right
  EXPECT_EQ(value_of("-2 ** 2"), -4);       // the power first
  EXPECT_EQ(value_of("20 - 5 - 4"), 11);    // from the left
  EXPECT_EQ(value_of("1 << 2 + 1"), 8);     // sums before shifts
  EXPECT_EQ(value_of("r ^ 1 | 2"), 6);      // 5 ^ 1 = 4, | 2 = 6
  EXPECT_EQ(value_of("6 & 3 ^ 1"), 3);      // 6 & 3 = 2, ^ 1 = 3
  EXPECT_EQ(value_of("r xor 1"), 4);
  EXPECT_EQ(value_of("1 + 1 == 2 and not N < r or 0"), 1);
  EXPECT_EQ(value_of("(r + 4) % N"), 1);
}

TEST(Expression, DivisionRoundsDownAndRemaindersAreNotNegative) {
  EXPECT_EQ(value_of("(0 - 1) % N"), 7);
  EXPECT_EQ(value_of("-1 / 2"), -1);
  EXPECT_EQ(value_of("7 / 2"), 3);
}

TEST(Expression, HasFunctionsOfBits) {
  EXPECT_EQ(value_of("log2(N)"), 3);
  EXPECT_EQ(value_of("log2(N - 1)"), 2);
  EXPECT_EQ(value_of("lowbit(12)"), 4);
  EXPECT_EQ(value_of("min(N, r) + max(N, r)"), 13);
}

TEST(Expression, SaysWhatIsWrong) {
  EXPECT_EQ(error_of("r +"), "'r +' ends too soon");
  EXPECT_EQ(error_of("r + q"), "'q' in 'r + q'");
  EXPECT_EQ(error_of("r r"), "'r' in 'r r'");
  EXPECT_EQ(error_of("r / (N - 8)"), "a division by zero");
  EXPECT_EQ(error_of("2 ** 63"), "the power 63 of 2");
  EXPECT_EQ(error_of("(1 << 40) * (1 << 40)"), "a number of more than 62 bits");
  EXPECT_EQ(error_of("log2(0)"), "log2 of 0");
  EXPECT_NE(error_of(std::string(500, '(')), "");
}

}  // namespace
}  // namespace collsim
