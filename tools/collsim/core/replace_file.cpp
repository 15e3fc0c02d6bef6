#include "tools/collsim/core/replace_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <string>
#include <system_error>

#include "sim/base/file_status.h"
#include "sim/base/input_error.h"
#include "sim/base/read_files.h"

namespace collsim::command {

namespace fs = std::filesystem;

namespace {

constexpr mode_t new_file_mode = 0666;  // less what umask says

[[noreturn]] void fail(const fs::path& path, int reason) {
  throw InputError(
      fmt::format("cannot write {}: {}", path.string(), std::generic_category().message(reason)),
      "a file in a writable folder");
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

class OpenFile {
 public:
  explicit OpenFile(int number) : number_(number) {}
  ~OpenFile() {
    if (number_ >= 0) close(number_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  int number() const { return number_; }

 private:
  int number_;
};

/// 0, or the error number of what went wrong.
int write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = write(file, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  return 0;
}

fs::path folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

/// Gives a file that is open a name of its own in the folder, and then that of the path.
int name_as(int file, const fs::path& path) {
  const std::string source = fmt::format("/proc/self/fd/{}", file);
  if (linkat(AT_FDCWD, source.c_str(), AT_FDCWD, path.c_str(), AT_SYMLINK_FOLLOW) == 0) return 0;
  if (errno != EEXIST) return errno;
  // A name is only taken over by renaming. A kill just here leaves the whole file beside it.
  const fs::path beside = folder_of(path) / fmt::format(".collsim-{}.tmp", getpid());
  if (linkat(AT_FDCWD, source.c_str(), AT_FDCWD, beside.c_str(), AT_SYMLINK_FOLLOW) != 0) {
    return errno;
  }
  if (rename(beside.c_str(), path.c_str()) == 0) return 0;
  const int reason = errno;
  unlink(beside.c_str());
  return reason;
}

/// Where the file system knows no files without a name.
int replace_by_named(const fs::path& path, std::string_view text) {
  const fs::path beside = folder_of(path) / fmt::format(".collsim-{}.tmp", getpid());
  int reason = 0;
  {
    const OpenFile file(
        open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, new_file_mode));
    if (file.number() < 0) return errno;
    reason = write_all(file.number(), text);
  }
  if (reason == 0 && rename(beside.c_str(), path.c_str()) != 0) reason = errno;
  if (reason != 0) unlink(beside.c_str());
  return reason;
}

int replace(const fs::path& path, std::string_view text) {
  const HeldSignals held;
  const OpenFile file(
      open(folder_of(path).c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, new_file_mode));
  const bool unknown = errno == EOPNOTSUPP || errno == EISDIR || errno == ENOENT;
  if (file.number() < 0) return unknown ? replace_by_named(path, text) : errno;
  const int reason = write_all(file.number(), text);
  return reason != 0 ? reason : name_as(file.number(), path);
}

/// What is written already goes first.
int write_to_standard_output(std::string_view text) {
  std::fflush(stdout);
  return write_all(STDOUT_FILENO, text);
}

int write_directly(const fs::path& path, std::string_view text) {
  const OpenFile file(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  return file.number() < 0 ? errno : write_all(file.number(), text);
}

}  // namespace

bool is_special(const fs::path& path) {
  std::error_code unknown;
  const fs::file_status status = fs::status(path, unknown);
  return fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status);
}

bool is_standard_output(const fs::path& path) {
  struct stat named {};
  struct stat standard {};
  // Where standard output is closed, something that is only read stands in its place.
  const int mode = fcntl(STDOUT_FILENO, F_GETFL);
  if (mode < 0 || (mode & O_ACCMODE) == O_RDONLY) return false;
  return stat(path.c_str(), &named) == 0 && fstat(STDOUT_FILENO, &standard) == 0 &&
         named.st_dev == standard.st_dev && named.st_ino == standard.st_ino &&
         named.st_rdev == standard.st_rdev;
}

std::ostream& summary_stream(const fs::path& path, std::ostream& out, std::ostream& err) {
  return is_standard_output(path) ? err : out;
}

void check_writable(const fs::path& path) {
  if (is_standard_output(path)) return;
  if (is_folder(path)) fail(path, EISDIR);
  const fs::path asked = is_special(path) ? path : folder_of(path);
  if (access(asked.c_str(), W_OK) != 0) fail(path, errno);
  if (!is_there(path) && why_not_there(path) != "no such file") {
    throw InputError(fmt::format("cannot write {}: {}", path.string(), why_not_there(path)),
                     "a file in a writable folder");
  }
}

void check_not_input(const fs::path& path) {
  if (!was_read(path)) return;
  throw InputError(
      fmt::format("{} is to be written, and it is an input of this command", path.string()),
      "the name of another file for the output");
}

void replace_file(const fs::path& named, std::string_view text) {
  check_not_input(named);
  int reason = 0;
  if (is_standard_output(named)) {
    reason = write_to_standard_output(text);
  } else if (is_special(named)) {  // a device must not be replaced
    reason = write_directly(named, text);
  } else {
    std::error_code error;
    const fs::path path = fs::weakly_canonical(named, error);  // a link stays one
    reason = error ? error.value() : replace(path, text);
  }
  if (reason != 0) fail(named, reason);
}

}  // namespace collsim::command
