// collsim replay: what is printed, bad input.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/tools/command_outcome.h"
#include "tools/collsim/core/subcommand.h"

namespace collsim::command {
namespace {

using nlohmann::json;

const std::string traces = COLLSIM_SOURCE_DIR "/tests/data/kineto/";

// Summed over the union of kernels by a script apart from this code, rounded to 10 us.
TEST(ReplayCommand, sums_what_two_ranks_did) {
  const json answer =
      json::parse(output_of({"replay", traces + "ddp-S-b25-rank1.json.gz",
                             traces + "ddp-S-b25-rank0.json.gz", "--format", "json"}));
  const json& first = answer["ranks"][0];
  EXPECT_EQ(first["rank"], 0);
  EXPECT_NEAR(first["compute_us"].get<double>(), 151140, 5);
  EXPECT_NEAR(first["communication_us"].get<double>(), 18910, 5);
  EXPECT_NEAR(first["exposed_us"].get<double>(), 2210, 5);
  EXPECT_NEAR(first["waited_us"].get<double>(), 3970, 5);
  EXPECT_EQ(first["came_last"], 50);
  EXPECT_EQ(answer["ranks"][1]["came_last"], 26);
  EXPECT_EQ(answer["calls"].size(), 4U);
}

TEST(ReplayCommand, refuses_bad_traces) {
  const std::string trace = traces + "ddp-S-b25-rank1.json.gz";
  EXPECT_EQ(run({"replay"}).status, exit_bad_input);
  EXPECT_EQ(run({"replay", trace, trace}).status, exit_bad_input);
  EXPECT_EQ(run({"replay", traces}).status, exit_bad_input);
}

}  // namespace
}  // namespace collsim::command
