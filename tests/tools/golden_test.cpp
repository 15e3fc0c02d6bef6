// Every file in tests/cases/golden holds a command and what it prints; tools/dev/update-golden
// rewrites them. They use frozen calibrations, so that a fit changes none of them.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/test_name.h"
#include "tools/collsim/core/subcommand.h"

namespace collsim::command {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> golden_files() {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(COLLSIM_SOURCE_DIR "/tests/cases/golden")) {
    if (entry.path().extension() == ".txt") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

/// Messages end where the program prints them; data and messages share the golden file.
std::string run_line(const std::string& line) {
  std::istringstream words(line);
  std::vector<std::string> args;
  for (std::string word; words >> word;) args.push_back(word);
  std::ostringstream output;
  const int status =
      run_command(std::span(args).subspan(2), output, output);  // after "$" and "collsim"
  std::string text = output.str();
  // As a shell's $(...) takes it: trailing newlines do not count.
  text.erase(text.find_last_not_of('\n') + 1);
  if (status != exit_ok) text += fmt::format("\nexit code {}", status);
  return text;
}

class Golden : public testing::TestWithParam<fs::path> {
 protected:
  void SetUp() override { fs::current_path(COLLSIM_SOURCE_DIR); }
};

TEST_P(Golden, output_is_as_recorded) {
  std::ifstream file(GetParam());
  std::string command;
  std::getline(file, command);
  std::ostringstream rest;
  rest << file.rdbuf();
  std::string expected = rest.str();
  expected.erase(expected.find_last_not_of('\n') + 1);
  EXPECT_EQ(run_line(command), expected) << "tools/dev/update-golden rewrites the file";
}

INSTANTIATE_TEST_SUITE_P(Commands, Golden, testing::ValuesIn(golden_files()),
                         [](const auto& file) { return test::test_name(file.param.stem()); });

}  // namespace
}  // namespace collsim::command
