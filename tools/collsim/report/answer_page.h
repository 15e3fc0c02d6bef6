#pragma once

#include <iosfwd>
#include <memory>
#include <string>

#include "tools/collsim/report/report.h"

namespace collsim::command {

/// The answers of `run` or `estimate` as a page: time and busbw over size of every run, what was
/// measured, the bound, and a table for each run. It is written after the last section.
std::unique_ptr<Report> make_answer_page(std::string command, std::ostream& out);

}  // namespace collsim::command
