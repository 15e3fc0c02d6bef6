#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <new>
#include <string>
#include <vector>

#include "sim/base/input_error.h"
#include "tools/collsim/core/subcommand.h"
#include "tools/collsim/core/time_limit.h"

namespace {

/// Opens standard streams that the caller has closed, in the wrong direction, so that using them
/// fails. Otherwise the next opened file would get their number, and the output.
void occupy_closed_streams() {
  constexpr std::array modes{O_WRONLY, O_RDONLY, O_RDONLY};
  for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; ++stream) {
    if (fcntl(stream, F_GETFD) != -1) continue;
    if (open("/dev/null", modes[static_cast<std::size_t>(stream)]) != stream) return;
  }
}

/// JSON's destructor allocates, and what it throws ends the program: for want of memory, as bad
/// input does.
[[noreturn]] void end_without_memory() {
  try {
    if (const auto error = std::current_exception()) std::rethrow_exception(error);
  } catch (const std::bad_alloc&) {
    std::fputs("collsim: not enough memory\n", stderr);
    std::_Exit(collsim::command::exit_bad_input);
  } catch (...) {  // a bug, which abort() reports
  }
  std::abort();
}

}  // namespace

int main(int argc, char** argv) {
  occupy_closed_streams();
  std::set_terminate(end_without_memory);
  // A caller may ignore SIGPIPE; `collsim ... | head` must end in the same way everywhere.
  std::signal(SIGPIPE, SIG_DFL);
  // The capacity of a pipe: a reader that closes the pipe early then never cuts off a help text.
  static std::array<char, 1 << 16> buffer;
  std::setvbuf(stdout, buffer.data(), _IOFBF, buffer.size());
  try {
    const std::vector<std::string> args(argv + 1, argv + argc);
    const collsim::command::TimeLimit limit(args);
    return collsim::command::run_command(args, std::cout, std::cerr);
  } catch (const std::bad_alloc&) {  // before run_command(), which has messages of its own
    std::fputs("collsim: not enough memory\n", stderr);
    return collsim::command::exit_bad_input;
  } catch (const collsim::InputError& error) {
    std::fprintf(stderr, "collsim: %s\n", error.what());
    return collsim::command::exit_bad_input;
  }
}
