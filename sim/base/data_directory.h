#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace collsim {

/// Where the library's own data files live (topologies/, models/data/calibrations/, recordings/):
/// $COLLSIM_DATA if set; else find_shared_data(). Throws InputError when there is none.
std::filesystem::path data_directory();

/// Names of the shipped files of a folder such as "models/data/calibrations", in alphabetical
/// order.
std::vector<std::string> shipped_names(std::string_view folder);
/// What a message offers instead of a name that no shipped file of the folder has.
std::string shipped_names_instead_of(std::string_view name, std::string_view folder);

/// A shipped file that the program itself needs, "trust" for <data>/<folder>/trust.yaml: nothing in
/// the current folder stands in for it. Throws InputError as data_directory() does.
std::filesystem::path shipped_file(std::string_view name, std::string_view folder);

/// A file that a person names: a path as it stands (tried first, relative to `base`, which may be
/// empty), or the bare name of a shipped one ("hgx-h200" for <data>/<folder>/hgx-h200.yaml), which
/// a folder of that name does not hide.
/// Throws InputError naming what was tried and, for a bare name, the shipped ones.
std::filesystem::path find_data_file(std::string_view name, std::string_view folder,
                                     const std::filesystem::path& base = {});

}  // namespace collsim
