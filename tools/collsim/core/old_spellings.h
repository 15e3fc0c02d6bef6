#pragma once

#include <span>
#include <string>
#include <string_view>

namespace collsim::command {

/// Throws InputError where a command's name is an old one. The message has the new one.
void refuse_old_command(std::span<const std::string> args);

/// Throws InputError where an argument is an option that the command had, such as "--decode" of
/// "train". The message says what is written instead.
void refuse_old_options(std::string_view command, std::span<const std::string> args);

}  // namespace collsim::command
