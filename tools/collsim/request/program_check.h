#pragma once

#include <iosfwd>
#include <string>

namespace collsim::command {

/// Whether there is a file of that name that says that it is a program (`collsim: program/1`).
bool is_program(const std::string& name);

/// Says whether an order of events makes a program hang, and which one does. Gives the exit code:
/// exit_answer_is_no if it hangs. Throws InputError for what is no program.
int check_program(const std::string& file, std::ostream& out);

}  // namespace collsim::command
