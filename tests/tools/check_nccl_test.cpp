// `collsim check --schedule nccl` proves what NCCL runs on a machine.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/tools/command_outcome.h"
#include "tools/collsim/core/subcommand.h"

namespace collsim::command {
namespace {

TEST(CheckNccl, every_plan_of_one_node_and_of_several_is_right) {
  for (const char* machine : {"hgx-h200", "dgx-1-v100", "pcie-8", "dgx-h100-x4"}) {
    const Outcome outcome = run({"check", "--schedule", "nccl", "-t", machine, "--orders", "1"});
    EXPECT_EQ(outcome.status, exit_ok) << outcome.out;
    for (const char* proved : {"all_reduce tree", "all_reduce ring", "reduce_scatter ring",
                               "all_to_all sends and receives"}) {
      EXPECT_NE(outcome.out.find(proved), std::string::npos) << machine << " " << proved;
    }
    EXPECT_EQ(outcome.out.find("WRONG"), std::string::npos) << outcome.out;
    EXPECT_EQ(outcome.out.find("skipped"), std::string::npos) << outcome.out;
  }
}

TEST(CheckNccl, every_root_is_proved_in_turn) {
  const Outcome outcome = run(
      {"check", "--schedule", "nccl", "-t", "hgx-h200", "--collective", "reduce", "--root", "all"});
  EXPECT_EQ(outcome.status, exit_ok);
  EXPECT_NE(outcome.out.find(" 8 plans"), std::string::npos) << outcome.out;
}

}  // namespace
}  // namespace collsim::command
