// Published runs, by a file written here and by all that are shipped.

#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <string>

#include "models/recordings/recording.h"
#include "sim/base/data_directory.h"
#include "sim/base/input_error.h"
#include "sim/topologies/loader.h"

namespace collsim {
namespace {

const std::string head =
    "collsim: published-run/1\n"
    "source: { where: a page, url: \"https://example.org/\", date: \"2024-05\" }\n"
    "machine: { gpu: A100, gpus_per_node: 8, nccl: \"2.8.4\" }\n";
const std::string run_text =
    "nccl_rules: \"2.18\"\n"
    "collective: all_gather\n"
    "nodes: 2\n"
    "ranks: 16\n"
    "gpus_per_process: 8\n"
    "iterations: 50\n"
    "environment: { NCCL_ALGO: Ring, NCCL_IB_HCA: mlx5_0, FI_PROVIDER: efa, NCCL_DEBUG: INFO }\n"
    "simulated_environment: { NCCL_IB_HCA: none, NCCL_PROTO: LL }\n"
    "rows:\n";

Recording read(const std::string& text) {
  return read_recording(TextFile{"folder/some-run.yaml", text});
}

TEST(PublishedRun, rows_have_what_the_file_says) {
  std::string text = head;
  text += "topology: dgx-a100-x4\n";
  text += run_text;
  text += "  - [1024, 12.5, none]\n  - [4096, 20, 21]\n";
  const Recording recording = read(text);
  EXPECT_EQ(recording.topology, "dgx-a100-x4");
  EXPECT_EQ(recording.left_out, "");
  EXPECT_EQ(recording.nccl_rules, parse_nccl_version("2.18"));
  EXPECT_EQ(recording.machine.at("source"), "a page");
  EXPECT_EQ(recording.machine.at("url"), "https://example.org/");
  EXPECT_EQ(recording.machine.at("nccl"), "2.8.4");
  ASSERT_EQ(recording.rows.size(), 3U);  // one place of the first size, two of the second
  const RecordedRow& row = recording.rows[0];
  EXPECT_EQ(row.id, "some-run");
  EXPECT_EQ(row.collective, Collective::all_gather);
  EXPECT_EQ(row.nodes, 2U);
  EXPECT_EQ(row.ranks, 16U);
  EXPECT_EQ(row.gpus_per_process, 8U);
  EXPECT_EQ(row.iterations, 50U);
  EXPECT_EQ(row.size, Bytes{1024});
  EXPECT_DOUBLE_EQ(row.time.value, 12.5e-6);
  EXPECT_FALSE(row.in_place);
  EXPECT_TRUE(recording.rows[2].in_place);
  // What is not NCCL's or is for logs does not count; what stands for it in a simulation does.
  EXPECT_EQ(row.variables,
            (std::map<std::string, std::string>{{"NCCL_ALGO", "Ring"}, {"NCCL_PROTO", "LL"}}));
}

TEST(PublishedRun, says_what_is_wrong) {
  const std::string machine = "topology: dgx-a100-x4\n";
  const std::string reason = "left_out: why\n";
  const std::string row = "  - [8, 1, 1]\n";
  const auto file = [](std::initializer_list<std::string_view> parts) {
    std::string text;
    for (const std::string_view part : parts) text += part;
    return text;
  };
  EXPECT_NO_THROW(read(file({head, machine, run_text, row})));
  for (const std::string& text :
       {file({head, run_text, row}),                            // no machine, and no reason
        file({head, reason, machine, run_text, row}),           // a machine and a reason
        file({head, machine, run_text, "  - [8, 1]\n"}),        // a field too few
        file({head, machine, run_text, "  - [8, 1, 1, 1]\n"}),  // a field too many
        file({head, machine, run_text, "  - [0, 1, 1]\n"}),     // no bytes
        file({head, machine, run_text, "  - [8, 0, 1]\n"}),     // no time
        file({head, machine, run_text, "  - [8, fast, 1]\n"}),  // not a time
        file({head, "speed: 1\n", machine, run_text, row}),     // a key that is none
        file({"collsim: published-run/1\n", machine, run_text, row})}) {  // no source
    EXPECT_THROW(read(text), InputError) << text;
  }
}

TEST(PublishedRun, every_shipped_one_has_a_source_and_a_machine_or_a_reason) {
  std::size_t files = 0;
  std::set<std::string> topologies;
  for (const auto& entry :
       std::filesystem::directory_iterator(data_directory() / "recordings/published")) {
    if (entry.path().extension() != ".yaml") continue;
    SCOPED_TRACE(entry.path());
    ++files;
    const Recording recording = read_recording(entry.path());
    EXPECT_FALSE(recording.rows.empty());
    EXPECT_FALSE(recording.machine.at("source").empty());
    EXPECT_FALSE(recording.machine.at("gpu").empty());
    EXPECT_NE(recording.topology.empty(), recording.left_out.empty());
    if (recording.topology.empty()) continue;
    topologies.insert(recording.topology);
    const RecordedRow& row = recording.rows.front();
    const Topology topology = load_topology(find_data_file(recording.topology, "topologies"));
    EXPECT_LE(row.nodes, topology.node_count());
    EXPECT_LE(row.ranks, topology.gpus().size());
    EXPECT_EQ(row.ranks % row.nodes, 0U);
  }
  EXPECT_EQ(files, 177U);
  EXPECT_GE(topologies.size(), 25U);
}

}  // namespace
}  // namespace collsim
