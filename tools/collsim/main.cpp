#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

#include "tools/collsim/subcommand.h"

namespace {

/// Opens the standard streams that the caller has closed, the wrong way round, so that using them
/// fails. Otherwise the first file that is opened would take their place and get the output.
void occupy_closed_streams() {
  constexpr std::array modes{O_WRONLY, O_RDONLY, O_RDONLY};
  for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; ++stream) {
    if (fcntl(stream, F_GETFD) != -1) continue;
    if (open("/dev/null", modes[static_cast<std::size_t>(stream)]) != stream) return;
  }
}

}  // namespace

int main(int argc, char** argv) {
  occupy_closed_streams();
  // A caller may have switched it off; `collsim ... | head` is to end alike everywhere.
  std::signal(SIGPIPE, SIG_DFL);
  // As much as a pipe takes at once: a help text is then never cut off by a reader who leaves
  // early.
  static std::array<char, 1 << 16> buffer;
  std::setvbuf(stdout, buffer.data(), _IOFBF, buffer.size());
  const std::vector<std::string> args(argv + 1, argv + argc);
  return collsim::command::run_command(args, std::cout, std::cerr);
}
