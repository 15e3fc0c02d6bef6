#pragma once

#include <string>

#include "models/program/call_program.h"

namespace collsim {

/// Writes a program as a file (`collsim: program/1`, docs/formats.md) that load_call_program()
/// reads as the same program, with times rounded to a nanosecond, and names for ops that others
/// come after. Throws InputError where ranks of a group would need communicators of their own, and
/// the program says nothing of those.
std::string call_program_text(const CallProgram& program);

}  // namespace collsim
