#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/base/input_error.h"
#include "sim/base/text_file.h"
#include "tests/tools/command_outcome.h"
#include "tools/collsim/core/subcommand.h"

namespace collsim::command {
namespace {

const std::string source = COLLSIM_SOURCE_DIR;
const std::string a100 = source + "/tests/data/nccl-golden/topologies/dgxa100.xml";

Outcome choose(const std::vector<std::string>& args) {
  return run(choose_subcommand.run, args);
}

TEST(ChooseCommand, GoldenFormatIsTheGoldenFile) {
  const TextFile golden =
      read_text_file(source + "/tests/data/nccl-golden/selection.txt", "choices");
  const Outcome outcome = choose({a100, "--nodes", "4", "--format", "golden"});
  EXPECT_EQ(outcome.status, exit_ok);
  EXPECT_EQ(outcome.out.rfind("== dgxa100.xml nNodes 4", 0), 0U);
  EXPECT_NE(golden.content.find(outcome.out), std::string::npos);
}

TEST(ChooseCommand, JsonHasChannelsAndSelection) {
  const Outcome outcome = choose({"dgx-h100", "--format", "json"});
  const auto document = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(document["channels"].size(), 24U);
  EXPECT_EQ(document["channels"][0]["ring"].size(), 8U);
  EXPECT_EQ(document["selection"][0]["algorithm"], "Ring");
}

TEST(ChooseCommand, TableShowsWhatRuns) {
  const Outcome outcome = choose({"hgx-h200", "--nccl-version", "2.28.9"});
  EXPECT_NE(outcome.out.find("24 channels, 16 for NVLS"), std::string::npos);
  EXPECT_NE(outcome.out.find("rings 0-23    0 1 2 3 4 5 6 7"), std::string::npos);
}

TEST(ChooseCommand, WarnsOfVariablesThatChangeNothing) {
  const Outcome outcome = choose({a100, "--env", "NCCL_IB_TIMEOUT=20", "--env", "NCCL_ALGO=Ring"});
  EXPECT_EQ(outcome.err, "collsim: warning: NCCL_IB_TIMEOUT: not modelled, changes nothing here\n");
}

TEST(ChooseCommand, RefusesBadInput) {
  EXPECT_THROW(choose({}), InputError);
  EXPECT_THROW(choose({"no-such-machine"}), InputError);
  EXPECT_THROW(choose({a100, "--nodes", "0"}), InputError);
  EXPECT_THROW(choose({a100, "--nccl-version", "1.0"}), InputError);
  EXPECT_THROW(choose({a100, "--env", "NCCL_ALGO"}), InputError);
  EXPECT_THROW(choose({a100, "--format", "xml"}), InputError);
  // No NIC, so there cannot be a second node.
  EXPECT_THROW(
      choose({source + "/tests/data/nccl-golden/topologies/pcie8_amd_g4.xml", "--nodes", "2"}),
      InputError);
}

}  // namespace
}  // namespace collsim::command
