#include <iostream>
#include <string>
#include <vector>

#include "tools/collsim/subcommand.h"

int main(int argc, char** argv) {
  const std::vector<std::string> args(argv + 1, argv + argc);
  return collsim::command::run_command(args, std::cout, std::cerr);
}
