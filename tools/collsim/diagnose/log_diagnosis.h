#pragma once

#include <boost/program_options/variables_map.hpp>
#include <iosfwd>
#include <vector>

#include "models/validation/validation.h"
#include "tools/collsim/diagnose/diagnosis_report.h"
#include "tools/collsim/diagnose/log_files.h"

namespace collsim::command {

/// What the options say of rows: which are wanted, and what those are that do not say it.
ValidationOptions row_options(const boost::program_options::variables_map& values);

/// Keeps the rows that are wanted, with the collective and ranks that the options name. Throws
/// InputError where none is left.
void select_rows(Recording& recording, const ValidationOptions& options);

/// What came of all logs, in their order. One that cannot be told does not end a batch. Which
/// machine is assumed, and in which lines of YAML, is said on `err`. NCCL's log without any table
/// is checked by itself. Throws InputError.
std::vector<DiagnosedLog> diagnose_logs(LogFiles files,
                                        const boost::program_options::variables_map& values,
                                        const Spread& spread, std::ostream& err);

}  // namespace collsim::command
