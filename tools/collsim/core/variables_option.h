#pragma once

#include <boost/program_options.hpp>
#include <map>
#include <string>

namespace collsim::command {

/// The variables of `--env NAME=VALUE`, which may be repeated; of a name the last value. None where
/// the option is not given. Throws InputError for a setting without a name or without `=`.
std::map<std::string, std::string> variables_option(
    const boost::program_options::variables_map& values);

}  // namespace collsim::command
