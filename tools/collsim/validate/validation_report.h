#pragma once

#include <iosfwd>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "models/validation/score.h"
#include "models/validation/validation.h"
#include "tools/collsim/report/answer.h"
#include "tools/collsim/report/records.h"
#include "tools/collsim/validate/comparison.h"

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

/// The rows that were not compared, and why.
AnswerSection left_out_section(const std::map<std::string, LeftOut>& left_out);

/// Adds scores by family and band, agreement with NCCL's choices, crossovers, regret, rows left
/// out.
void add_validation(const ValidationReport& report, Answer& answer);
/// One record per row. `error` is (predicted - measured) / measured.
std::vector<Record> validation_rows(const ValidationReport& report);
/// An empty row, which has the columns.
Record no_validation_row();
/// One object: `rows`, `scores`, `total`, `choices`, `comparisons`, `left_out`.
Record validation_document(const ValidationReport& report);
/// All of the answer: for pages also busbw over size of each family (measured, predicted, by NCCL's
/// estimate).
Answer answer_of(const ValidationReport& validation, const std::string& command);

}  // namespace collsim::command
