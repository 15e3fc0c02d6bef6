#include "tests/tools/command_outcome.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <sstream>

#include "sim/base/read_files.h"

namespace collsim::command {

Outcome run(Runner runner, const std::vector<std::string>& args) {
  forget_read_files();  // those of the command before
  std::ostringstream out;
  std::ostringstream err;
  forget_read_files();  // a file of an earlier call, which is gone, may have had the same number
  const int status = runner(args, out, err);
  return {status, out.str(), err.str()};
}

Outcome run(const std::vector<std::string>& args) {
  return run(run_command, args);
}

std::string output_of(const std::vector<std::string>& args) {
  const Outcome outcome = run(args);
  EXPECT_EQ(outcome.status, exit_ok) << outcome.err;
  return outcome.out;
}

Outcome run_shell(const std::string& line) {
  FILE* const pipe = popen((line + " 2>&1").c_str(), "r");
  Outcome outcome;
  std::array<char, 4096> buffer{};
  while (const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), pipe)) {
    outcome.out.append(buffer.data(), count);
  }
  outcome.status = WEXITSTATUS(pclose(pipe));
  return outcome;
}

}  // namespace collsim::command
