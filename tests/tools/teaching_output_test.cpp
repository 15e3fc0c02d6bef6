#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "sim/algorithms/registry.h"
#include "sim/base/input_error.h"
#include "sim/plan/collective.h"
#include "tests/tools/command_outcome.h"
#include "tools/collsim/core/subcommand.h"

namespace collsim::command {
namespace {

// Step 1 brought chunk 0 to rank 2 via 1, chunk 1 to 0 via 2, chunk 2 to 1 via 0; in step 2 each
// goes one rank on and is complete at the rank of its number.
TEST(TeachingOutput, the_second_step_of_a_ring_of_three) {
  EXPECT_EQ(output_of({"steps", "--ranks", "3", "--step", "2"}),
            R"(ring all_reduce: 3 ranks, 3 chunks
a2 is rank 2's contribution, sum that of all; * marks what the step changed.

step 2 of 4: reduce-scatter
   0 -> 1   chunk 1  reduce
   1 -> 2   chunk 2  reduce
   2 -> 0   chunk 0  reduce

        chunk 0  chunk 1  chunk 2
rank 0  sum*     a0+a2    a0
rank 1  a1       sum*     a0+a1
rank 2  a1+a2    a2       sum*
)");
}

void expect_eighty_columns(const std::vector<std::string>& args) {
  std::istringstream lines(output_of(args));
  std::size_t count = 0;
  for (std::string line; std::getline(lines, line); ++count) EXPECT_LE(line.size(), 80U) << line;
  EXPECT_GT(count, 5U);
}

TEST(TeachingOutput, eight_ranks_fit_eighty_columns) {
  for (const Collective collective : all_collectives()) {
    for (const std::string& algorithm : algorithm_names(collective)) {
      const bool needs_switch = needs_adding_switch(collective, algorithm);
      const std::vector<const char*> nodes =
          needs_switch ? std::vector{"8"} : std::vector{"1", "2", "4"};
      for (const char* per_node : nodes) {
        expect_eighty_columns({"steps", "-c", std::string(to_string(collective)), "-a", algorithm,
                               "-n", "8", "--ranks-per-node", per_node});
      }
      if (collective == Collective::barrier || needs_switch) continue;
      expect_eighty_columns({"steps", "-c", std::string(to_string(collective)), "-a", algorithm,
                             "-n", "8", "--values", "--alpha", "1us", "--bandwidth", "50GB/s", "-b",
                             "1M"});
    }
  }
}

// 2 (N - 1) steps of N messages, each a third of the buffer.
TEST(TeachingOutput, the_summary_counts_steps_messages_and_bytes) {
  const std::string text = output_of({"steps", "--ranks", "3"});
  EXPECT_NE(text.find("4 steps, 12 messages.\n"
                      "Each rank sends 2(N-1)/N S = 4/3 S in 2(N-1) = 4 steps.\n"),
            std::string::npos)
      << text;
}

TEST(TeachingOutput, bad_options_are_refused) {
  const std::vector<std::vector<std::string>> wrong{
      {"--ranks", "65"}, {"--ranks", "-1"}, {"--step", "7"}, {"--nodes", "3"}};
  for (const auto& args : wrong)
    EXPECT_THROW(run(steps_subcommand.run, args), InputError) << args[1];
}

TEST(TeachingOutput, check_proves_and_says_what) {
  const std::string text = output_of({"check", "-a", "ring", "-n", "1..3", "--orders", "1"});
  // Three plans, four credit depths; two loops of 2 N (N - 1) messages: 4 x 2 x (0 + 4 + 12).
  EXPECT_NE(text.find("proved     3 plans     12 runs       128 messages"), std::string::npos)
      << text;
}

// Direct scatter of 1, 2 and 3 ranks: 2 loops of N - 1 messages from each of N roots, four credit
// depths: 4 x 2 x (1 x 0 + 2 x 1 + 3 x 2).
TEST(TeachingOutput, check_proves_any_collective_from_every_root) {
  const std::string text = output_of(
      {"check", "--collective", "scatter", "--root", "all", "-n", "1..3", "--orders", "1"});
  EXPECT_NE(text.find("proved     6 plans     24 runs        64 messages"), std::string::npos)
      << text;
}

// Rank 1 is the root and has everything; rank 0 gets its part first.
TEST(TeachingOutput, steps_show_who_has_nothing_yet) {
  const std::string text =
      output_of({"steps", "--collective", "scatter", "-n", "3", "--root", "1", "--step", "1"});
  EXPECT_NE(text.find("rank 0  a1*      -        -\nrank 1  a1       a1       a1\n"),
            std::string::npos)
      << text;
}

}  // namespace
}  // namespace collsim::command
