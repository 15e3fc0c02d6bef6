#pragma once

#include <boost/program_options.hpp>
#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace collsim::command {

/// A line of what `--list-options` prints of an option, for programs such as a shell's completion.
struct ListedOption {
  std::string name;    ///< without the dashes
  std::string letter;  ///< empty where it has none
  bool takes_value = false;
  bool is_positional = false;  ///< whether an argument without an option is its value
  std::string help;            ///< in one line
};

/// The options of one subcommand from what `--list-options` printed.
std::vector<ListedOption> read_listed_options(std::string_view printed);

/// Parses the arguments of a subcommand. On `--help` prints `usage`, the options and `epilogue` to
/// `out` and returns nothing; on `--list-options`, which no help shows, a line of each option.
/// Throws InputError for an unknown option, for a missing or bad value, and for a file to write
/// that another argument names, too. The message suggests a
/// similar option, or the one that replaces an option of nccl-tests. `positional` names the option
/// that takes arguments without an option: one, or any number if it is composing.
std::optional<boost::program_options::variables_map> parse_options(
    const boost::program_options::options_description& options, std::string_view usage,
    std::string_view epilogue, std::string_view positional, std::span<const std::string> args,
    std::ostream& out);

}  // namespace collsim::command
