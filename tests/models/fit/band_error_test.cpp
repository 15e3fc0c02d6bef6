// Whether errors of a band are scatter or lean to one side.

#include "models/fit/band_error.h"

#include <gtest/gtest.h>

namespace collsim {
namespace {

// Median -6 %, deviations from it 1, 0, 1, 3, 2 %: median 1 %. Standard error of the median
// 1.2533 x 1.4826 x 1 % / sqrt(5) = 0.83 %; 6 % is more than three of them.
TEST(BandError, leaning_errors_are_systematic) {
  const BandError band = band_error({-0.07, -0.06, -0.05, -0.09, -0.04});
  EXPECT_EQ(band.rows, 5U);
  EXPECT_DOUBLE_EQ(band.bias, -0.06);
  EXPECT_DOUBLE_EQ(band.median, 0.06);
  EXPECT_TRUE(band.systematic);
}

// Median 4 %, deviations 9, 0, 12, 2, 10 %: median 9 %, standard error 7.5 %.
TEST(BandError, scattered_errors_are_not) {
  EXPECT_FALSE(band_error({-0.05, 0.04, 0.16, 0.06, -0.06}).systematic);
}

TEST(BandError, few_or_small_errors_are_not) {
  EXPECT_FALSE(band_error({}).systematic);
  EXPECT_FALSE(band_error({0.3, 0.3, 0.3}).systematic);
  EXPECT_FALSE(band_error({0.019, 0.019, 0.019, 0.019}).systematic);
  EXPECT_TRUE(band_error({0.021, 0.021, 0.021, 0.021}).systematic);
}

}  // namespace
}  // namespace collsim
