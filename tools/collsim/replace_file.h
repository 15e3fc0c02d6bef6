#pragma once

#include <filesystem>
#include <string_view>

namespace collsim::command {

/// Throws InputError if a file of that name cannot be written.
void check_writable(const std::filesystem::path& path);
/// Writes a file completely or not at all: first beside it, then by renaming. A device such as
/// /dev/stdout is written directly. Throws InputError.
void replace_file(const std::filesystem::path& path, std::string_view text);

}  // namespace collsim::command
