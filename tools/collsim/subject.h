#pragma once

#include <filesystem>
#include <string>

namespace collsim::command {

/// What a bare argument names.
struct Subject {
  std::filesystem::path file;
  bool is_machine = false;  ///< else a scenario
};

/// A file, which says itself whether it is a machine, or the name of a shipped scenario or machine.
/// Throws InputError where there is neither.
Subject find_subject(const std::string& name);

}  // namespace collsim::command
