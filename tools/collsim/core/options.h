#pragma once

#include <boost/program_options.hpp>
#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace collsim::command {

/// Parses the arguments of a subcommand. On `--help` prints `usage`, the options and `epilogue` to
/// `out` and returns nothing. Throws InputError for an unknown option and for a missing or bad
/// value. The message suggests a similar option, or the one that replaces an option of nccl-tests.
/// `positional` names the option that takes arguments without an option: one, or any number if it
/// is composing.
std::optional<boost::program_options::variables_map> parse_options(
    const boost::program_options::options_description& options, std::string_view usage,
    std::string_view epilogue, std::string_view positional, std::span<const std::string> args,
    std::ostream& out);

}  // namespace collsim::command
