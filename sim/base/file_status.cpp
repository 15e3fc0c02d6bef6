#include "sim/base/file_status.h"

#include <fmt/format.h>

#include <algorithm>
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

// directory_iterator::increment(), which throws nothing, ends the program where memory runs out.
std::vector<fs::path> entries_of(const fs::path& folder, std::error_code& unreadable) {
  std::vector<fs::path> entries;
  try {
    for (const fs::directory_entry& each : fs::directory_iterator(folder)) {
      entries.push_back(each.path());
    }
  } catch (const fs::filesystem_error& error) {
    unreadable = error.code();
  }
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
