#include "tools/recorder/recording_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "sim/base/input_error.h"
#include "sim/yaml/yaml_reader.h"

namespace collsim::recorder {
namespace {

class RecordingFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = std::filesystem::path(testing::TempDir()) /
            (std::string(testing::UnitTest::GetInstance()->current_test_info()->name()) + ".yaml");
    std::filesystem::remove(path_);
    run_.name = "a/2";
    run_.ranks = 2;
    run_.gpus = {0, 1};
  }
  std::string content() const {
    std::ifstream file(path_);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static Row row(std::int64_t bytes) {
    Row row;
    row.measured = {"all_reduce", bytes, true, false};
    row.choice = NcclChoice{"ring", "ll", 0, 3};
    row.iterations = 20;
    row.repeats = 10;
    row.seconds = {12.5e-6, 12e-6, 14e-6, 13e-6};
    row.slowest_rank_seconds = 13.25e-6;
    return row;
  }
  std::filesystem::path path_;
  Machine machine_{{{"gpu", "a \"b\""}}, "<system>\n</system>\n"};
  recorder::Run run_;
};

TEST_F(RecordingFileTest, IsYamlOfItsKind) {
  RecordingFile file(path_, machine_);
  file.begin_run(run_, {{"NCCL_ALGO", "^Tree"}});
  file.add(row(8));
  file.end_run("done");
  file.begin_run(run_, {});
  file.end_run("failed: \"x\"");
  const YamlMapping root =
      load_yaml(path_, "recording").mapping({"machine", "type", "redop", "topology", "runs"});
  EXPECT_EQ(root.at("machine").free_mapping().at("gpu").string(), "a \"b\"");
  EXPECT_EQ(root.at("topology").sequence().at(1).string(), "</system>");
  const auto runs = root.at("runs").sequence();
  ASSERT_EQ(runs.size(), 2U);
  const YamlMapping first = runs[0].free_mapping();
  EXPECT_EQ(first.at("environment").free_mapping().at("NCCL_ALGO").string(), "^Tree");
  const auto values = first.at("rows").sequence().at(0).sequence();
  ASSERT_EQ(values.size(), first.at("columns").sequence().size());
  EXPECT_EQ(values[4].string(), "ring");
  EXPECT_EQ(values[10].string(), "12.500");  // the median, in microseconds
  EXPECT_EQ(values[15].string(), "none");    // no estimate
  EXPECT_EQ(runs[1].free_mapping().at("end").string(), "failed: \"x\"");
}

TEST_F(RecordingFileTest, GoesOnAfterTheLastWholeRow) {
  {
    RecordingFile file(path_, machine_);
    file.begin_run(run_, {});
    file.add(row(8));
    file.add(row(16));
  }
  const std::string whole = content();
  // Cut anywhere in the second row, its end of line too: only the first row is left.
  const std::size_t second = whole.rfind("      - [");
  for (std::size_t length = second; length < whole.size(); ++length) {
    std::ofstream(path_) << whole.substr(0, length);
    RecordingFile file(path_, machine_);
    EXPECT_TRUE(file.has("a/2", row(8).measured));
    EXPECT_FALSE(file.has("a/2", row(16).measured));
    EXPECT_FALSE(file.has("b", row(8).measured));
    EXPECT_EQ(content(), whole.substr(0, second));
  }
}

TEST_F(RecordingFileTest, StartsAgainWhenThereIsNoRowYet) {
  { RecordingFile file(path_, machine_); }
  const std::string whole = content();
  std::ofstream(path_) << whole.substr(0, whole.size() / 2);
  RecordingFile file(path_, machine_);
  EXPECT_EQ(content(), whole);
}

TEST_F(RecordingFileTest, RefusesRowsOfAnotherMachine) {
  {
    RecordingFile file(path_, machine_);
    file.begin_run(run_, {});
    file.add(row(8));
  }
  machine_.facts["gpu"] = "another";
  EXPECT_THROW(RecordingFile(path_, machine_), InputError);
}

}  // namespace
}  // namespace collsim::recorder
