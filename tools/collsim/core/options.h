#pragma once

#include <boost/program_options.hpp>
#include <initializer_list>
#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tools/collsim/core/subcommand.h"

namespace collsim::command {

/// Parses the arguments of a command. On `--help` or `-h` prints its help to `out` and returns
/// nothing. Throws InputError for an option that the command has not, for a missing or bad value,
/// for options that exclude each other, and for a file to write that another argument names, too.
/// The message suggests a similar option, or the one that replaces an old one of collsim's or one
/// of nccl-tests.
std::optional<boost::program_options::variables_map> parse_options(
    const Subcommand& subcommand, std::span<const std::string> args, std::ostream& out);

/// Whether the option was given on the command line.
bool is_given(const boost::program_options::variables_map& values, const std::string& option);

/// Throws InputError for an option that is given and that none of the modes heeds, and
/// std::logic_error for a mode that the command has not.
void heed_only(const boost::program_options::variables_map& values, const Subcommand& subcommand,
               const std::vector<std::string>& names);

/// An option that is heeded where something holds, and what that is in words: "--zero 3".
struct Condition {
  std::string option;
  bool holds = true;
  std::string needed;
};
/// Throws InputError for an option that is given where its condition does not hold.
void require_heeded(const boost::program_options::variables_map& values,
                    std::initializer_list<Condition> conditions);

}  // namespace collsim::command
