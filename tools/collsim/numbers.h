#pragma once

#include <boost/program_options.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace collsim::command {

/// The value of an integer option, from `least` to `most`. Throws InputError naming the option. The
/// option is declared as a std::int64_t: an unsigned one would quietly wrap "-1".
std::uint32_t bounded_option(const boost::program_options::variables_map& values,
                             const std::string& option, std::uint32_t least, std::uint32_t most);

/// "1..17,32,64": numbers and ranges from `least` to `most`, in the order written. Throws
/// InputError naming the option.
std::vector<std::uint32_t> parse_numbers(std::string_view option, std::string_view text,
                                         std::uint32_t least, std::uint32_t most);

}  // namespace collsim::command
