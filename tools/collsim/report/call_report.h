#pragma once

#include <iosfwd>
#include <memory>
#include <string>

#include "tools/collsim/report/call_rows.h"

namespace collsim::command {

/// The answers of `run` or `estimate` as a report: time and busbw over size of every run, what was
/// measured, the bound, and a table for each run. It is written after the last section.
std::unique_ptr<CallPrinter> make_call_report(Format format, std::string command,
                                              std::ostream& out);

}  // namespace collsim::command
