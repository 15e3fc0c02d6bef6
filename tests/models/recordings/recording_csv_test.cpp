// The CSV of recordings/README.md.

#include <gtest/gtest.h>

#include <string>

#include "models/recordings/recording.h"
#include "tests/support/error_of.h"

namespace collsim {
namespace {

const std::string header =
    "# nccl: 2.28.9\n"
    "# env: NCCL_NVLS_ENABLE=0\n"
    "id,nodes_x_gpus,ranks,collective,bytes,time_us_mean_over_ranks,time_us_max_over_ranks,"
    "time_us_cuda_graph,nccl_own_estimate_us,iterations,env\n";

Recording read(const std::string& rows) {
  return read_recording(TextFile{"a.csv", header + rows});
}

TEST(RecordingCsv, a_line_is_a_plain_row_and_a_graph_row) {
  const Recording recording =
      read("x,4x2,8,alltoall,64,12.5,13,9.5,7.5,20,NCCL_ALGO=Ring NCCL_PROTO=LL\n");
  ASSERT_EQ(recording.rows.size(), 2U);
  const RecordedRow& row = recording.rows[0];
  EXPECT_EQ(row.collective, Collective::all_to_all);
  EXPECT_EQ(row.nodes, 4U);
  EXPECT_EQ(row.ranks, 8U);
  EXPECT_EQ(row.line, 4);
  EXPECT_DOUBLE_EQ(row.time.value, 12.5e-6);
  EXPECT_DOUBLE_EQ(row.nccl_estimate.value().value, 7.5e-6);
  EXPECT_EQ(row.variables.size(), 3U);
  EXPECT_EQ(row.variables.at("NCCL_NVLS_ENABLE"), "0");
  EXPECT_EQ(recording.rows[1].mode, CallMode::graph);
  EXPECT_DOUBLE_EQ(recording.rows[1].time.value, 9.5e-6);
}

// An id alone says nothing: what "net8x1-5g" means is the file's to say.
TEST(RecordingCsv, machines_of_ids_are_what_the_file_says) {
  const Recording recording =
      read_recording(TextFile{"runs/a.csv",
                              "# machine of net8x1-*: machines/eight.yaml\n"
                              "id,nodes_x_gpus,ranks,collective,bytes,time_us_mean_over_ranks\n"
                              "net8x1-5g-auto,8x1,8,all_reduce,64,1\n"
                              "net4x1-5g-auto,4x1,4,all_reduce,64,1\n"});
  EXPECT_EQ(recording.rows.at(0).topology, "runs/machines/eight.yaml");
  EXPECT_EQ(recording.rows.at(1).topology, "");
}

TEST(RecordingCsv, times_of_one_sweep_by_size) {
  const Recording recording = read(
      "x,1x8,8,all_reduce,64,12.5,13,9.5,,20,\n"
      "x,1x8,8,broadcast,64,1,1,,,20,\n"
      "y,1x8,8,all_reduce,64,2,2,,,20,\n"
      "x,1x2,2,all_reduce,64,3,3,,,20,\n");
  const auto times = measured_times(recording, "x", Collective::all_reduce, 8);
  ASSERT_EQ(times.size(), 1U);
  EXPECT_DOUBLE_EQ(times.at(Bytes{64}).value, 12.5e-6);
  EXPECT_EQ(
      test::error_of([&] { return measured_times(recording, "z", Collective::all_reduce, 8); }),
      "a.csv: no all_reduce rows of id 'z' on 8 ranks; ids are x, y");
}

TEST(RecordingCsv, what_cannot_be_read_is_told_by_line_and_column) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"x,1x8\n", "a.csv:4: 2 fields"},
      {"x,1x8,8,all_reduce,many,1,1,,,20,\n", "a.csv:4:20: 'many'"},
      {"x,1x8,8,all_reduce,64,-1,1,,,20,\n", "a.csv:4:23: '-1'"},
      {"x,8,8,all_reduce,64,fast,1,,,20,\n", "a.csv:4:21: 'fast'"},
      {"x,1x8,8,all_reduce,64,1,1,,,20,NCCL_ALGO\n", "a.csv:4:32: 'NCCL_ALGO'"},
  };
  for (const auto& [row, begin] : cases) {
    const std::string error = test::error_of([&rows = row] { return read(rows); });
    EXPECT_TRUE(error.starts_with(begin)) << error;
  }
}

}  // namespace
}  // namespace collsim
