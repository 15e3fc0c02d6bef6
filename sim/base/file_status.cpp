#include "sim/base/file_status.h"

#include <dirent.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string_view>
#include <system_error>

#include "sim/base/input_error.h"

namespace collsim {

namespace fs = std::filesystem;

namespace {

constexpr const char* no_such_file = "no such file";

}  // namespace

bool is_there(const fs::path& path) {
  std::error_code unknown;
  return fs::exists(path, unknown);
}

bool is_folder(const fs::path& path) {
  std::error_code unknown;
  return fs::is_directory(path, unknown);
}

bool is_readable_kind(const fs::path& path) {
  return is_there(path) && !is_folder(path);
}

std::vector<fs::path> yaml_files(const fs::path& folder) {
  std::error_code unreadable;
  std::vector<fs::path> files = entries_of(folder, unreadable);
  std::erase_if(files, [](const fs::path& path) { return path.extension() != ".yaml"; });
  return files;
}

// std::filesystem::directory_iterator ends the program where memory runs out: it allocates where
// nothing may be thrown.
std::vector<fs::path> entries_of(const fs::path& folder, std::error_code& unreadable) {
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(opendir(folder.c_str()), closedir);
  const auto reason = [] { return std::error_code(errno, std::generic_category()); };
  if (listing == nullptr) {
    unreadable = reason();
    return {};
  }
  std::vector<fs::path> entries;
  for (;;) {
    errno = 0;  // readdir() says by it alone whether it failed or is at the end
    const dirent* const entry = readdir(listing.get());
    if (entry == nullptr) break;
    const std::string_view name = std::data(entry->d_name);
    if (name != "." && name != "..") entries.push_back(folder / name);
  }
  if (errno != 0) unreadable = reason();
  std::sort(entries.begin(), entries.end());
  return entries;
}

std::string why_not_there(const fs::path& path) {
  std::error_code reason;
  static_cast<void>(fs::status(path, reason));
  const bool is_absent = !reason || reason == std::errc::no_such_file_or_directory ||
                         reason == std::errc::not_a_directory;
  return is_absent ? no_such_file : reason.message();
}

void require_no_more_than_absent(const fs::path& path) {
  if (is_there(path) || why_not_there(path) == no_such_file) return;
  throw InputError(fmt::format("{}: {}", path.string(), why_not_there(path)),
                   "a path that can be looked at");
}

}  // namespace collsim
