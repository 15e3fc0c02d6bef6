// docs/accuracy.md's writer on a few recordings. The whole page takes minutes and is not made here.

#include <gtest/gtest.h>

#include <string>

#include "sim/base/text_file.h"
#include "tests/tools/command_outcome.h"

namespace collsim {
namespace {

const std::string source = COLLSIM_SOURCE_DIR;

// A run that fits a machine, one that fits none, and a recording of ours; tools/dev/update-golden
// rewrites the page.
TEST(AccuracyPage, of_a_few_recordings_is_as_before) {
  const TextFile page = read_text_file(source + "/tests/cases/golden/accuracy-page.md", "a page");
  std::string command =
      "COLLSIM_DATA='" + source + "/tests/data/frozen' COLLSIM_COMMAND=" COLLSIM_COMMAND " '";
  command += source;
  command +=
      "/tools/dev/update-accuracy' recordings/published/h100x2-gpu01-ring-nvlink-allreduce.yaml "
      "recordings/published/h100x2x2-cnh-allreduce.yaml recordings/h200x4/tcp.yaml";
  EXPECT_EQ(command::run_shell(command).out, page.content);
}

}  // namespace
}  // namespace collsim
