#include "tools/collsim/replace_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <string>

#include "sim/base/input_error.h"

namespace collsim::command {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void fail(const fs::path& path) {
  throw InputError(fmt::format("cannot write {}", path.string()), "a file in a writable folder");
}

/// Blocks the signals that end the program while it exists, so that no file is left half-written.
class HeldSignals {
 public:
  HeldSignals() {
    sigset_t ending;
    sigemptyset(&ending);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&ending, signal);
    pthread_sigmask(SIG_BLOCK, &ending, &before_);
  }
  ~HeldSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

 private:
  sigset_t before_{};
};

void write(const fs::path& path, std::string_view text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) fail(path);
}

}  // namespace

void check_writable(const fs::path& path) {
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  const bool is_special = fs::exists(path) && !fs::is_regular_file(path);
  const fs::path& asked = is_special ? path : folder;
  if (fs::is_directory(path) || access(asked.c_str(), W_OK) != 0) fail(path);
}

void replace_file(const fs::path& named, std::string_view text) {
  std::error_code error;
  const fs::path path = fs::weakly_canonical(named, error);  // a link stays one
  if (error) fail(named);
  if (fs::exists(path) && !fs::is_regular_file(path)) {  // a device must not be replaced
    write(path, text);
    return;
  }
  const HeldSignals held;
  const fs::path beside = fmt::format("{}.{}.tmp", path.string(), getpid());
  try {
    write(beside, text);
    fs::rename(beside, path, error);
  } catch (const InputError&) {
    error = std::make_error_code(std::errc::io_error);
  }
  if (!error) return;
  std::error_code ignored;
  fs::remove(beside, ignored);
  fail(path);
}

}  // namespace collsim::command
