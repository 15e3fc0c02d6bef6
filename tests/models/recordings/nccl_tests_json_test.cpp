// nccl-tests' -J.

#include <gtest/gtest.h>

#include <string>

#include "models/recordings/recording.h"
#include "tests/support/error_of.h"

namespace collsim {
namespace {

Recording read(const std::string& text) {
  return read_recording(TextFile{"out.json", text});
}

const std::string config =
    R"("config": {"iterations": 20, "graph": 0, "devices": [
       {"rank": 0, "hostname": "a", "device_info": "NVIDIA H200"},
       {"rank": 1, "hostname": "b", "device_info": "NVIDIA H200"}]},)";

TEST(NcclTestsJson, rows_have_both_places) {
  const Recording recording = read(
      R"({"version": "2.17.6", "args": ["./build/reduce_scatter_perf", "-b", "8"],
          "env": ["NCCL_ALGO=Ring", "HOME=/root", "NCCL_DEBUG=INFO"], "nccl_version": "22809",)" +
      config + R"("results": [{"size": 4096, "count": 512, "type": "float", "redop": "sum",
        "root": "-1", "out_of_place": {"time": 10.5, "alg_bw": 0.39, "bus_bw": 0.195, "nwrong": "0"},
        "in_place": {"time": 11.5, "alg_bw": 0.36, "bus_bw": 0.18, "nwrong": "2"}}]})");
  ASSERT_EQ(recording.rows.size(), 2U);
  const RecordedRow& row = recording.rows[0];
  EXPECT_EQ(row.collective, Collective::reduce_scatter);
  EXPECT_EQ(row.nodes, 2U);
  EXPECT_EQ(row.ranks, 2U);
  EXPECT_EQ(row.iterations, 20U);
  EXPECT_DOUBLE_EQ(row.time.value, 10.5e-6);
  EXPECT_FALSE(row.wrong);
  EXPECT_EQ(row.variables, (std::map<std::string, std::string>{{"NCCL_ALGO", "Ring"}}));
  EXPECT_TRUE(recording.rows[1].in_place);
  EXPECT_TRUE(recording.rows[1].wrong);
  EXPECT_EQ(recording.machine.at("nccl"), "2.28.9");
  EXPECT_EQ(recording.machine.at("gpu"), "NVIDIA H200");
}

void expect_error(const std::string& text, const std::string& begin) {
  const std::string error = test::error_of([&] { return read(text); });
  EXPECT_TRUE(error.starts_with(begin)) << error;
}

// Braces in a text end nothing.
TEST(NcclTestsJson, json_lines_are_called_so) {
  expect_error("{\"a\": \"}{\"}\n{\"b\": 1}\n",
               "out.json:2:1: a second object: this is JSON Lines");
  expect_error("{} {}", "out.json:1:4: a second object: this is JSON Lines");
  expect_error("{\"a\": \"}{\"}\n", "out.json: file: no 'config'");
}

// Two million lists in each other, as args: printing them would take as many frames of the stack.
TEST(NcclTestsJson, depth_has_a_limit) {
  constexpr std::size_t depth = 2'000'000;
  expect_error("{\"args\": " + std::string(depth, '[') + std::string(depth, ']') + "}",
               "out.json: JSON nested deeper than 64 levels");
}

TEST(NcclTestsJson, what_cannot_be_read_is_told) {
  expect_error("{\n  \"config\": }", "out.json:2:13: not JSON");
  expect_error("{}", "out.json: file: no 'config'");
  expect_error("{" + config + R"("results": 3})", "out.json: results: not a list");
  expect_error("{" + config + R"("results": []})", "out.json: results: no measured times");
  expect_error("{" + config + R"("results": [{"size": "x", "type": "float"}]})",
               "out.json: results[0].size: \"x\"");
  expect_error("{" + config + R"("results": [{"size": 8, "type": "float",
                 "out_of_place": {"cpu_time": 1}}]})",
               "out.json: results[0].out_of_place: the CPU's times");
  // 4096 B in 10.5 us are 0.39 GB/s.
  expect_error("{" + config + R"("results": [{"size": 4096, "type": "float",
                 "out_of_place": {"time": 10.5, "alg_bw": 39, "bus_bw": 39}}]})",
               "out.json: results[0].out_of_place.time: a time of 10.5 and an algbw of 39 GB/s");
}

}  // namespace
}  // namespace collsim
