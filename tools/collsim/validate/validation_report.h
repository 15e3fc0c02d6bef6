#pragma once

#include <iosfwd>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "models/validation/comparison.h"
#include "models/validation/score.h"
#include "models/validation/validation.h"

namespace collsim::command {

/// The result of `collsim validate`.
struct ValidationReport {
  std::vector<std::string> files;
  std::vector<std::string> machines;  ///< where they were simulated, one per file
  Validation validation;              ///< of all files
  std::set<std::string> calibrations{};
};

/// A family as reports name it: "all_reduce 8 ring/simple".
std::string describe(const ValidationFamily& family);

/// Scores by family and band, agreement with NCCL's choices, crossovers, regret, rows left out.
void print_validation_table(const ValidationReport& report, std::ostream& out);
/// One line per row. `error` is (predicted - measured) / measured.
void print_validation_csv(const ValidationReport& report, std::ostream& out);
/// One object: `rows`, `scores`, `total`, `choices`, `comparisons`, `left_out`.
void print_validation_json(const ValidationReport& report, std::ostream& out);
/// A page: busbw over size of each family (measured, predicted, by NCCL's estimate), and the
/// scores.
void print_validation_html(const ValidationReport& report, const std::string& command,
                           std::ostream& out);

}  // namespace collsim::command
