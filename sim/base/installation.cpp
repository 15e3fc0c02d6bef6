#include "sim/base/installation.h"

#include <dlfcn.h>
#include <link.h>

#include <array>

namespace collsim {

namespace fs = std::filesystem;

namespace {

/// The shared library that holds this code, or the running program.
fs::path own_file() {
  static const char place = 0;
  Dl_info info;
  void* found = nullptr;
  std::error_code unreadable;
  if (dladdr1(&place, &info, &found, RTLD_DL_LINKMAP) != 0 && found != nullptr) {
    const fs::path library = static_cast<const link_map*>(found)->l_name;
    if (!library.empty()) return fs::canonical(library, unreadable);
  }
  return fs::read_symlink("/proc/self/exe", unreadable);
}

/// What stands below the first prefix that has it. The prefix is above <prefix>/lib or <prefix>/bin
/// or, in a build folder, the program's own folder.
std::optional<fs::path> find_installed(const fs::path& relative) {
  const fs::path folder = own_file().parent_path();
  for (const fs::path& prefix :
       std::array{folder / COLLSIM_LIB_TO_PREFIX, folder / COLLSIM_BIN_TO_PREFIX, folder}) {
    std::error_code absent;
    const fs::path found = fs::canonical(prefix / relative, absent);
    if (!absent) return found;
  }
  return std::nullopt;
}

}  // namespace

std::optional<fs::path> find_module(std::string_view name) {
  return find_installed(fs::path(COLLSIM_MODULE_DIR) / name);
}

std::optional<fs::path> find_shared_data() {
  return find_installed(fs::path(COLLSIM_DATA_DIR));
}

}  // namespace collsim
