#pragma once

#include <boost/program_options.hpp>
#include <iosfwd>
#include <span>
#include <string>
#include <string_view>

#include "tools/collsim/core/subcommand.h"

namespace collsim::command {

/// Answers a question with --registered or --kernels, by rows for each kernel that it names, in
/// their order; false for any other question. The command is `run`, which simulates (PeerCalls), or
/// `estimate`. Throws InputError, also for options that such a question does not heed.
bool answer_kernel_question(const boost::program_options::variables_map& values,
                            const Subcommand& subcommand, std::span<const std::string> args,
                            std::ostream& out, std::ostream& err);

}  // namespace collsim::command
