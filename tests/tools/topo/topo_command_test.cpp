#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/base/input_error.h"
#include "tests/support/temporary_file.h"
#include "tests/tools/command_outcome.h"
#include "tools/collsim/core/subcommand.h"

namespace collsim::command {
namespace {

const std::string source = COLLSIM_SOURCE_DIR;

Outcome topo(const std::vector<std::string>& args) {
  return run(topo_subcommand.run, args);
}

TEST(TopoCommand, CheckSaysWhatEachFileIs) {
  const std::string small = source + "/topologies/switch-8.yaml";
  const std::string box = source + "/topologies/hgx-h200.yaml";
  const Outcome outcome = topo({"check", small, box});
  EXPECT_EQ(outcome.status, exit_ok);
  EXPECT_EQ(outcome.err, "");
  // switch-8: 8 GPUs and a switch. hgx-h200: 8 GPUs, a switch and 2 CPUs; 8 NVLink trunks, 8 PCIe
  // links and one between the sockets.
  EXPECT_EQ(outcome.out, small + ": ok, 8 GPUs on 8 nodes, 9 devices, 8 links\n" + box +
                             ": ok, 8 GPUs on 1 node, 11 devices, 17 links\n");
}

TEST(TopoCommand, CheckWarnsOfOddLinks) {
  const test::TemporaryFile file(
      "odd.yaml",
      "collsim: topology/1\nname: odd\nnodes:\n  devices:\n"
      "    - { id: \"gpu[0..3]\", kind: gpu, model: H100 }\n    - { id: nvswitch0, kind: nvswitch "
      "}\n"
      "    - { id: cpu0, kind: cpu }\n  links:\n"
      "    - { from: \"gpu[0..2]\", to: nvswitch0, kind: nvlink, count: 18, bandwidth: 26 GB/s }\n"
      "    - { from: \"gpu[0..2]\", to: cpu0, kind: pcie, bandwidth: 63 GB/s }\n"
      "    - { from: gpu3, to: cpu0, kind: pcie, bandwidth: 4 GB/s }\n");
  const std::string name = file.path().string();
  const Outcome outcome = topo({"check", name});
  EXPECT_EQ(outcome.status, exit_ok);
  EXPECT_EQ(outcome.err, "collsim: warning: " + name +
                             ": gpu3 has no NVLink, the other 3 have 18.\n" +
                             "collsim: warning: " + name +
                             ": gpu3 has PCIe of 4.0 GB/s, 3 others of their kind have 63.0.\n");
}

TEST(TopoCommand, CheckGoesOnAfterABrokenFile) {
  const std::string broken = source + "/tests/cases/bad_topologies/no_gpu.yaml";
  const std::string fine = source + "/topologies/switch-8.yaml";
  const Outcome outcome = topo({"check", broken, fine});
  EXPECT_EQ(outcome.status, exit_bad_input);
  EXPECT_EQ(outcome.err, broken +
                             ":4:3: this node has no GPU; a node needs at least one device of "
                             "kind gpu\n");
  EXPECT_EQ(outcome.out, fine + ": ok, 8 GPUs on 8 nodes, 9 devices, 8 links\n");
}

TEST(TopoCommand, ShowDrawsLinksAndBandwidths) {
  const Outcome outcome = topo({"show", source + "/topologies/a100-mesh-4.yaml"});
  EXPECT_EQ(outcome.status, exit_ok);
  EXPECT_NE(outcome.out.find("  gpu0         - gpu[1..3]    nvlink        4 x 25 GB/s  0 s\n"),
            std::string::npos)
      << outcome.out;
  // Four links of 25 GB/s between every two GPUs.
  EXPECT_NE(outcome.out.find("  gpu2      100    100      -    100\n"), std::string::npos)
      << outcome.out;
}

TEST(TopoCommand, ShowDrawsEqualNodesOnceAndCountsTheFabric) {
  const Outcome outcome = topo({"show", source + "/topologies/dgx-h100-x64.yaml"});
  EXPECT_NE(outcome.out.find("node0, and 63 more with the same wiring\n"), std::string::npos);
  EXPECT_EQ(outcome.out.find("node1\n"), std::string::npos);
  // Two groups of 32 nodes with eight rails each; 16 leaves x 32 uplinks on spines of 64 ports.
  EXPECT_NE(outcome.out.find("      16 x leaf\n       8 x spine\n"), std::string::npos)
      << outcome.out;
  EXPECT_NE(outcome.out.find("     128 x leaf - spine  4 x 50 GB/s  600 ns\n"), std::string::npos)
      << outcome.out;
}

TEST(TopoCommand, ShowDrawsPcieAsATree) {
  // Four switches a socket, each with a GPU and a NIC.
  const Outcome outcome = topo({"show", source + "/topologies/dgx-h100.yaml"});
  EXPECT_NE(outcome.out.find("  cpu1\n"
                             "  `- pcie[4..7]          63 GB/s\n"
                             "     |- gpu[4..7]        63 GB/s\n"
                             "     `- nic[4..7]        63 GB/s\n"),
            std::string::npos)
      << outcome.out;
}

TEST(TopoCommand, MatrixIsDataToo) {
  const std::string file = source + "/topologies/rtx3090-2-bridged.yaml";
  // Four links of 14.06 GB/s.
  EXPECT_EQ(topo({"show", file, "--pairs", "--format", "csv"}).out,
            "from,gpu0,gpu1\ngpu0,0,56.24\ngpu1,56.24,0\n");
  const auto document =
      nlohmann::json::parse(topo({"show", file, "--pairs", "--format", "json"}).out);
  EXPECT_EQ(document["gpus"], (std::vector<std::string>{"gpu0", "gpu1"}));
  EXPECT_DOUBLE_EQ(document["bandwidth_GBps"][0][1].get<double>(), 56.24);
  EXPECT_NE(topo({"show", file, "--pairs"}).out.find("  gpu1    56.24      -\n"),
            std::string::npos);
}

TEST(TopoCommand, MatrixOfSeveralNodesNamesThem) {
  const std::string file = source + "/topologies/switch-8.yaml";
  EXPECT_TRUE(topo({"show", file, "--pairs", "--format", "csv"})
                  .out.starts_with("from,node0/gpu0,node1/gpu0,"));
  EXPECT_THROW(topo({"show", source + "/topologies/dgx-h100-x2048.yaml", "--pairs"}), InputError);
}

TEST(TopoCommand, DotHasEveryDeviceAndLink) {
  const std::string file = source + "/topologies/hgx-h200.yaml";
  const std::string dot = topo({"show", file, "--format", "dot"}).out;
  const auto count = [&](const std::string& part) {
    std::size_t found = 0;
    for (auto at = dot.find(part); at != std::string::npos; at = dot.find(part, at + 1)) ++found;
    return found;
  };
  EXPECT_EQ(count("fillcolor="), 11U);
  EXPECT_EQ(count(" -- "), 17U);
  EXPECT_EQ(count("18 x 26.56 GB/s"), 8U);
  EXPECT_THROW(topo({"show", source + "/topologies/dgx-h100-x2048.yaml", "--format", "dot"}),
               InputError);
}

TEST(TopoCommand, SvgIsLaidOut) {
  const std::string svg =
      topo({"show", source + "/topologies/hgx-h200.yaml", "--format", "svg"}).out;
  EXPECT_NE(svg.find("<svg "), std::string::npos);
  EXPECT_NE(svg.find("</svg>"), std::string::npos);
  for (const char* name : {"gpu0", "gpu7", "nvswitch0", "cpu1"}) {
    EXPECT_NE(svg.find(name), std::string::npos) << name;
  }
}

TEST(TopoCommand, ImportMultipliesOneMachine) {
  const std::string dump = source + "/recordings/nccl/h200x8-topo.xml";
  const Outcome outcome = topo(
      {"import", dump, "--nodes", "4", "--fabric", source + "/topologies/fabrics/ndr-rails.yaml"});
  const test::TemporaryFile file("imported.yaml", outcome.out);
  // Four nodes of 8 GPUs, an NVSwitch, a NIC and a CPU; one rail. 8 + 8 + 1 links a node, and its
  // cable.
  EXPECT_EQ(topo({"check", file.path().string()}).out,
            file.path().string() + ": ok, 32 GPUs on 4 nodes, 45 devices, 72 links\n");
  EXPECT_THROW(topo({"import", dump, "--nodes", "4"}), InputError);
  EXPECT_THROW(topo({"import", dump, "--gpu", "abacus"}), InputError);
}

TEST(TopoCommand, ImportWritesAFile) {
  const test::TemporaryFile file("imported.yaml", "");
  const Outcome outcome = topo({"import", source + "/tests/data/nvidia-smi/hgx-h200.txt", "--gpu",
                                "H200", "-o", file.path().string()});
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(topo({"check", file.path().string()}).status, exit_ok);
  EXPECT_THROW(topo({"import", source + "/recordings/nccl/h200x8-topo.xml", "-o", "/nowhere/x"}),
               InputError);
}

TEST(TopoCommand, ImportTakesFilesOfPciClassesWithTheModelOfTheGpus) {
  // Eight A100 with 12 NVLinks to one NVSwitch, four PCIe switches, eight NICs, four CPUs: 25
  // devices. Links: 8 trunks of NVLink, 8 GPUs, 8 NICs and 4 switches on PCIe, 6 pairs of CPUs.
  const std::string file = source + "/tests/data/cut-down/azure-nd-a100-v4.xml";
  const Outcome outcome = topo({"import", file, "--gpu", "A100"});
  EXPECT_NE(outcome.out.find("12 for each GPU, to NVSwitches"), std::string::npos) << outcome.out;
  const test::TemporaryFile written("imported.yaml", outcome.out);
  EXPECT_EQ(topo({"check", written.path().string()}).out,
            written.path().string() + ": ok, 8 GPUs on 1 node, 25 devices, 34 links\n");
  EXPECT_THROW(topo({"import", file}), InputError);
  const Outcome cards = topo({"import", file, "--gpu", "A100 PCIe"});
  EXPECT_EQ(cards.out.find("nvswitch"), std::string::npos) << cards.out;
}

TEST(TopoCommand, AFabricNeedsNics) {
  // Two sockets with eight H200, as the matrix has them, and no NIC until some are added.
  const std::string matrix = source + "/tests/data/nvidia-smi/hgx-h200.txt";
  const std::string fabric = source + "/topologies/fabrics/ndr-rail-optimised.yaml";
  const std::vector<std::string> args{"import",  matrix, "--gpu",    "H200",
                                      "--nodes", "2",    "--fabric", fabric};
  EXPECT_THROW(topo(args), InputError);
  std::vector<std::string> with_nics = args;
  with_nics.insert(with_nics.end(), {"--nics", "8"});
  EXPECT_EQ(topo(with_nics).status, exit_ok);
}

TEST(TopoCommand, ComposeJoinsANodeAndAFabric) {
  const Outcome composed =
      topo({"compose", source + "/topologies/nodes/dgx-h100.yaml", "--nodes", "16", "--fabric",
            source + "/topologies/fabrics/ndr-fat-tree.yaml"});
  const test::TemporaryFile file("composed.yaml", composed.out);
  const std::string shipped = source + "/topologies/dgx-h100-x16.yaml";
  const auto without_name = [](const std::string& text) { return text.substr(text.find(": ok")); };
  EXPECT_EQ(without_name(topo({"check", file.path().string()}).out),
            without_name(topo({"check", shipped}).out));
}

TEST(TopoCommand, HelpExplainsEveryAction) {
  const Outcome outcome = topo({"--help"});
  EXPECT_EQ(outcome.status, exit_ok);
  EXPECT_NE(outcome.out.find("  show "), std::string::npos);
  EXPECT_NE(outcome.out.find("  check "), std::string::npos);
}

TEST(TopoCommand, WrongUseIsAnInputError) {
  EXPECT_THROW(topo({}), InputError);
  EXPECT_THROW(topo({"draw", "x.yaml"}), InputError);
  EXPECT_THROW(topo({"show"}), InputError);
  EXPECT_THROW(topo({"show", "a.yaml", "b.yaml"}), InputError);
  EXPECT_THROW(topo({"check"}), InputError);
  EXPECT_THROW(topo({"check", "--fast", "a.yaml"}), InputError);
}

}  // namespace
}  // namespace collsim::command
