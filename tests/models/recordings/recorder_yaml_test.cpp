// Our recorder's YAML, by a file written here and by the shipped ones.

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "models/recordings/recording.h"
#include "sim/base/data_directory.h"
#include "tests/support/error_of.h"

namespace collsim {
namespace {

const std::string head =
    "collsim: recording/1\n"
    "machine: { gpu: \"NVIDIA H200\", nccl: \"2.28.9\" }\n"
    "type: float\n"
    "redop: sum\n"
    "runs:\n"
    "  - run: \"tcp/2x2-5g\"\n"
    "    ranks: 4\n"
    "    gpus: [0, 1, 2, 3]\n"
    "    hosts: {count: 2, gpus: 2, rate: 5 Gb/s, burst: 65536 B}\n"
    "    environment: {NCCL_ALGO: \"Ring\", NCCL_VERSION: \"2.28.3-1\"}\n"
    "    columns: [collective, bytes, place, mode, algorithm, protocol, first_channel, "
    "last_channel, iterations, time_us, estimate_us, wrong]\n"
    "    rows:\n";

Recording read(const std::string& rows) {
  return read_recording(TextFile{"a.yaml", head + rows});
}

TEST(RecorderYaml, rows_have_what_the_run_and_the_row_say) {
  const Recording recording = read(
      "      - [all_reduce, 1024, in, graph, ring, ll128, 2, 5, 20, 12.5, 7.25, 0]\n"
      "      - [launch, 0, out, plain, none, none, none, none, 20, 3.0, none, 1]\n");
  ASSERT_EQ(recording.rows.size(), 2U);
  EXPECT_EQ(recording.machine.at("nccl"), "2.28.9");
  const RecordedRow& row = recording.rows[0];
  EXPECT_EQ(row.id, "tcp/2x2-5g");
  EXPECT_EQ(row.line, 13);  // 12 lines of head
  EXPECT_EQ(row.collective, Collective::all_reduce);
  EXPECT_EQ(row.nodes, 2U);
  EXPECT_EQ(row.ranks, 4U);
  EXPECT_EQ(row.algorithm, NcclAlgorithm::ring);
  EXPECT_EQ(row.protocol, Protocol::ll128);
  EXPECT_EQ(row.channels, 4U);  // 2, 3, 4, 5
  EXPECT_EQ(row.variables, (std::map<std::string, std::string>{{"NCCL_ALGO", "Ring"}}));
  EXPECT_EQ(row.size.count, 1024);
  EXPECT_TRUE(row.in_place);
  EXPECT_EQ(row.mode, CallMode::graph);
  EXPECT_EQ(row.iterations, 20U);
  EXPECT_DOUBLE_EQ(row.time.value, 12.5e-6);
  EXPECT_DOUBLE_EQ(row.nccl_estimate.value().value, 7.25e-6);
  EXPECT_EQ(row.topology, "");
  EXPECT_EQ(row.file, "a.yaml");
  EXPECT_FALSE(row.wrong);
  const RecordedRow& launch = recording.rows[1];
  EXPECT_FALSE(launch.collective || launch.algorithm || launch.protocol || launch.channels);
  EXPECT_FALSE(launch.nccl_estimate);
  EXPECT_EQ(launch.collective_name, "launch");
  EXPECT_TRUE(launch.wrong);
}

TEST(RecorderYaml, machines_of_runs_stand_beside_the_file) {
  const std::string row = "      - [all_reduce, 8, out, plain, ring, ll, 0, 0, 20, 1, 1, 0]\n";
  const std::string machines =
      "machines:\n"
      "  - { runs: \"tcp/*-20g\", topology: fast.yaml }\n"
      "  - { runs: \"tcp/*\", topology: ../machines/slow.yaml }\n"
      "  - { runs: \"*\", topology: other.yaml }\n";
  std::string text = head;
  text.insert(text.find("type:"), machines);
  const Recording recording = read_recording(TextFile{"runs/h200/a.yaml", text + row});
  EXPECT_EQ(recording.rows.at(0).topology, "runs/machines/slow.yaml");
}

TEST(RecorderYaml, bad_rows_are_told_by_line_and_column) {
  struct Case {
    std::string row;
    std::string message;
  };
  const std::vector<Case> cases{
      {"[all_reduce, 8, out]", "a.yaml:13:9: 3 fields"},
      {"[all_reduce, 8, beside, plain, ring, ll, 0, 0, 20, 1, 1, 0]", "a.yaml:13:25: "},
      {"[all_reduce, 8, out, plain, bus, ll, 0, 0, 20, 1, 1, 0]", "a.yaml:13:37: "},
      {"[all_reduce, 8, out, plain, ring, ll, 3, 0, 20, 1, 1, 0]", "a.yaml:13:50: "},
      {"[all_reduce, 8, out, plain, ring, ll, 0, 0, 20, fast, 1, 0]", "a.yaml:13:57: 'fast'"},
      {"[all_reduce, 8, out, plain, ring, ll, 0, 0, 20, none, 1, 0]", "a.yaml:13:57: no time"},
  };
  for (const Case& each : cases) {
    const std::string error = test::error_of([&] { return read("      - " + each.row + "\n"); });
    EXPECT_TRUE(error.starts_with(each.message)) << error;
  }
}

// Of 4 H200 the plain all_reduce of 256 bytes is a ring with LL, the registered one
// AllReduce_AGxLL_R on one thread block, and that of 4 MiB AllReduce_RSxLD_AGxST on seven, by the
// file.
TEST(RecorderYaml, symmetric_kernels_stand_beside_algorithms) {
  const Recording recording = read_recording(data_directory() / "recordings/h200x4/symmetric.yaml");
  const auto row_of = [&](const std::string& id, std::int64_t bytes) {
    for (const RecordedRow& row : recording.rows) {
      if (row.id == id && row.size.count == bytes && row.collective == Collective::all_reduce)
        return row;
    }
    ADD_FAILURE() << id << ' ' << bytes;
    return RecordedRow{};
  };
  const RecordedRow plain = row_of("chosen/4", 256);
  EXPECT_FALSE(plain.registered);
  EXPECT_EQ(plain.algorithm, NcclAlgorithm::ring);
  EXPECT_EQ(plain.symmetric_kernel, "");
  const RecordedRow small = row_of("chosen/4/registered", 256);
  EXPECT_TRUE(small.registered);
  EXPECT_FALSE(small.algorithm);
  EXPECT_EQ(small.symmetric_kernel, "AllReduce_AGxLL_R");
  EXPECT_EQ(small.channels, 1U);
  const RecordedRow large = row_of("chosen/4/registered", 4 << 20);
  EXPECT_EQ(large.symmetric_kernel, "AllReduce_RSxLD_AGxST");
  EXPECT_EQ(large.channels, 7U);
}

// By ncclCommRegister() a ring's all_gather of 256 MiB took 450.585 us in place of 557.461, by the
// file.
TEST(RecorderYaml, rows_say_that_their_buffers_were_user_registered) {
  const Recording recording =
      read_recording(data_directory() / "recordings/h100x2/user-buffers.yaml");
  const auto is_asked = [](const RecordedRow& row, const std::string& id) {
    return row.id == id && row.collective == Collective::all_gather &&
           row.size.count == 256 << 20 && !row.in_place;
  };
  std::map<bool, double> microseconds;
  for (const RecordedRow& row : recording.rows) {
    EXPECT_FALSE(row.registered);
    if (is_asked(row, "rings/2/Ring/Simple") ||
        is_asked(row, "rings/2/Ring/Simple/user_registered")) {
      microseconds[row.user_registered] = in_microseconds(row.time);
    }
  }
  EXPECT_EQ(microseconds.size(), 2U);
  EXPECT_DOUBLE_EQ(microseconds[false], 557.461);
  EXPECT_DOUBLE_EQ(microseconds[true], 450.585);
}

// grep -c "^      - \[" of each file.
TEST(RecorderYaml, shipped_recordings_are_read_whole) {
  const std::map<std::string, std::size_t> rows{
      {"nvlink", 2240}, {"forced-2-ranks", 504}, {"forced-4-ranks", 504}, {"host-memory", 661},
      {"tcp", 344},     {"one-gpu", 174},        {"symmetric", 602},
  };
  for (const auto& [name, count] : rows) {
    const Recording recording =
        read_recording(data_directory() / ("recordings/h200x4/" + name + ".yaml"));
    EXPECT_EQ(recording.rows.size(), count) << name;
    EXPECT_EQ(recording.machine.at("gpu"), "NVIDIA H200");
    for (const RecordedRow& row : recording.rows) {
      EXPECT_GT(row.time.value, 0) << name << row.line;
      EXPECT_FALSE(row.wrong) << name << row.line;
    }
  }
}

}  // namespace
}  // namespace collsim
