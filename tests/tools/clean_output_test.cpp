// Text from outside in what the command prints: names in logs, files and options can neither steer
// a terminal nor break JSON.

#include "tools/collsim/core/clean_output.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <ostream>
#include <sstream>

#include "sim/base/clean_text.h"
#include "tests/support/temporary_file.h"
#include "tests/tools/command_outcome.h"

namespace collsim::command {
namespace {

using test::TemporaryFile;

const std::string red = "\x1b[31mred";

TEST(CleanOutput, characters_may_come_byte_by_byte) {
  std::ostringstream stream;
  {
    const std::string text = "\xE2\x82\xAC\x1b \xFF\xE2\x82";  // the last one is cut off
    CleanOutput clean(stream);
    for (const char letter : text) stream << letter;
    stream.flush();
    EXPECT_EQ(stream.str(), "\xE2\x82\xAC\\u001b \xEF\xBF\xBD");
  }
  EXPECT_EQ(stream.str(), "\xE2\x82\xAC\\u001b \xEF\xBF\xBD\xEF\xBF\xBD");
}

/// Takes nothing, as a full disk.
class FullDisk : public std::streambuf {};

TEST(CleanOutput, a_write_that_fails_still_fails) {
  FullDisk disk;
  std::ostream stream(&disk);
  {
    CleanOutput clean(stream);
    stream << "a";
    EXPECT_TRUE(stream.bad());
  }
  EXPECT_TRUE(stream.bad());
  EXPECT_EQ(stream.rdbuf(), &disk);
}

void expect_clean(const std::vector<std::string>& args, int status, const std::string& part) {
  const Outcome outcome = run(args);
  EXPECT_EQ(outcome.status, status) << outcome.out << outcome.err;
  const std::string all = outcome.out + outcome.err;
  EXPECT_EQ(clean_text(all), all);
  EXPECT_NE(all.find(part), std::string::npos) << all;
}

TEST(CleanOutput, of_options_and_names_of_files) {
  expect_clean({"run", red}, exit_bad_input, "\\u001b[31mred");
  expect_clean({red}, exit_bad_input, "\\u001b[31mred");
  expect_clean({"choose", "hgx-h200-2", "--env", "NCCL_ALGO=" + red}, exit_bad_input, "\\u001b");
  expect_clean({"topo", "check", "no\xFFsuch.yaml"}, exit_bad_input, "no\xEF\xBF\xBDsuch.yaml");
}

TEST(CleanOutput, of_settings) {
  const TemporaryFile settings("job.sh", "export NCCL_ALGO='" + red + "'\nexport NCCL_" + red +
                                             "=1\nexport NCCL_PROTO=\xFF\n");
  expect_clean(
      {"advise", "hgx-h200-2", "-b", "1K", "-e", "1K", "--settings", settings.path().string()},
      exit_ok, "\\u001b[31mred");
}

const std::string table =
    "# Collective test starting: all_reduce_perf\n"
    "#  Rank  0 Group  0 Pid 1 on host device  0 [0x01] NVIDIA H200\n"
    "#  Rank  1 Group  0 Pid 1 on host device  1 [0x02] NVIDIA H200\n"
    "#  size  count  type  redop  root  time  algbw  busbw  #wrong\n"
    "1048576  262144  float  sum  -1  100  10.49  10.49  0\n";

TEST(CleanOutput, of_a_log) {
  const TemporaryFile log("x.log", "host:1:2 [0] NCCL WARN bad " + std::string("\x01\xC2\x9B") +
                                       red +
                                       "\nhost:1:2 [0] NCCL INFO NCCL_P2P_LEVEL set by "
                                       "environment to \x02.\n" +
                                       table);
  expect_clean({"diagnose", log.path().string(), "-t", "hgx-h200-2"}, exit_answer_is_no,
               "NCCL warns: bad \\u0001\\u009bred");  // the colour is left out
}

std::string csv_of(const std::string& id) {
  return "id,ranks,collective,bytes,time_us_mean_over_ranks\n" + id +
         ",8,all_reduce,1048576,40.1\n";
}

TEST(CleanOutput, of_ids_that_are_not_utf_8) {
  const TemporaryFile rows("rows.csv", csv_of("caf\xE9-\x1b[31m\x07"));
  const std::vector<std::string> args{"validate", rows.path().string(), "-t", "hgx-h200",
                                      "--format"};
  for (const char* format : {"json", "csv", "table", "html"}) {
    std::vector<std::string> all = args;
    all.emplace_back(format);
    expect_clean(all, exit_ok, "");
  }
  std::vector<std::string> json = args;
  json.emplace_back("json");
  const auto root = nlohmann::json::parse(output_of(json));
  EXPECT_NE(root.dump().find("caf\xEF\xBF\xBD-\\\\u0007"), std::string::npos) << root.dump();
}

// YAML can write any character as an escape: C1 is refused like C0.
TEST(CleanOutput, ids_in_yaml_have_no_control_characters) {
  const TemporaryFile machine("machine.yaml",
                              "collsim: topology/1\nname: \"\\x9b31m\"\nnodes: { template: "
                              "hgx-h200-2 }\n");
  expect_clean({"topo", "show", machine.path().string()}, exit_bad_input,
               "machine.yaml:2:7: this value has a control character");
}

}  // namespace
}  // namespace collsim::command
