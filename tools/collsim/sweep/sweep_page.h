#pragma once

#include <span>
#include <string>
#include <vector>

#include "tools/collsim/report/answer.h"
#include "tools/collsim/report/records.h"
#include "tools/collsim/sweep/sweep_rows.h"

namespace collsim::command {

/// What a page of a sweep shows.
struct SweepPage {
  std::string command;
  std::string best_by{};              ///< the column of --best-by; empty: not asked
  std::vector<std::string> pareto{};  ///< the columns of --pareto
};

/// Time and busbw over the size, or else over the field with the most values, a line for
/// each combination of the others. Of many lines the fastest have colours. With --best-by over its
/// column; with --pareto its first two columns. `rows` are those that were chosen, or all.
Answer sweep_report(const Sweep& sweep, const SweepPage& asked, std::span<const Record> rows);

}  // namespace collsim::command
