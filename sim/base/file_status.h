#pragma once

#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

namespace collsim {

// What stands at a path, without exceptions of std::filesystem: a folder that may not be entered, a
// loop of links and a name that is too long are ordinary states of a file system.

/// Whether anything stands at a path, as far as this process may look.
bool is_there(const std::filesystem::path& path);
/// Whether a folder stands there.
bool is_folder(const std::filesystem::path& path);
/// Whether something stands there from which a text can be read: a file, a pipe, a device.
bool is_readable_kind(const std::filesystem::path& path);
/// What a folder holds, by name. `unreadable` is set where it cannot be listed whole.
std::vector<std::filesystem::path> entries_of(const std::filesystem::path& folder,
                                              std::error_code& unreadable);
/// The files of a folder that end in .yaml, by name; none of a folder that cannot be read.
std::vector<std::filesystem::path> yaml_files(const std::filesystem::path& folder);
/// Why is_there() says no: "no such file", or what the system says ("Permission denied").
std::string why_not_there(const std::filesystem::path& path);

/// Throws InputError for a name that may be there for all that this process can see.
void require_no_more_than_absent(const std::filesystem::path& path);

}  // namespace collsim
