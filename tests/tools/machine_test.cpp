// Machines that are no shipped file: composed, imported, or a person's own YAML.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/base/text_file.h"
#include "tests/support/temporary_file.h"
#include "tests/tools/command_outcome.h"
#include "tools/collsim/core/subcommand.h"

namespace collsim::command {
namespace {

const std::string source = COLLSIM_SOURCE_DIR;

/// The first value under this key, however deep.
double value_of(const nlohmann::json& document, const std::string& key) {
  for (const auto& [name, value] : document.items()) {
    if (document.is_object() && name == key) return value.get<double>();
    const double found = value.is_structured() ? value_of(value, key) : 0;
    if (found != 0) return found;
  }
  return 0;
}

/// The time that `run` says of one size.
double time_us(const std::string& machine, const std::string& size) {
  const Outcome outcome = run({"run", "-t", machine, "-b", size, "-e", size, "--format", "json"});
  EXPECT_EQ(outcome.status, exit_ok) << outcome.err;
  const double time = value_of(nlohmann::json::parse(outcome.out), "time_us");
  EXPECT_GT(time, 0);
  return time;
}

TEST(Machines, ComposedOnesAreAsFastAsShippedOnes) {
  // topologies/dgx-h100-x4.yaml: these nodes on this fabric.
  const test::TemporaryFile file(
      "composed.yaml",
      run({"topo", "compose", "dgx-h100", "--nodes", "4", "--fabric", "ndr-rail-optimised"}).out);
  EXPECT_EQ(time_us(file.path().string(), "1G"), time_us("dgx-h100-x4", "1G"));
}

// topologies/dgx-h100-x4.yaml has four of these nodes, and no file has three.
TEST(Machines, HaveAsManyNodesAsAreAskedFor) {
  const double four = time_us("dgx-h100-x4", "1G");
  const auto with = [](std::vector<std::string> more) {
    more.insert(more.begin(), {"run", "-b", "1G", "-e", "1G", "--format", "json"});
    const Outcome outcome = run(more);
    EXPECT_EQ(outcome.status, exit_ok) << outcome.err;
    return value_of(nlohmann::json::parse(outcome.out), "time_us");
  };
  EXPECT_EQ(with({"dgx-h100", "--nodes", "4"}), four);
  const double three = with({"dgx-h100-x3"});
  EXPECT_EQ(with({"dgx-h100-x4", "--nodes", "3"}), three);
  EXPECT_EQ(with({"dgx-h100", "--nodes", "3", "--fabric", "ndr-rail-optimised"}), three);
  EXPECT_NE(three, four);
  const test::TemporaryFile scenario("three.yaml",
                                     "collsim: scenario/1\nname: three\ntopology: dgx-h100-x3\n"
                                     "collective: all_reduce\nruns: [{ schedule: nccl }]\n");
  EXPECT_EQ(with({scenario.path().string()}), three);
}

// A3 Ultra is no node template of its own: its clusters have nodes of dgx-h200.
TEST(Machines, OfAnotherSizeHaveTheNodesOfTheShippedOne) {
  const double four = time_us("gcp-a3-ultra-x4", "1G");
  const double two = time_us("gcp-a3-ultra-x2", "1G");
  EXPECT_LT(two, four);
  EXPECT_GT(two, four / 2);
}

TEST(Machines, ThatAreComposedSayOfWhat) {
  EXPECT_NE(run({"estimate", "dgx-h100-x3", "-b", "1M", "-e", "1M"})
                .err.find("dgx-h100-x3 is composed of 3 nodes, network of dgx-h100-x4"),
            std::string::npos);
  // No shipped cluster has nodes of HGX H200, so that no network is likelier than others.
  const Outcome alone = run({"run", "hgx-h200-x2", "-b", "1M", "-e", "1M"});
  EXPECT_EQ(alone.status, exit_bad_input);
  EXPECT_NE(alone.err.find("no network between them; --fabric NAME"), std::string::npos)
      << alone.err;
  // dgx-h200 is a node template that no topology has alone.
  const Outcome two =
      run({"run", "dgx-h200", "--nodes", "2", "--fabric", "ndr-fat-tree", "-b", "1M", "-e", "1M"});
  EXPECT_EQ(two.status, exit_ok) << two.err;
}

TEST(Machines, WrittenOnesNameTheirCalibration) {
  const Outcome composed = run({"topo", "compose", "pcie-8"});
  EXPECT_NE(composed.out.find("\ncalibration: pcie\n"), std::string::npos) << composed.out;
  EXPECT_EQ(composed.err, "");
  // Recorded on the host that hgx-h200 describes.
  const Outcome imported = run({"topo", "import", source + "/recordings/nccl/h200x8-topo.xml"});
  EXPECT_NE(imported.out.find("\ncalibration: hgx-h200\n"), std::string::npos) << imported.out;
  const Outcome h100 =
      run({"topo", "import", source + "/tests/data/nccl-golden/topologies/dgxh100.xml"});
  EXPECT_NE(h100.out.find("\ncalibration: h100\n"), std::string::npos) << h100.out;
}

TEST(Machines, NcclDumpsAreMachinesForRunToo) {
  const std::string dump = source + "/tests/data/nccl-golden/topologies/dgxh100.xml";
  const test::TemporaryFile file("imported.yaml", run({"topo", "import", dump}).out);
  EXPECT_EQ(time_us(dump, "64M"), time_us(file.path().string(), "64M"));
  EXPECT_EQ(run({"estimate", "-t", dump, "-b", "1M", "-e", "1M"}).status, exit_ok);
  EXPECT_EQ(run({"topo", "show", dump}).status, exit_ok);
  const Outcome graph =
      run({"run", "-t", source + "/recordings/nccl/h200x8-graph.xml", "-b", "8", "-e", "8"});
  EXPECT_EQ(graph.status, exit_bad_input);
  EXPECT_NE(graph.err.find("NCCL_TOPO_DUMP_FILE"), std::string::npos) << graph.err;
}

TEST(Machines, WhateverCanBeImportedIsAMachine) {
  const std::string matrices = source + "/tests/data/nvidia-smi/";
  // The text says which GPUs these are.
  const std::string named = matrices + "h100-nvl-4-p2p.txt";
  const test::TemporaryFile file("imported.yaml", run({"topo", "import", named}).out);
  EXPECT_EQ(time_us(named, "64M"), time_us(file.path().string(), "64M"));
  EXPECT_EQ(run({"topo", "check", named}).status, exit_ok);
  EXPECT_EQ(run({"plan", named, "--bytes", "1GB", "--nodes", "1"}).status, exit_ok);
  // Where it does not, the message says how to.
  const Outcome outcome = run({"run", "-t", matrices + "v100-4-nv1nv2.txt", "-b", "1M"});
  EXPECT_EQ(outcome.status, exit_bad_input);
  EXPECT_NE(outcome.err.find("`collsim topo import FILE --gpu NAME`"), std::string::npos)
      << outcome.err;
}

/// Node 0 has 8 GPUs on 8 NICs, node 1 as many or the first half of them.
std::string two_nodes(bool equal) {
  const std::string half =
      "  - devices:\n"
      "      - { id: \"gpu[0..3]\", kind: gpu, model: H100 }\n"
      "      - { id: nvswitch0, kind: nvswitch, multicast: true }\n"
      "      - { id: \"pcie[0..3]\", kind: pcie_switch }\n"
      "      - { id: \"nic[0..3]\", kind: nic, model: ConnectX-7, rate: 400 Gb/s }\n"
      "      - { id: cpu0, kind: cpu, model: Xeon Sapphire Rapids }\n"
      "    links:\n"
      "      - { from: \"gpu[0..3]\", to: nvswitch0, kind: nvlink, count: 18, bandwidth: 26.56 "
      "GB/s }\n"
      "      - { from: \"gpu[0..3]\", to: \"pcie[0..3]\", kind: pcie, bandwidth: 63 GB/s }\n"
      "      - { from: \"nic[0..3]\", to: \"pcie[0..3]\", kind: pcie, bandwidth: 63 GB/s }\n"
      "      - { from: \"pcie[0..3]\", to: cpu0, kind: pcie, bandwidth: 63 GB/s }\n";
  std::string text =
      "collsim: topology/1\nname: two\ncalibration: h100\nnodes:\n  - { template: dgx-h100 }\n";
  text += equal ? "  - { template: dgx-h100 }\n" : half;
  text += "fabric: { kind: single_switch, link: { bandwidth: 50 GB/s, latency: 1 us } }\n";
  return text;
}

// GPUs 0 and 1 of each have NVLinks, a NIC each on their switches and nothing else that NCCL would
// use, whatever else their nodes have.
TEST(Machines, NodesOfUnlikeSizeRunNcclWithAsManyRanksOnEach) {
  const test::TemporaryFile unlike("unlike.yaml", two_nodes(false));
  const test::TemporaryFile alike("alike.yaml", two_nodes(true));
  const auto time_on = [](const test::TemporaryFile& file, const std::vector<std::string>& which) {
    std::vector<std::string> call{"run", "-t",  file.path().string(), "-b",  "64M",
                                  "-e",  "64M", "--format",           "json"};
    call.insert(call.end(), which.begin(), which.end());
    const Outcome outcome = run(call);
    EXPECT_EQ(outcome.status, exit_ok) << outcome.err;
    return value_of(nlohmann::json::parse(outcome.out), "time_us");
  };
  const double time = time_on(alike, {"--ranks-per-node", "2"});
  EXPECT_NEAR(time_on(unlike, {"--ranks-per-node", "2"}), time, 1e-6 * time);
  EXPECT_NEAR(time_on(unlike, {"--rank-list", "0,1,8,9"}), time, 1e-6 * time);
  EXPECT_GT(time_on(unlike, {"--rank-list", "0,1,2,3,4,5,6,7,8,9,10,11"}), 0);
}

constexpr const char* without_model =
    "collsim: topology/1\nname: two\nnodes:\n  devices:\n    - { id: \"gpu[0..1]\", kind: gpu }\n"
    "  links:\n    - { from: gpu0, to: gpu1, kind: nvlink, bandwidth: 100 GB/s }\n";

TEST(Machines, EveryPredictionByTheDefaultCalibrationWarns) {
  const test::TemporaryFile file("two.yaml", without_model);
  const std::string machine = file.path().string();
  const std::vector<std::vector<std::string>> calls{
      {"run", "-t", machine, "-b", "1M", "-e", "1M"},
      {"run", "-t", machine, "-b", "1M", "-e", "1M", "-a", "ring", "--schedule", "textbook"},
      {"estimate", "-t", machine, "-b", "1M", "-e", "1M"},
      {"explain", "-t", machine, "-b", "1M"},
      {"faults", "-t", machine, "-b", "1M"},
      {"crossover", "-t", machine}};
  for (const auto& call : calls) {
    const Outcome outcome = run(call);
    EXPECT_EQ(outcome.status, exit_ok) << call.front() << outcome.err;
    EXPECT_NE(outcome.err.find("calibration 'default'"), std::string::npos) << call.front();
  }
  EXPECT_EQ(run({"run", "-t", "dgx-h100", "-b", "1M", "-e", "1M"}).err.find("default"),
            std::string::npos);
}

/// What `topo check` says of a topology.
std::string complaint(const std::string& text) {
  const test::TemporaryFile file("broken.yaml", text);
  const Outcome outcome = run({"topo", "check", file.path().string()});
  EXPECT_EQ(outcome.status, exit_bad_input);
  EXPECT_TRUE(outcome.err.starts_with(file.path().string() + ":")) << outcome.err;
  return outcome.err.substr(file.path().string().size() + 1);
}

TEST(Machines, CheckRefusesCalibrationsAndGpusThatDoNotExist) {
  const std::string nodes = "nodes: { template: dgx-h100 }\n";
  EXPECT_TRUE(complaint("collsim: topology/1\nname: x\ncalibration: dgx-9000\n" + nodes)
                  .starts_with("3:14: there is no calibration 'dgx-9000'; one of a100, "));
  EXPECT_TRUE(complaint("collsim: topology/1\nname: x\nnodes:\n  devices:\n"
                        "    - { id: gpu0, kind: gpu, model: H1000 }\n")
                  .starts_with("5:37: no GPU 'H1000' is known; a name with one of GB300, "));
}

std::string readme_example() {
  const std::string readme = read_text_file(source + "/README.md", "a page").content;
  const std::string fence = "```yaml\n";
  const std::size_t begin = readme.find(fence) + fence.size();
  return readme.substr(begin, readme.find("```\n", begin) - begin);
}

TEST(Machines, TheReadmesExampleWorksInAnyFolder) {
  const test::TemporaryFile file("my-cluster.yaml", readme_example());
  const std::string name = file.path().string();
  const Outcome checked = run({"topo", "check", name});
  EXPECT_EQ(checked.status, exit_ok) << checked.err;
  EXPECT_NE(checked.out.find("32 GPUs on 4 nodes"), std::string::npos) << checked.out;
  // The same four nodes on the same fabric.
  EXPECT_EQ(time_us(name, "1G"), time_us("dgx-h100-x4", "1G"));
}

TEST(Machines, TemplatesBesideTheFileComeBeforeShippedOnes) {
  const auto folder = std::filesystem::path(testing::TempDir()) / "machine-test-templates";
  std::filesystem::create_directories(folder / "nodes");
  std::ofstream(folder / "nodes/dgx-h100.yaml")
      << "collsim: node/1\ndevices:\n  - { id: gpu0, kind: gpu, model: H100 }\n";
  std::ofstream(folder / "nodes/mine.yaml") << "collsim: node/1\nextends: dgx-a100\n";
  std::ofstream(folder / "own.yaml")
      << "collsim: topology/1\nname: own\nnodes: { template: dgx-h100 }\n";
  std::ofstream(folder / "extended.yaml")
      << "collsim: topology/1\nname: own\nnodes: { template: mine, count: 2 }\n"
         "fabric: { template: hdr-fat-tree }\n";
  EXPECT_NE(run({"topo", "check", folder / "own.yaml"}).out.find("1 GPU on 1 node"),
            std::string::npos);
  EXPECT_NE(run({"topo", "check", folder / "extended.yaml"}).out.find("16 GPUs on 2 nodes"),
            std::string::npos);
  std::filesystem::remove_all(folder);
}

TEST(Machines, GpuNamesAreReadInAnyCase) {
  const std::string matrix = source + "/tests/data/nvidia-smi/hgx-h200.txt";
  const Outcome small = run({"topo", "import", matrix, "--gpu", "h200"});
  EXPECT_EQ(small.status, exit_ok) << small.err;
  EXPECT_EQ(small.out, run({"topo", "import", matrix, "--gpu", "H200"}).out);
}

}  // namespace
}  // namespace collsim::command
