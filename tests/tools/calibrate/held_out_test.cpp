// Whether a fit predicts better what it has not seen.

#include "tools/collsim/calibrate/held_out.h"

#include <gtest/gtest.h>

namespace collsim {
namespace {

/// Rows of 100 us whose predictions are off by so many percent.
std::vector<ValidatedRow> rows_of(Bytes size, const std::vector<double>& percents) {
  std::vector<ValidatedRow> rows;
  for (const double percent : percents) {
    ValidatedRow row;
    row.recorded.size = size;
    row.recorded.time = Seconds{100e-6};
    row.predicted = Seconds{(100 + percent) * 1e-6};
    rows.push_back(row);
  }
  return rows;
}

std::vector<ValidatedRow> joined(std::vector<ValidatedRow> rows,
                                 const std::vector<ValidatedRow>& more) {
  rows.insert(rows.end(), more.begin(), more.end());
  return rows;
}

constexpr Bytes small{1 << 10};
constexpr Bytes large{256 << 20};

TEST(HeldOut, errors_are_means_without_a_sign) {
  const HeldOutErrors errors = held_out_errors(rows_of(small, {10, -20}), rows_of(small, {-5, 10}));
  EXPECT_EQ(errors.rows, 2U);
  EXPECT_NEAR(errors.before, 0.15, 1e-12);
  EXPECT_NEAR(errors.after, 0.075, 1e-12);
  EXPECT_FALSE(errors.is_worse());
  EXPECT_TRUE(held_out_errors(rows_of(small, {-5, 10}), rows_of(small, {10, -20})).is_worse());
}

// Small sizes gain 20 points, large ones lose 9: the mean falls, and still it is worse.
TEST(HeldOut, are_worse_where_large_sizes_pay_for_small_ones) {
  const HeldOutErrors errors =
      held_out_errors(joined(rows_of(small, {25, 24, 26}), rows_of(large, {5, 6, 6})),
                      joined(rows_of(small, {5, 4, 6}), rows_of(large, {14, 15, 15})));
  EXPECT_LT(errors.after, errors.before);
  EXPECT_EQ(errors.worse_sizes, std::vector<std::string>{"rest"});
  EXPECT_TRUE(errors.is_worse());
}

// Rises of -4, 6 and 1: their mean is 1, and its standard error 5 / sqrt(3).
TEST(HeldOut, sizes_are_no_worse_where_rows_only_scatter) {
  const HeldOutErrors errors =
      held_out_errors(joined(rows_of(small, {25, 24, 26}), rows_of(large, {8, 2, 5})),
                      joined(rows_of(small, {5, 4, 6}), rows_of(large, {4, 8, 6})));
  EXPECT_FALSE(errors.is_worse());
}

}  // namespace
}  // namespace collsim
