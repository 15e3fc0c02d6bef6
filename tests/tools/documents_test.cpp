// Every command that a document shows with its output prints that; tools/dev/update-documents
// rewrites them. Commands without output name options that exist.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/temporary_file.h"
#include "tests/support/test_data.h"
#include "tests/tools/command_outcome.h"

namespace collsim {
namespace {

namespace fs = std::filesystem;

const fs::path root = COLLSIM_SOURCE_DIR;

/// Exit code and output of tools/dev/update-documents --check.
std::pair<int, std::string> check(const fs::path& document) {
  const std::string command = "COLLSIM_COMMAND='" COLLSIM_COMMAND "' '" + root.string() +
                              "/tools/dev/update-documents' --check '" + document.string() + "'";
  const command::Outcome outcome = command::run_shell(command);
  return {outcome.status, outcome.out};
}

std::vector<fs::path> documents() {
  std::vector<fs::path> files{root / "README.md", root / "recordings/README.md"};
  for (const auto& entry : fs::recursive_directory_iterator(root / "docs")) {
    if (entry.path().extension() == ".md") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string name_of(const testing::TestParamInfo<fs::path>& document) {
  const fs::path folder = document.param.parent_path();
  std::string stem = document.param.stem().string();
  std::replace(stem.begin(), stem.end(), '-', '_');
  return folder == root ? stem : folder.stem().string() + "_" + stem;
}

class Documents : public testing::TestWithParam<fs::path> {
  ShippedData shipped_;
};

TEST_P(Documents, show_what_commands_print) {
  const auto [status, difference] = check(GetParam());
  EXPECT_EQ(status, 0) << "tools/dev/update-documents rewrites the output\n" << difference;
}

INSTANTIATE_TEST_SUITE_P(Files, Documents, testing::ValuesIn(documents()), name_of);

TEST(DocumentsCheck, finds_output_that_is_not_printed) {
  const test::TemporaryFile right(
      "d.md", "    $ collsim steps -n 1\n    ring all_reduce: 1 rank, 1 chunk\n    ...\n\nend\n");
  EXPECT_EQ(check(right.path()), std::pair(0, std::string()));
  const test::TemporaryFile wrong(
      "d.md", "    $ collsim steps -n 1\n    ring all_reduce: 2 ranks, 1 chunk\n    ...\n\nend\n");
  const auto [status, difference] = check(wrong.path());
  EXPECT_EQ(status, 1);
  EXPECT_NE(difference.find("d.md: +    ring all_reduce: 1 rank, 1 chunk\n"), std::string::npos)
      << difference;
}

TEST(DocumentsCheck, finds_options_that_do_not_exist) {
  const test::TemporaryFile file(
      "d.md", "Try `collsim run x --rnaks 4`, `collsim rnu` and `collsim run -n 4`.\n");
  EXPECT_EQ(check(file.path()),
            std::pair(1, std::string("d.md: collsim run x --rnaks 4: --rnaks is no option\n"
                                     "d.md: collsim rnu: no such subcommand\n")));
}

}  // namespace
}  // namespace collsim
