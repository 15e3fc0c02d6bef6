#pragma once

#include <boost/program_options.hpp>
#include <string_view>

namespace collsim::command {

/// Throws InputError for an option that nccl-tests has and the subcommand does not: "-w" or
/// "--warmup_iters". The message says what to use instead. Does nothing for any other option.
void refuse_nccl_tests_option(std::string_view option);

/// Throws InputError if an option that takes a name has a number, because the same letter takes a
/// number in nccl-tests: -t (threads), -c (check), -a (average), -p (parallel_init).
void refuse_nccl_tests_numbers(const boost::program_options::variables_map& values);

}  // namespace collsim::command
