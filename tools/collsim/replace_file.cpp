#include "tools/collsim/replace_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "sim/input_error.h"

namespace collsim::command {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void fail(const fs::path& path) {
  throw InputError(fmt::format("cannot write {}", path.string()), "a file in a writable folder");
}

}  // namespace

void check_writable(const fs::path& path) {
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  if (fs::is_directory(path) || access(folder.c_str(), W_OK) != 0) fail(path);
}

void replace_file(const fs::path& path, std::string_view text) {
  const fs::path beside = fmt::format("{}.{}.tmp", path.string(), getpid());
  std::error_code error;
  {
    std::ofstream file(beside, std::ios::binary);
    file << text;
    file.close();
    if (!file) error = std::make_error_code(std::errc::io_error);
  }
  if (!error) fs::rename(beside, path, error);
  if (!error) return;
  std::error_code ignored;
  fs::remove(beside, ignored);
  fail(path);
}

}  // namespace collsim::command
