#include "sim/base/text_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>

#include "sim/base/file_status.h"
#include "sim/base/input_error.h"
#include "sim/base/read_files.h"
#include "sim/base/text_encoding.h"

namespace collsim {

namespace {

constexpr std::size_t size_limit = std::size_t{8} << 20;
constexpr std::size_t piece_size = 65'536;

/// A file as it is, whatever the path to it: its number may be another file's later, and a pipe has
/// something else in it when the next writer has written. Either changes the time.
using FileState = std::tuple<dev_t, ino_t, std::int64_t, std::int64_t>;

/// What the process has read. It belongs to the process as its descriptors do: what has come out of
/// a pipe is nowhere else any more.
struct ReadFiles {
  std::mutex reading_pipe;  ///< held while one is read: two readers would each get a part of it
  std::mutex mutex;
  std::set<FileState> files;
  std::map<FileState, std::string> pipes;
};

ReadFiles& read_files() {
  static ReadFiles files;
  return files;
}

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ > STDERR_FILENO) close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int number() const { return number_; }

 private:
  int number_;
};

bool is_pipe(const struct stat& status) {
  return S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode);
}

FileState state_of(const struct stat& status) {
  return {status.st_dev, status.st_ino, status.st_ctim.tv_sec, status.st_ctim.tv_nsec};
}

std::optional<std::string> kept_content(const struct stat& status) {
  ReadFiles& files = read_files();
  const std::scoped_lock lock(files.mutex);
  const auto found = files.pipes.find(state_of(status));
  if (found == files.pipes.end()) return std::nullopt;
  return found->second;
}

/// Piece by piece, since a pipe or a device does not know its size.
std::string content_of(int file, const SourcePosition& position) {
  std::string text;
  std::array<char, piece_size> piece{};
  while (true) {
    const ssize_t count = read(file, piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      throw InputError(position,
                       fmt::format("cannot be read: {}", std::generic_category().message(errno)),
                       "a file that can be read");
    }
    if (count == 0) return text;
    append_input(text, {piece.data(), static_cast<std::size_t>(count)}, position);
  }
}

/// Reads it all, and notes that it has been read.
std::string read_once(int file, const SourcePosition& position) {
  struct stat status {};
  if (fstat(file, &status) != 0) return content_of(file, position);
  std::string text = content_of(file, position);
  fstat(file, &status);
  ReadFiles& files = read_files();
  const std::scoped_lock lock(files.mutex);
  files.files.insert(state_of(status));
  if (is_pipe(status)) files.pipes[state_of(status)] = text;
  return text;
}

}  // namespace

TextFile read_text_file(const std::filesystem::path& path, const std::string& accepted) {
  const SourcePosition position{path.string()};
  if (!is_there(path)) throw InputError(position, why_not_there(path), "the path of " + accepted);
  if (is_folder(path)) {
    throw InputError(position, "this is a directory", "the path of " + accepted);
  }
  struct stat status {};
  std::unique_lock<std::mutex> one_reader;
  if (stat(path.c_str(), &status) == 0 && is_pipe(status)) {
    one_reader = std::unique_lock(read_files().reading_pipe);
    stat(path.c_str(), &status);
    if (auto kept = kept_content(status))
      return {path.string(), utf8_text(std::move(*kept), position)};
  }
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.number() < 0) {
    throw InputError(position,
                     fmt::format("cannot be opened: {}", std::generic_category().message(errno)),
                     "a file that can be read");
  }
  return {path.string(), utf8_text(read_once(file.number(), position), position)};
}

void append_input(std::string& text, std::string_view piece, const SourcePosition& position) {
  text.append(piece);
  if (text.size() <= size_limit) return;
  throw InputError(position, "this input is larger than 8 MiB",
                   "a text of at most 8 MiB; of a log, the lines that matter");
}

bool was_read(const std::filesystem::path& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return false;
  ReadFiles& files = read_files();
  const std::scoped_lock lock(files.mutex);
  return files.files.contains(state_of(status));
}

void forget_read_files() {
  ReadFiles& files = read_files();
  const std::scoped_lock lock(files.mutex);
  files.files.clear();
  files.pipes.clear();
}

}  // namespace collsim
