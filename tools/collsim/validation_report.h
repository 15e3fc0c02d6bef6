#pragma once

#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "models/validation/comparison.h"
#include "models/validation/score.h"
#include "models/validation/validation.h"

namespace collsim::command {

/// What `collsim validate` found out.
struct ValidationReport {
  std::vector<std::string> files;
  std::vector<std::string> machines;  ///< that they were simulated on, one of each file
  Validation validation;              ///< of all files together
};

/// A size as people say it, rounded: "1.3 MiB".
std::string rounded_size(double bytes);

/// A family as reports name it: "all_reduce 8 ring/simple".
std::string describe(const ValidationFamily& family);

/// Where two change places: "ring/ll < 96 KiB < ring/simple", "ring/ll always".
std::string describe(const Crossover& crossover, std::string_view first, std::string_view second);

/// Scores by family and band, agreement with NCCL's choices, crossovers, regret, what was left out.
void print_validation_table(const ValidationReport& report, std::ostream& out);
/// One line per row. `error` is (predicted - measured) / measured.
void print_validation_csv(const ValidationReport& report, std::ostream& out);
/// One object: `rows`, `scores`, `total`, `choices`, `comparisons`, `left_out`.
void print_validation_json(const ValidationReport& report, std::ostream& out);
/// A page that needs nothing but itself: busbw over size of each family, measured, predicted and by
/// NCCL's estimate, and the scores. Throws InputError where its scripts are not installed.
void print_validation_html(const ValidationReport& report, std::ostream& out);

}  // namespace collsim::command
