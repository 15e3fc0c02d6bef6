#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace collsim::recorder {

/// What main() does: prints the usage for --help, else runs the program with its words. Returns the
/// exit code: `run`'s, or 2 where it throws, with the message on standard error.
int run_program(int argc, char** argv, std::string_view usage,
                const std::function<int(const std::vector<std::string>& words)>& run);

}  // namespace collsim::recorder
