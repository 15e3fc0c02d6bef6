// Robust least squares on problems whose answer is known.

#include "tools/collsim/calibrate/least_squares.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace collsim {
namespace {

constexpr int points = 40;

/// Residuals of a line through points of 2 + 0.5 x; those of `glitches` points are far off.
ResidualFunction line_through(int glitches) {
  return [glitches](const std::vector<double>& line) {
    std::vector<double> residuals;
    for (int x = 0; x < points; ++x) {
      const double glitch = x % 10 == 3 && x / 10 < glitches ? 5 : 0;
      residuals.push_back(line[0] + line[1] * x - (2 + 0.5 * x + glitch));
    }
    return residuals;
  };
}

TEST(LeastSquares, finds_a_line) {
  const LeastSquaresFit fit = fit_least_squares(line_through(0), {0, 0}, {.tolerance = 1e-12});
  EXPECT_NEAR(fit.parameters[0], 2, 1e-3);
  EXPECT_NEAR(fit.parameters[1], 0.5, 1e-4);
}

// Plain least squares would move the line: four points 5 too high raise the mean by 0.5.
TEST(LeastSquares, glitches_do_not_pull) {
  const LeastSquaresFit fit = fit_least_squares(line_through(4), {1.5, 0.55}, {.tolerance = 1e-12});
  EXPECT_NEAR(fit.parameters[0], 2, 0.02);
  EXPECT_NEAR(fit.parameters[1], 0.5, 1e-3);
}

// y = e^(a x) at 0..1 by 0.1 with a = 1: a curve, as times are in their constants.
TEST(LeastSquares, follows_a_curve) {
  const ResidualFunction residuals = [](const std::vector<double>& a) {
    std::vector<double> row;
    for (int i = 0; i <= 10; ++i) row.push_back(std::exp(a[0] * i / 10) - std::exp(0.1 * i));
    return row;
  };
  const LeastSquaresFit fit = fit_least_squares(residuals, {0.2}, {.tolerance = 1e-12});
  EXPECT_NEAR(fit.parameters[0], 1, 1e-3);
}

TEST(LeastSquares, says_which_parameter_the_data_do_not_determine) {
  const ResidualFunction residuals = [](const std::vector<double>& p) {
    return std::vector<double>{p[0] - 1.01, p[0] - 0.99, p[0] - 1};
  };
  const LeastSquaresFit fit = fit_least_squares(residuals, {0.5, 7}, {});
  EXPECT_NEAR(fit.parameters[0], 1, 1e-3);
  EXPECT_EQ(fit.parameters[1], 7);
  EXPECT_TRUE(std::isfinite(uncertainty_of(fit, {0}).standard_errors[0]));
  EXPECT_TRUE(std::isinf(uncertainty_of(fit, {1}).standard_errors[0]));
}

// Residuals of +-0.01 about the mean of n = 4 points: the standard error of a mean is s / sqrt(n),
// with s^2 = 4 x 0.0001 / 3; weights are close to 1 at a scale of 0.05.
TEST(LeastSquares, standard_error_is_that_of_a_mean) {
  const ResidualFunction residuals = [](const std::vector<double>& p) {
    return std::vector<double>{p[0] - 0.01, p[0] + 0.01, p[0] - 0.01, p[0] + 0.01};
  };
  const LeastSquaresFit fit = fit_least_squares(residuals, {0.1}, {});
  EXPECT_NEAR(uncertainty_of(fit, {0}).standard_errors[0], std::sqrt(0.0004 / 3 / 4), 3e-4);
}

// Two groups of points at 0 and 1, the first with weight 3: the mean is 1/4. A wide scale makes the
// loss that of squares.
TEST(LeastSquares, weights_count) {
  const ResidualFunction residuals = [](const std::vector<double>& p) {
    return std::vector<double>{p[0], p[0] - 1};
  };
  const LeastSquaresFit fit =
      fit_least_squares(residuals, {0.9}, {.scale = 1000, .tolerance = 1e-12, .weights = {3, 1}});
  EXPECT_NEAR(fit.parameters[0], 0.25, 1e-4);
}

// y = e^(a x) + b e^x with a = b = 1. A Jacobian takes two evaluations, a step at least one.
TEST(LeastSquares, corrects_its_jacobian_rather_than_making_a_new_one) {
  int evaluations = 0;
  const ResidualFunction residuals = [&](const std::vector<double>& p) {
    ++evaluations;
    std::vector<double> row;
    for (int i = 0; i <= 10; ++i) {
      const double x = 0.1 * i;
      row.push_back(std::exp(p[0] * x) + p[1] * std::exp(x) - 2 * std::exp(x));
    }
    return row;
  };
  const LeastSquaresFit whole = fit_least_squares(residuals, {0.8, 1.1}, {.tolerance = 1e-9});
  EXPECT_NEAR(whole.parameters[0], 1, 1e-2);
  EXPECT_NEAR(whole.parameters[1], 1, 1e-2);
  evaluations = 0;
  const LeastSquaresFit again =
      fit_least_squares(residuals, {0.9, 1.05},
                        {.tolerance = 1e-9, .jacobian = whole.jacobian, .new_jacobians = false});
  EXPECT_NEAR(again.parameters[0], 1, 1e-2);
  // The start, and of each step at least one; no Jacobian, which would take two more.
  EXPECT_GE(static_cast<int>(again.steps) + 1, 2);
  EXPECT_LE(evaluations, 1 + static_cast<int>(again.steps) + 8);
}

TEST(LeastSquares, stops_when_told) {
  std::uint32_t calls = 0;
  const LeastSquaresOptions options{.progress = [&](std::uint32_t, double) {
    ++calls;
    return false;
  }};
  const LeastSquaresFit fit = fit_least_squares(line_through(0), {0, 0}, options);
  EXPECT_EQ(calls, 1U);
  EXPECT_EQ(fit.steps, 1U);
}

}  // namespace
}  // namespace collsim
