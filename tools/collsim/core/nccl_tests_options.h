#pragma once

#include <boost/program_options.hpp>
#include <string>
#include <string_view>

namespace collsim::command {

/// Throws InputError for an option that nccl-tests has and the subcommand does not: "-w" or
/// "--warmup_iters". The message says what to use instead. Does nothing for any other option.
void refuse_nccl_tests_option(std::string_view option);

/// Throws InputError if a number was given to an option that takes a name, because the same letter
/// takes a number in nccl-tests: -t (threads), -c (check), -a (average), -p (parallel_init).
void refuse_nccl_tests_number(std::string_view name, const std::string& text);

/// Refuses such numbers for all options that take any text.
void refuse_nccl_tests_numbers(const boost::program_options::variables_map& values);

}  // namespace collsim::command
