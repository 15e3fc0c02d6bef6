#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "models/validation/validation.h"

namespace collsim {

/// How well rows that a fit has not seen are predicted, before it and after.
struct HeldOutErrors {
  std::size_t rows = 0;
  double before = 0;  ///< mean absolute errors, as shares
  double after = 0;
  /// The sizes at which predictions have become worse, beyond what rows scatter: "rest".
  std::vector<std::string> worse_sizes{};
  /// Whether what was fitted predicts them worse than what it began with.
  bool is_worse() const { return after > before || !worse_sizes.empty(); }
};

/// Compares the errors of the same rows, in the same order. In a band of sizes it is the mean of
/// the rows' own differences that counts; it has to be more than two standard errors.
HeldOutErrors held_out_errors(const std::vector<ValidatedRow>& before,
                              const std::vector<ValidatedRow>& after);

}  // namespace collsim
