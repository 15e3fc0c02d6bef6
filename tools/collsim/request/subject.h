#pragma once

#include <filesystem>
#include <string>

namespace collsim::command {

/// What an argument without an option names.
struct Subject {
  std::filesystem::path file;
  bool is_machine = false;  ///< else a scenario
};

/// Finds a file, whose content says whether it is a machine, or a shipped scenario or machine by
/// its name. Throws InputError if there is neither.
Subject find_subject(const std::string& name);

}  // namespace collsim::command
