#pragma once

#include <boost/program_options.hpp>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace collsim::command {

/// A way in which a command answers, and the options that it heeds then. Options are their long
/// names, with a space between. `--help` and `--time-limit` go with every mode.
struct Mode {
  std::string command;
  std::string name;     ///< as messages have it: "--decode", "a program"
  std::string options;  ///< in any format
  /// Heeded in the table alone: nothing else has a place for what they show.
  std::string shown{};
};

/// The modes of all commands that have several, or whose options depend on the format.
const std::vector<Mode>& modes();

/// Whether the option was given on the command line.
bool is_given(const boost::program_options::variables_map& values, const std::string& option);

/// Throws InputError for an option that is given and that none of the modes heeds, and
/// std::logic_error for a mode that is not in the table.
void heed_only(const boost::program_options::variables_map& values, std::string_view command,
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
