#pragma once

#include <filesystem>
#include <optional>
#include <string_view>

namespace collsim {

// Where this collsim's own files are. They are found from the place of the library or program that
// holds this code, so that an installation may be moved as a whole. A build folder has the same
// layout: modules in lib/collsim, and in share/collsim a link to the source tree.

/// A loadable module of ours, in <prefix>/lib/collsim. Nothing where it is not installed.
std::optional<std::filesystem::path> find_module(std::string_view name);

/// The folder of our data files, <prefix>/share/collsim. Nothing where it is not installed.
std::optional<std::filesystem::path> find_shared_data();

}  // namespace collsim
