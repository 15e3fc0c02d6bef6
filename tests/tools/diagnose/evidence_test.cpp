// What of a recording is held against a machine.

#include "tools/collsim/diagnose/evidence.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "models/imports/machine.h"
#include "models/validation/recorded_machines.h"

namespace collsim {
namespace {

/// An all_reduce of so many ranks, out of place and in place.
Recording both_places(double out, double in, Rank ranks = 8, std::uint32_t nodes = 1) {
  Recording recording;
  recording.file = "my.log";
  for (const double time : {out, in}) {
    RecordedRow row;
    row.collective = Collective::all_reduce;
    row.ranks = ranks;
    row.nodes = nodes;
    row.size.count = 1 << 20;
    row.in_place = time == in;
    row.time = microseconds(time);
    recording.rows.push_back(row);
  }
  return recording;
}

// 1,272 us out of place and 321 in place, 3.96 times less, are no 639 us.
TEST(Evidence, of_places_far_apart_is_kept_apart) {
  const Topology topology = load_machine("hgx-h200").topology;
  const Evidence evidence = gather_evidence(both_places(1272, 321), {}, topology);
  ASSERT_EQ(evidence.series.size(), 1U);
  const auto& points = evidence.series[0].points;
  ASSERT_EQ(points.size(), 2U);
  EXPECT_NEAR(in_microseconds(points[0].measured), 1272, 1e-9);
  EXPECT_EQ(points[0].in_place, false);
  EXPECT_NEAR(in_microseconds(points[1].measured), 321, 1e-9);
  EXPECT_EQ(points[1].in_place, true);
}

// 1.2 times is noise: one point, of the geometric mean, with both times.
TEST(Evidence, of_places_near_each_other_is_one_point) {
  const Topology topology = load_machine("hgx-h200").topology;
  const Evidence evidence = gather_evidence(both_places(120, 100), {}, topology);
  ASSERT_EQ(evidence.series[0].points.size(), 1U);
  const EvidencePoint& point = evidence.series[0].points[0];
  EXPECT_NEAR(in_microseconds(point.measured), std::sqrt(120.0 * 100.0), 1e-9);
  EXPECT_FALSE(point.in_place);
  EXPECT_NEAR(in_microseconds(*point.places[0]), 120, 1e-9);
  EXPECT_NEAR(in_microseconds(*point.places[1]), 100, 1e-9);
}

/// The all_reduce of both_places() in two tables, of which the second takes so many times as long.
Recording two_tables(double times) {
  Recording recording = both_places(100, 101);
  const std::vector<RecordedRow> first = recording.rows;
  for (RecordedRow row : first) {
    row.id = "again";
    row.time.value *= times;
    recording.rows.push_back(row);
  }
  return recording;
}

// By rings and by switches that add up, say: their mean is of neither.
TEST(Evidence, of_tables_far_apart_is_kept_apart) {
  const Topology topology = load_machine("hgx-h200").topology;
  const Evidence one = gather_evidence(two_tables(1.1), {}, topology);
  ASSERT_EQ(one.series.size(), 1U);
  EXPECT_EQ(one.series[0].points[0].rows, 4U);
  EXPECT_TRUE(one.notes.empty());
  for (const double times : {0.5, 1.2, 2.0}) {
    const Evidence two = gather_evidence(two_tables(times), {}, topology);
    ASSERT_EQ(two.series.size(), 2U) << times;
    EXPECT_NEAR(two.series[1].points[0].measured.value / two.series[0].points[0].measured.value,
                times, 1e-9);
    EXPECT_EQ(two.notes.size(), 1U);
  }
}

// A host that has but two NICs, which ours of four stands for with a variable that the run never
// set, is heeded as it is; what a run took of four is the asker's, and is ours of as many.
TEST(Evidence, heeds_nics_that_a_machine_stands_for_alone) {
  const Topology topology = load_machine("dgx-1-v100-x4").topology;
  const auto taken_away = [&](const std::string& environment) {
    const std::string text =
        "collsim: published-run/1\nsource: { where: here }\n"
        "machine: { gpu: V100 }\ntopology: dgx-1-v100-x4\n"
        "collective: all_reduce\nnodes: 2\nranks: 16\n" +
        environment +
        "simulated_environment: { NCCL_IB_HCA: \"mlx5_0,mlx5_2\" }\n"
        "rows:\n  - [1048576, 100, 100]\n";
    const Recording recording = read_recording(TextFile{"run.yaml", text});
    return gather_evidence(recording, {}, topology).taken_away.contains("NCCL_IB_HCA");
  };
  EXPECT_FALSE(taken_away(""));
  EXPECT_FALSE(taken_away("environment: { NCCL_IB_HCA: \"mlx5_2\" }\n"));
}

// A list of fewer NICs than a host has is what is expected, evenly chosen of ours, however hosts
// name theirs. What excludes some, what several names begin with, and as many as there are, is not.
TEST(Evidence, expects_the_nics_that_a_setting_chooses) {
  struct Choice {
    std::string machine;
    std::string value;
    std::string ours;
  };
  const std::vector<Choice> choices{
      {"dgx-a100-x4", "mlx5_0", "=mlx5_0"},
      {"dgx-a100-x4", "mlx5_0:1", "=mlx5_0"},
      {"dgx-a100-x4", "=mlx5_6,mlx5_7", "=mlx5_0,mlx5_4"},
      {"dgx-h100-x4", "mlx5_bond_1,mlx5_bond_2", "=mlx5_0,mlx5_4"},
      {"dgx-h100-x4", "mlx5_ib0:1,mlx5_ib1:1,mlx5_ib2:1,mlx5_ib3:1",
       "=mlx5_0,mlx5_2,mlx5_4,mlx5_6"},
      {"dgx-1-v100-x4", "MLX5_2", "=mlx5_0"},
      {"dgx-a100-x4", "ibp12s0,ibp75s0", "=mlx5_0,mlx5_4"},
      {"dgx-a100-x4", "^mlx5_0", ""},
      {"dgx-a100-x4", "mlx5", ""},
      {"dgx-a100-x4", "mlx5_0,mlx5_", ""},
      {"dgx-1-v100-x4", "mlx5_0,mlx5_1,mlx5_2,mlx5_3", ""},
      {"dgx-1-v100-x4", "mlx5_0,mlx5_1,mlx5_2,mlx5_3,mlx5_4", ""},
  };
  for (const Choice& choice : choices) {
    Recording recording = both_places(120, 100, 16, 2);
    for (RecordedRow& row : recording.rows) row.variables["NCCL_IB_HCA"] = choice.value;
    const Topology topology = load_machine(choice.machine).topology;
    const Evidence evidence = gather_evidence(recording, {}, topology);
    ASSERT_EQ(evidence.series.size(), 1U);
    const auto& variables = evidence.series[0].call.variables;
    EXPECT_EQ(evidence.taken_away.contains("NCCL_IB_HCA"), choice.ours.empty()) << choice.value;
    EXPECT_EQ(variables.contains("NCCL_IB_HCA") ? variables.at("NCCL_IB_HCA") : "", choice.ours)
        << choice.value;
    EXPECT_EQ(evidence.notes.size(), choice.ours.empty() ? 0 : 1) << choice.value;
  }
}

// A torn prefix made 17 hosts of 4 of eight GPUs: -t knows better.
TEST(PlacedOn, a_machine_corrects_hosts_that_it_cannot_have) {
  const Topology topology = load_machine("dgx-h100-x4").topology;
  const Recording placed = placed_on(both_places(120, 100, 32, 17), topology);
  EXPECT_EQ(placed.rows[0].nodes, 4U);
  ASSERT_EQ(placed.notes.size(), 1U);
  EXPECT_NE(placed.notes[0].find("names 17 hosts"), std::string::npos) << placed.notes[0];
  // Two of the hosts with four ranks each it can have.
  EXPECT_EQ(placed_on(both_places(120, 100, 8, 2), topology).rows[0].nodes, 2U);
}

TEST(Contradiction, is_of_gpus_that_the_machine_has_not) {
  const Topology topology = load_machine("dgx-h100-x4").topology;
  Recording recording = both_places(120, 100);
  EXPECT_TRUE(contradiction(recording, topology).empty());
  recording.machine["gpu"] = "NVIDIA H100 80GB HBM3";
  EXPECT_TRUE(contradiction(recording, topology).empty());
  recording.machine["gpu"] = "NVIDIA A100-SXM4-80GB";
  EXPECT_EQ(
      contradiction(recording, topology),
      "recorded on NVIDIA A100-SXM4-80GB, and '4 x DGX H100, NDR fat-tree, rail optimised' has "
      "GPUs H100");
}

}  // namespace
}  // namespace collsim
