// docs/accuracy.md's writer on a few recordings. The whole page takes minutes and is not made here.

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>

namespace collsim {
namespace {

const std::string source = COLLSIM_SOURCE_DIR;

std::string output_of(const std::string& command) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), &pclose);
  std::string output;
  std::array<char, 4096> buffer{};
  while (const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), pipe.get())) {
    output.append(buffer.data(), count);
  }
  return output;
}

// A run that fits a machine, one that fits none, and a recording of ours; tools/update-golden
// rewrites the page.
TEST(AccuracyPage, of_a_few_recordings_is_as_before) {
  std::ifstream file(source + "/tests/golden/accuracy-page.md");
  std::ostringstream page;
  page << file.rdbuf();
  std::string command = "COLLSIM_COMMAND=" COLLSIM_COMMAND " '";
  command += source;
  command +=
      "/tools/update-accuracy' recordings/published/h100x2-gpu01-ring-nvlink-allreduce.yaml "
      "recordings/published/h100x2x2-cnh-allreduce.yaml recordings/h200x4/tcp.yaml";
  EXPECT_EQ(output_of(command), page.str());
}

}  // namespace
}  // namespace collsim
