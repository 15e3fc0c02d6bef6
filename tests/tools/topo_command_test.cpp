#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "sim/input_error.h"
#include "tools/collsim/subcommand.h"

namespace collsim::command {
namespace {

const std::string source = COLLSIM_SOURCE_DIR;

struct Outcome {
  int code = 0;
  std::string out;
  std::string err;
};

Outcome topo(const std::vector<std::string>& args) {
  std::ostringstream out;
  std::ostringstream err;
  const int code = run_topo(args, out, err);
  return {code, out.str(), err.str()};
}

TEST(TopoCommand, CheckSaysWhatEachFileIs) {
  const std::string small = source + "/topologies/switch-8.yaml";
  const std::string box = source + "/topologies/hgx-h200.yaml";
  const Outcome outcome = topo({"check", small, box});
  EXPECT_EQ(outcome.code, exit_ok);
  EXPECT_EQ(outcome.err, "");
  // switch-8: 8 GPUs and a switch. hgx-h200: 8 GPUs, a switch and 2 CPUs; 8 NVLink trunks, 8 PCIe
  // links and one between the sockets.
  EXPECT_EQ(outcome.out, small + ": ok, 8 GPUs on 8 nodes, 9 devices, 8 links\n" + box +
                             ": ok, 8 GPUs on 1 node, 11 devices, 17 links\n");
}

TEST(TopoCommand, CheckGoesOnAfterABrokenFile) {
  const std::string broken = source + "/tests/bad/no_gpu.yaml";
  const std::string fine = source + "/topologies/switch-8.yaml";
  const Outcome outcome = topo({"check", broken, fine});
  EXPECT_EQ(outcome.code, exit_bad_input);
  EXPECT_EQ(outcome.err, broken +
                             ":4:3: a node without a GPU; a node with at least one device of "
                             "kind gpu\n");
  EXPECT_EQ(outcome.out, fine + ": ok, 8 GPUs on 8 nodes, 9 devices, 8 links\n");
}

TEST(TopoCommand, ShowDrawsLinksAndBandwidths) {
  const Outcome outcome = topo({"show", source + "/topologies/a100-mesh-4.yaml"});
  EXPECT_EQ(outcome.code, exit_ok);
  EXPECT_NE(outcome.out.find("  gpu0         - gpu[1..3]    nvlink        4 x 25 GB/s  0 s\n"),
            std::string::npos)
      << outcome.out;
  // Four links of 25 GB/s between every two GPUs.
  EXPECT_NE(outcome.out.find("  gpu2      100    100      -    100\n"), std::string::npos)
      << outcome.out;
}

TEST(TopoCommand, ShowDrawsEqualNodesOnceAndCountsTheFabric) {
  const Outcome outcome = topo({"show", source + "/topologies/dgx-h100-x64.yaml"});
  EXPECT_NE(outcome.out.find("node0, and 63 more wired like it\n"), std::string::npos);
  EXPECT_EQ(outcome.out.find("node1\n"), std::string::npos);
  // Two groups of 32 nodes with eight rails each; 16 leaves x 32 uplinks on spines of 64 ports.
  EXPECT_NE(outcome.out.find("      16 x leaf\n       8 x spine\n"), std::string::npos)
      << outcome.out;
  EXPECT_NE(outcome.out.find("     128 x leaf - spine  4 x 50 GB/s  600 ns\n"), std::string::npos)
      << outcome.out;
}

TEST(TopoCommand, HelpExplainsEveryAction) {
  const Outcome outcome = topo({"--help"});
  EXPECT_EQ(outcome.code, exit_ok);
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
