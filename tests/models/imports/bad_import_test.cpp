#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "models/imports/import.h"
#include "sim/base/input_error.h"
#include "tests/support/error_of.h"

namespace collsim {
namespace {

/// tests/cases/bad_imports/<case>.xml or .txt is broken in one way; <case>.expected is the message.
const std::filesystem::path folder =
    std::filesystem::path(COLLSIM_SOURCE_DIR) / "tests/cases/bad_imports";

std::vector<std::string> cases() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".expected") names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string test_name(const testing::TestParamInfo<std::string>& info) {
  return std::filesystem::path(info.param).stem().string();
}

class BadImport : public testing::TestWithParam<std::string> {};

TEST_P(BadImport, IsAnInputErrorAtItsPlace) {
  const std::filesystem::path file = folder / GetParam();
  const std::string expected =
      read_text_file(std::filesystem::path(file).replace_extension(".expected"), "a message")
          .content;
  TextFile text = read_text_file(file, "a case");
  text.name = GetParam();
  const ImportOptions options{find_gpu_model("H100"), false, 0};
  EXPECT_EQ(test::error_of([&] { return import_node(text, options); }) + "\n", expected);
}

INSTANTIATE_TEST_SUITE_P(Files, BadImport, testing::ValuesIn(cases()), test_name);

TEST(BadImports, MatricesNeedTheModelOfTheGpus) {
  const auto file =
      std::filesystem::path(COLLSIM_SOURCE_DIR) / "tests/data/nvidia-smi/hgx-h200.txt";
  const TextFile text = read_text_file(file, "a matrix");
  EXPECT_NO_THROW(import_node(text, {find_gpu_model("H200"), false, 0}));
  EXPECT_THROW(import_node(text), InputError);
  // A GPU without NVLink cannot have eighteen.
  EXPECT_THROW(import_node(text, {find_gpu_model("L40S"), false, 0}), InputError);
}

}  // namespace
}  // namespace collsim
