#pragma once

#include <filesystem>
#include <string_view>

namespace collsim::command {

/// Throws InputError where no file of that name could be written.
void check_writable(const std::filesystem::path& path);
/// Writes a file whole or not at all: beside it first, then in its place. What is no file, such as
/// /dev/stdout, is written to. Throws InputError.
void replace_file(const std::filesystem::path& path, std::string_view text);

}  // namespace collsim::command
