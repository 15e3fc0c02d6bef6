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
  std::vector<fs::path> files;
  std::error_code unreadable;
  for (fs::directory_iterator each(folder, unreadable); !unreadable && each != fs::end(each);
       each.increment(unreadable)) {
    if (each->path().extension() == ".yaml") files.push_back(each->path());
  }
  std::sort(files.begin(), files.end());
  return files;
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
