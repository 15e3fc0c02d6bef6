#include "tools/collsim/report/png.h"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <memory>

#include "sim/base/input_error.h"

namespace collsim::command {

namespace {

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

/// A file without a name, which goes when it is closed.
File nameless_file() {
  File file(std::tmpfile(), std::fclose);
  if (!file)
    throw InputError("no temporary file for a drawing", "space in the folder for temporary files");
  return file;
}

constexpr int not_started = 127;  // as a shell says it

/// The exit code of rsvg-convert, which reads one file and writes the other; `not_started` where
/// there is none.
int convert(std::FILE* from, std::FILE* to) {
  std::array<std::string, 3> words{"rsvg-convert", "--zoom=2", "--format=png"};
  std::array<char*, 4> arguments{words[0].data(), words[1].data(), words[2].data(), nullptr};
  posix_spawn_file_actions_t actions{};
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, fileno(from), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, fileno(to), STDOUT_FILENO);
  pid_t child = 0;
  const int failed =
      posix_spawnp(&child, "rsvg-convert", &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return not_started;
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : not_started;
}

std::string content_of(std::FILE* file) {
  std::rewind(file);
  std::string content;
  std::array<char, 4096> part{};
  while (const std::size_t count = std::fread(part.data(), 1, part.size(), file)) {
    content.append(part.data(), count);
  }
  return content;
}

}  // namespace

std::string png_of(const std::string& svg) {
  const File drawing = nameless_file();
  const File picture = nameless_file();
  std::fwrite(svg.data(), 1, svg.size(), drawing.get());
  std::rewind(drawing.get());
  const int status = convert(drawing.get(), picture.get());
  if (status == not_started) {
    throw InputError("--png needs rsvg-convert, which is not on the PATH",
                     "Debian's package librsvg2-bin, or --svg");
  }
  std::string content = content_of(picture.get());
  if (status != 0 || content.empty()) {
    throw InputError(fmt::format("rsvg-convert ended with {}", status),
                     "--svg, which needs no other program");
  }
  return content;
}

}  // namespace collsim::command
