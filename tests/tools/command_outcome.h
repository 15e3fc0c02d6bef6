#pragma once

#include <span>
#include <string>
#include <vector>

#include "tools/collsim/core/subcommand.h"

namespace collsim::command {

/// How the command ended, and what it printed.
struct Outcome {
  int status = exit_ok;
  std::string out;
  std::string err;
};

/// The whole command, as run_command() has it.
Outcome run(const std::vector<std::string>& args);

/// One subcommand alone: InputError passes through.
using Runner = decltype(Subcommand::run);
Outcome run(Runner runner, const std::vector<std::string>& args);

/// The output of a command that is expected to succeed.
std::string output_of(const std::vector<std::string>& args);

/// A line of shell; `out` has both of its streams.
Outcome run_shell(const std::string& line);

}  // namespace collsim::command
