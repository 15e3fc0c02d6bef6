#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "models/validation/validation.h"

namespace collsim::command {

/// One of `--require`: a figure over all rows, in percent, and its limit.
struct RequiredFigure {
  std::string figure;  ///< median, mean, p90, worst, bias: at most; choice: at least
  double percent = 0;
};

/// Reads figures and their limits in percent, such as "median=5,mean=12". Throws InputError that
/// names the known figures.
std::vector<RequiredFigure> parse_required_figures(std::string_view text);

/// One sentence per requirement that fails. Without rows, all fail.
std::vector<std::string> failures(const std::vector<RequiredFigure>& requirements,
                                  const std::vector<ValidatedRow>& rows);

}  // namespace collsim::command
