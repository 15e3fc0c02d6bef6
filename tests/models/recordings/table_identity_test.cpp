// Which call a table without its surroundings is of.

#include "models/recordings/table_identity.h"

#include <gtest/gtest.h>

#include "models/recordings/named_rows.h"

namespace collsim {
namespace {

using Collectives = std::vector<Collective>;

FactorRange factor_of(std::string_view algbw, std::string_view busbw) {
  FactorRange range;
  narrow(range, algbw, busbw);
  return range;
}

// 391.09 / 201.85 before rounding: 391.085 / 201.855 = 1.93745 to 391.095 / 201.845 = 1.93760.
TEST(TableIdentity, factor_lies_between_what_rounding_allows) {
  const FactorRange range = factor_of("201.85", "391.09");
  EXPECT_NEAR(range.min, 1.93745, 1e-5);
  EXPECT_NEAR(range.max, 1.93760, 1e-5);
  const FactorRange unchanged = factor_of("0.00", "0.00");
  EXPECT_EQ(unchanged.min, 0);
}

// 2 (n - 1) / n is 1.9375 for 32; for 31 1.93548, for 33 1.93939. (n - 1) / n is never above 1.
TEST(TableIdentity, of_a_reduction_is_told_by_its_factor) {
  const TableSigns signs{true, false, true, factor_of("201.85", "391.09")};
  EXPECT_EQ(collectives_of(signs, 0), Collectives{Collective::all_reduce});
  const auto ranks = ranks_of(Collective::all_reduce, signs.factor);
  ASSERT_TRUE(ranks);
  EXPECT_EQ(ranks->least, 32U);
  EXPECT_EQ(ranks->most, 32U);
}

// 0.96875 = 31/32, without a reduction: all_gather, and all_to_all, whose results in place
// nccl-tests does not check.
TEST(TableIdentity, of_all_gather_and_all_to_all_is_told_by_what_is_checked) {
  TableSigns signs{false, false, true, factor_of("200.00", "193.75")};
  EXPECT_EQ(collectives_of(signs, 32),
            (Collectives{Collective::all_gather, Collective::all_to_all}));
  signs.checks_in_place = false;
  EXPECT_EQ(collectives_of(signs, 32), Collectives{Collective::all_to_all});
  signs = {true, false, true, signs.factor};
  EXPECT_EQ(collectives_of(signs, 0), Collectives{Collective::reduce_scatter});
}

// Of many ranks several numbers round alike; a multiple of 8 is likelier, if there is one only.
TEST(TableIdentity, of_many_ranks_prefers_whole_servers) {
  EXPECT_EQ(likely_ranks({32, 32}), 32U);
  EXPECT_EQ(likely_ranks({254, 258}), 256U);
  EXPECT_EQ(likely_ranks({250, 270}), std::nullopt);
  EXPECT_EQ(likely_ranks({9, 15}), std::nullopt);
}

// Sixteen ranks are listed, but 1.75 = 2 * 7 / 8 is of eight: two runs.
TEST(NamedRows, of_a_list_that_contradicts_the_factor_are_of_several_runs) {
  RecordedRow row;
  row.collective = Collective::all_reduce;
  row.ranks = 16;
  row.nodes = 2;
  row.signs = TableSigns{true, false, true, factor_of("122.86", "215.00")};
  std::vector<RecordedRow> table{row};
  const auto notes = name_table(table, {});
  EXPECT_EQ(table[0].ranks, 8U);
  EXPECT_EQ(table[0].nodes, 1U);
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_NE(notes[0].find("2 runs of 8 ranks, not one of 16"), std::string::npos) << notes[0];
  EXPECT_NE(notes[0].find("MPI=1"), std::string::npos);
}

}  // namespace
}  // namespace collsim
