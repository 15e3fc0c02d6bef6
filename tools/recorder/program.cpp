#include "tools/recorder/program.h"

#include <exception>
#include <iostream>

namespace collsim::recorder {

int run_program(int argc, char** argv, std::string_view usage,
                const std::function<int(const std::vector<std::string>& words)>& run) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words == std::vector<std::string>{"--help"}) {
    std::cout << usage;
    return 0;
  }
  try {
    return run(words);
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 2;
  }
}

}  // namespace collsim::recorder
