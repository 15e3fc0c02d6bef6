#pragma once

#include <iosfwd>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "models/validation/comparison.h"
#include "models/validation/score.h"
#include "models/validation/validation.h"
#include "tools/collsim/report/records.h"
#include "tools/collsim/report/report.h"

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

/// The rows that were not compared, and why, where there are any.
void print_left_out(const std::map<std::string, LeftOut>& left_out, std::ostream& out);

/// Scores by family and band, agreement with NCCL's choices, crossovers, regret, rows left out.
void print_validation_table(const ValidationReport& report, std::ostream& out);
/// One record per row. `error` is (predicted - measured) / measured.
std::vector<Record> validation_rows(const ValidationReport& report);
/// An empty row, for its columns.
Record no_validation_row();
/// One object: `rows`, `scores`, `total`, `choices`, `comparisons`, `left_out`.
Record validation_document(const ValidationReport& report);
/// Busbw over size of each family (measured, predicted, by NCCL's estimate), and the
/// scores.
Report report_of(const ValidationReport& validation, const std::string& command);

}  // namespace collsim::command
