#pragma once

#include <string>
#include <vector>

#include "tools/collsim/core/subcommand.h"

namespace collsim::command {

/// An option in a command.
struct TakenOption {
  const Option* option;
  std::string letter;  ///< of two options with one letter, the first in the table has it
  OptionValue value;
};
struct TakenGroup {
  std::string title;
  std::vector<TakenOption> options;
};
/// The options of a command in the order of the table.
std::vector<TakenGroup> options_of(const Subcommand& subcommand);

/// The page that `-h` prints: what the command answers, its first options, three examples.
std::string short_help(const Subcommand& subcommand);
/// What `--help` prints.
std::string manual_of(const Subcommand& subcommand);

/// One line of help per subcommand: its name, and its summary.
std::string help_lines(Subcommands all);

}  // namespace collsim::command
