#pragma once

#include <boost/program_options.hpp>
#include <iosfwd>
#include <string>
#include <vector>

#include "tools/collsim/crossover/textbook_curves.h"
#include "tools/collsim/request/call_request.h"

namespace collsim::command {

/// What --map, --svg and --html say of a textbook's schedules, files first. `rows` are those of
/// each set of GPUs. Throws InputError for files that only NCCL reads.
void answer_textbook_map(const CallRequest& request,
                         const boost::program_options::variables_map& values,
                         const std::vector<TextbookCurves>& rows, const std::string& command,
                         std::ostream& out);

}  // namespace collsim::command
