#include "models/scenario/scenario.h"

#include <gtest/gtest.h>

#include "tests/support/error_of.h"
#include "tests/support/temporary_file.h"

namespace collsim {
namespace {

using test::TemporaryFile;

std::string error_of(const std::string& text) {
  const TemporaryFile file("scenario.yaml", text);
  const std::string error = test::error_of([&] { return load_scenario(file.path()); });
  return error.empty() ? error : error.substr(error.find("scenario.yaml"));
}

TEST(Scenario, leaves_open_what_a_run_does_not_say) {
  const TemporaryFile file("scenario.yaml", R"(collsim: scenario/1
name: small
topology: switch-8
runs:
  - { algorithm: ring }
)");
  const Scenario scenario = load_scenario(file.path());
  EXPECT_EQ(scenario.topology.filename(), "switch-8.yaml");
  EXPECT_EQ(scenario.collective, Collective::all_reduce);
  EXPECT_FALSE(scenario.ranks);
  ASSERT_EQ(scenario.runs.size(), 1U);
  EXPECT_FALSE(scenario.runs[0].channels);
  EXPECT_FALSE(scenario.runs[0].chunking);
  EXPECT_FALSE(scenario.runs[0].schedule);
  EXPECT_FALSE(scenario.runs[0].protocol);
  EXPECT_FALSE(scenario.ranks_per_node);
}

// Keys that only one schedule has say which one is meant.
TEST(Scenario, knows_the_schedule_by_its_keys) {
  const TemporaryFile file("scenario.yaml", R"(collsim: scenario/1
name: keys
topology: hgx-h200
ranks_per_node: 4
runs:
  - { algorithm: ring, channels: 4 }
  - { env: { NCCL_PROTO: LL } }
  - { protocol: ll }
)");
  const Scenario scenario = load_scenario(file.path());
  EXPECT_EQ(scenario.ranks_per_node, 4U);
  ASSERT_EQ(scenario.runs.size(), 3U);
  EXPECT_EQ(scenario.runs[0].schedule, ScheduleKind::textbook);
  EXPECT_EQ(scenario.runs[1].schedule, ScheduleKind::nccl);
  EXPECT_FALSE(scenario.runs[2].schedule);
  EXPECT_EQ(scenario.runs[2].protocol, Protocol::ll);
}

TEST(Scenario, reads_every_key_of_a_run) {
  const TemporaryFile file("scenario.yaml", R"(collsim: scenario/1
name: full
topology: hgx-h200
collective: all_reduce
ranks: 4
sizes: { from: 1 KiB, to: 1 MiB, factor: 4 }
calibration: ideal
runs:
  - algorithm: hierarchical:tree
    protocol: ll128
    channels: 16
    largest_chunk: 512 KiB
    slices: 2
    smallest_slice: 32 KiB
    credits: 4
    smallest_channel_share: 64 KiB
    measured: { file: h200.csv, id: Ring-Simple-8 }
)");
  // It only has to exist: rows are read when it is run.
  const TemporaryFile recording(file.path().parent_path() / "h200.csv", "id\n");
  const Scenario scenario = load_scenario(file.path());
  EXPECT_EQ(scenario.ranks, 4U);
  EXPECT_EQ(scenario.sizes.from, Bytes{1024});
  EXPECT_EQ(scenario.sizes.factor, 4);
  const RunSpec& run = scenario.runs.at(0);
  EXPECT_EQ(run.algorithm, "hierarchical:tree");
  EXPECT_EQ(run.protocol, Protocol::ll128);
  EXPECT_EQ(run.channels, 16U);
  const Chunking chunking{.largest_chunk = {512 << 10},
                          .slices = 2,
                          .smallest_slice = {32 << 10},
                          .credits = 4,
                          .smallest_channel_share = {64 << 10}};
  EXPECT_EQ(run.chunking, chunking);
  EXPECT_EQ(run.measured.value().id, "Ring-Simple-8");
}

TEST(Scenario, reads_runs_under_nccls_rules) {
  const TemporaryFile file("scenario.yaml", R"(collsim: scenario/1
name: nccl
topology: hgx-h200
runs:
  - { schedule: nccl, algorithm: tree, nccl_version: "2.21", env: { NCCL_PROTO: LL } }
  - { schedule: nccl }
  - { in_place: true, graph: true }
)");
  const Scenario scenario = load_scenario(file.path());
  ASSERT_EQ(scenario.runs.size(), 3U);
  EXPECT_EQ(scenario.runs[0].schedule, ScheduleKind::nccl);
  EXPECT_EQ(scenario.runs[0].algorithm, "tree");
  EXPECT_EQ(to_string(scenario.runs[0].nccl_version), "2.21");
  EXPECT_EQ(scenario.runs[0].variables.at("NCCL_PROTO"), "LL");
  EXPECT_EQ(scenario.runs[1].algorithm, "auto");
  EXPECT_EQ(to_string(scenario.runs[1].nccl_version), "2.30");
  EXPECT_FALSE(scenario.runs[1].in_place);
  EXPECT_FALSE(scenario.runs[1].graph);
  EXPECT_TRUE(scenario.runs[2].graph);
  EXPECT_EQ(scenario.runs[2].schedule, ScheduleKind::nccl);
  EXPECT_TRUE(scenario.runs[2].in_place);
}

TEST(Scenario, names_the_place_of_what_is_wrong) {
  const std::string head = "collsim: scenario/1\nname: x\ntopology: switch-8\n";
  EXPECT_EQ(
      error_of(head + "runs: []\n"),
      "scenario.yaml:4:7: the scenario has no runs; at least one run, such as { algorithm: ring }");
  EXPECT_TRUE(error_of(head + "runs:\n  - { algorithm: rign }\n")
                  .starts_with("scenario.yaml:5:18: unknown algorithm 'rign'; "));
  EXPECT_TRUE(error_of(head + "collective: all_redcue\nruns: [{ algorithm: ring }]\n")
                  .starts_with("scenario.yaml:4:13: unknown collective 'all_redcue'; did you mean "
                               "'all_reduce'? All are all_reduce, all_gather"));
  EXPECT_TRUE(error_of(head + "runs: [{ algorithm: ring, chanels: 3 }]\n")
                  .starts_with("scenario.yaml:4:27: "));
  EXPECT_TRUE(error_of(head + "runs: [{ algorithm: ring, protocol: LL }]\n")
                  .starts_with("scenario.yaml:4:37: unknown protocol 'LL'; ll, ll128 or simple"));
  EXPECT_TRUE(error_of(head + "runs: [{ schedule: ncl }]\n")
                  .starts_with("scenario.yaml:4:20: unknown schedule 'ncl'; textbook or nccl"));
  EXPECT_TRUE(error_of(head + "runs: [{ schedule: nccl, channels: 3 }]\n")
                  .starts_with("scenario.yaml:4:26: "));
  EXPECT_TRUE(error_of(head + "runs: [{ schedule: textbook, in_place: true }]\n")
                  .starts_with("scenario.yaml:4:30: "));
  EXPECT_TRUE(error_of(head + "runs: [{ schedule: nccl, nccl_version: \"2.3\" }]\n")
                  .starts_with("scenario.yaml:4:40: "));
  EXPECT_TRUE(
      error_of(head + "runs: [{ schedule: nccl, algorithm: nvsl }]\n")
          .starts_with("scenario.yaml:4:37: NCCL algorithm 'nvsl'; auto, ring, tree, nvls"));
  EXPECT_TRUE(error_of(head + "sizes: { from: 2 MiB, to: 1 MiB }\nruns: [{ algorithm: ring }]\n")
                  .starts_with("scenario.yaml:4:8: sizes from 2 MiB to 1 MiB"));
  EXPECT_TRUE(error_of(head + "sizes: { from: 8 }\nruns: [{ algorithm: ring }]\n")
                  .starts_with("scenario.yaml:4:16: "));
  EXPECT_TRUE(error_of("collsim: scenario/1\nname: x\ntopology: nowhere.yaml\nruns: []\n")
                  .starts_with("scenario.yaml:3:11: "));
}

// nccl-tests cuts sizes down to whole elements: 10 is 8 bytes, 20 stays.
TEST(Sizes, are_whole_elements) {
  const auto sizes = expand({Bytes{10}, Bytes{50}, 2}, Bytes{4});
  EXPECT_EQ(sizes, (std::vector<Bytes>{{8}, {20}, {40}}));
}

TEST(Sizes, from_zero_is_zero_alone) {
  EXPECT_EQ(expand({Bytes{0}, Bytes{64}, 2}, Bytes{4}), std::vector<Bytes>{Bytes{0}});
}

TEST(Sizes, from_8_to_1_gib_are_28) {
  EXPECT_EQ(expand(Sizes{}, Bytes{4}).size(), 28U);
}

}  // namespace
}  // namespace collsim
