// Logs of the same calls beside each other, without a machine.

#include "tools/collsim/diagnose/like_runs.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

namespace collsim {
namespace {

/// One all-reduce of 64 MiB and one of 8 B on those hosts.
Recording recording_on(const std::set<std::string>& hosts, double milliseconds) {
  Recording recording;
  recording.hosts = hosts;
  recording.machine["gpu"] = "NVIDIA H100";
  for (const std::int64_t size : {std::int64_t{8}, std::int64_t{64} << 20}) {
    RecordedRow row;
    row.collective = Collective::all_reduce;
    row.nodes = static_cast<std::uint32_t>(hosts.size());
    row.ranks = 8 * row.nodes;
    row.size.count = size;
    row.time.value = milliseconds * 1e-3;
    recording.rows.push_back(row);
  }
  return recording;
}

TEST(LikeRuns, are_of_the_same_calls) {
  const LikeRun ab = like_run(recording_on({"a", "b"}, 1), {});
  const LikeRun cd = like_run(recording_on({"c", "d"}, 2), {});
  EXPECT_TRUE(are_alike(ab, cd));
  EXPECT_FALSE(are_alike(ab, like_run(recording_on({"a"}, 1), {}))) << "one host";
  Recording other = recording_on({"c", "d"}, 2);
  for (RecordedRow& row : other.rows) row.variables["NCCL_ALGO"] = "Tree";
  EXPECT_FALSE(are_alike(ab, like_run(other, {}))) << "another algorithm";
}

// Twice the time is half the busbw.
TEST(LikeRuns, have_the_busbw_of_the_fastest_as_their_unit) {
  const LikeRun fast = like_run(recording_on({"a", "b"}, 1), {});
  const LikeRun slow = like_run(recording_on({"c", "d"}, 2), {});
  const auto beside = runs_beside_each_other({&fast, &slow});
  ASSERT_EQ(beside.size(), 2U);
  EXPECT_DOUBLE_EQ(beside[0].busbw, 1);
  EXPECT_NEAR(beside[1].busbw, 0.5, 1e-12);
  EXPECT_EQ(beside[1].hosts, (std::set<std::string>{"c", "d"}));
}

Recording over(const std::string& port, double milliseconds) {
  Recording recording = recording_on({"a", "b"}, milliseconds);
  for (RecordedRow& row : recording.rows) row.variables["NCCL_IB_HCA"] = "=" + port + ":1";
  return recording;
}

// The same hosts over one NIC at a time: the rail is slow, or a port of one of them.
TEST(LikeRuns, over_single_nics_name_the_rail) {
  const LikeRun first = like_run(over("mlx5_0", 1), {});
  const LikeRun second = like_run(over("mlx5_1", 2), {});
  ASSERT_TRUE(are_alike(first, second));
  const auto found = slow_hosts(runs_beside_each_other({&first, &second}));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].hosts, (std::vector<std::string>{"a/mlx5_1", "b/mlx5_1", "rail mlx5_1"}));
}

// Noise of 1 %: four times sqrt(2) of it is less than a tenth, of 5 % it is 28 %.
TEST(LikeRuns, have_a_limit_of_noise) {
  const std::vector<HostRun> runs{{{"a"}, 1, Bytes{64 << 20}}, {{"b"}, 0.5, Bytes{64 << 20}}};
  Spread spread;
  spread.rest = 0.01;
  EXPECT_NEAR(like_limit(runs, spread), std::exp(-0.1), 1e-12);
  spread.rest = 0.05;
  EXPECT_NEAR(like_limit(runs, spread), std::exp(-4 * std::sqrt(2.0) * 0.05), 1e-12);
}

}  // namespace
}  // namespace collsim
