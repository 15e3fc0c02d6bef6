#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "sim/base/text_file.h"
#include "sim/topologies/loader.h"
#include "tests/support/error_of.h"

namespace collsim {
namespace {

/// tests/cases/bad_topologies/<case>.yaml is broken in one way; <case>.expected is the message,
/// file names taken relative to tests/cases/bad_topologies.
const std::filesystem::path folder =
    std::filesystem::path(COLLSIM_SOURCE_DIR) / "tests/cases/bad_topologies";

std::vector<std::string> cases() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".yaml") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string without_folder(std::string text) {
  const std::string prefix = folder.string() + "/";
  for (auto place = text.find(prefix); place != std::string::npos; place = text.find(prefix)) {
    text.erase(place, prefix.size());
  }
  return text;
}

class BadTopology : public testing::TestWithParam<std::string> {};

TEST_P(BadTopology, IsAnInputErrorAtItsPlace) {
  const std::string expected =
      read_text_file(folder / (GetParam() + ".expected"), "a message").content;
  ASSERT_FALSE(expected.empty());
  const std::string error =
      test::error_of([&] { return load_topology(folder / (GetParam() + ".yaml")); });
  EXPECT_EQ(without_folder(error) + "\n", expected);
}

INSTANTIATE_TEST_SUITE_P(Files, BadTopology, testing::ValuesIn(cases()),
                         [](const auto& parameter) { return parameter.param; });

TEST(BadTopologies, AreManyAndEachHasItsMessage) {
  EXPECT_GE(cases().size(), 65U);
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    auto partner = entry.path();
    if (partner.extension() != ".expected") continue;
    EXPECT_TRUE(std::filesystem::exists(partner.replace_extension(".yaml"))) << entry.path();
  }
}

}  // namespace
}  // namespace collsim
