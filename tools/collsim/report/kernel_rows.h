#pragma once

#include <boost/program_options.hpp>
#include <iosfwd>
#include <string>

namespace collsim::command {

/// Answers a question with --registered or --kernels, by rows for each kernel that it names, in
/// their order; false for any other question. `simulated`: see PeerCalls. `command` is what made
/// the answer. Throws InputError.
bool answer_kernel_question(const boost::program_options::variables_map& values, bool simulated,
                            const std::string& command, std::ostream& out, std::ostream& err);

}  // namespace collsim::command
