#pragma once

#include <boost/program_options.hpp>
#include <string_view>

namespace collsim::command {

/// Throws InputError, saying what to give instead, for an option that the subcommand has not and
/// nccl-tests has: "-w" or "--warmup_iters". Does nothing for any other.
void refuse_nccl_tests_option(std::string_view option);

/// Throws InputError where an option that takes a name here was given a number, as the same letter
/// takes in nccl-tests: -t (threads), -c (check), -a (average), -p (parallel_init).
void refuse_nccl_tests_numbers(const boost::program_options::variables_map& values);

}  // namespace collsim::command
