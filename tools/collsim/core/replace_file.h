#pragma once

#include <filesystem>
#include <iosfwd>
#include <string_view>

namespace collsim::command {

/// Throws InputError if a file of that name cannot be written.
void check_writable(const std::filesystem::path& path);
/// Throws InputError if the file is one that the command has read, by whatever path: an output
/// never replaces its own input.
void check_not_input(const std::filesystem::path& path);
/// Whether something is there that is no file, such as a pipe or a device.
bool is_special(const std::filesystem::path& path);
/// Writes a file completely or not at all: first one without a name, which then gets it in place of
/// what had it. Nothing is left of a process that is killed meanwhile. A pipe or a device such as
/// /dev/stdout is written directly. Throws InputError, also if the file was read as an input.
void replace_file(const std::filesystem::path& path, std::string_view text);

/// Whether this is the command's standard output by another name, such as /dev/stdout.
bool is_standard_output(const std::filesystem::path& path);
/// The stream for what a command has written: `out`, or `err` if the file is standard output.
std::ostream& summary_stream(const std::filesystem::path& path, std::ostream& out,
                             std::ostream& err);

}  // namespace collsim::command
