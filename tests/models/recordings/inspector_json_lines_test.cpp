#include <gtest/gtest.h>

#include <string>

#include "models/recordings/recording.h"
#include "tests/support/error_of.h"

namespace collsim {
namespace {

std::string line(int rank, int number, const std::string& call) {
  return R"({"header": {"id": "0x1", "rank": )" + std::to_string(rank) +
         R"(, "n_ranks": 2, "nnodes": 1}, "metadata": {"hostname": "a"}, "coll_perf": {"coll_sn": )" +
         std::to_string(number) + ", " + call + "}}\n";
}

Recording read(const std::string& text) {
  return read_recording(TextFile{"job.jsonl", text});
}

// The Inspector's README: an all_reduce of 16 GiB in 61,974 us is 277.21 GB/s, and a reduce_scatter
// whose ranks get 2 GiB each, 16 GiB in nccl-tests' sense, 418.44 GB/s in 41,057 us: 17,179,869,184
// / 0.041057 s.
TEST(InspectorJsonLines, have_the_sizes_of_nccl_tests) {
  const Recording recording =
      read_recording(COLLSIM_SOURCE_DIR "/tests/data/inspector/readme-examples.jsonl");
  ASSERT_EQ(recording.rows.size(), 2U);
  for (const RecordedRow& row : recording.rows) {
    EXPECT_EQ(row.ranks, 8U);
    EXPECT_EQ(row.size.count, std::int64_t{16} << 30);
    const double expected = row.collective == Collective::all_reduce ? 277.210914 : 418.439467;
    EXPECT_NEAR(static_cast<double>(row.size.count) / row.time.value * 1e-9, expected, 0.01);
  }
  EXPECT_EQ(recording.hosts.size(), 1U);
}

// Call 1: ranks take 30 and 10 us, so 10; calls 2 and 3 take 12 and 40. The median of 10, 12 and 40
// is 12.
TEST(InspectorJsonLines, take_the_last_to_come_and_the_median_of_calls) {
  const std::string call =
      R"("coll": "AllReduce", "coll_msg_size_bytes": 1024, "coll_exec_time_us": )";
  const Recording recording = read(line(0, 1, call + "30") + line(1, 1, call + "10") +
                                   line(0, 2, call + "12") + line(1, 3, call + "40"));
  ASSERT_EQ(recording.rows.size(), 1U);
  EXPECT_DOUBLE_EQ(recording.rows.front().time.value, 12e-6);
  EXPECT_EQ(recording.rows.front().id, "0x1");
}

TEST(InspectorJsonLines, are_refused_by_line) {
  const std::string good =
      line(0, 1, R"("coll": "Broadcast", "coll_msg_size_bytes": 8, "coll_exec_time_us": 3)");
  const auto error = [&](const std::string& call) {
    return test::error_of([&] { read(good + line(0, 2, call)); });
  };
  EXPECT_EQ(error(R"("coll": "Broadcast", "coll_msg_size_bytes": -8, "coll_exec_time_us": 3)")
                .substr(0, 40),
            "job.jsonl:2: 'coll_msg_size_bytes' is ou");
  EXPECT_EQ(error(R"("coll": 4, "coll_msg_size_bytes": 8, "coll_exec_time_us": 3)"),
            "job.jsonl:2: 'coll' is no text; a text");
  EXPECT_EQ(error(R"("coll": "Reduce", "coll_msg_size_bytes": 8, "coll_exec_time_us": "3")"),
            "job.jsonl:2: 'coll_exec_time_us' is no time; microseconds, 0 or more");
}

}  // namespace
}  // namespace collsim
