// Scores, families and agreement of validated rows.

#include "models/validation/score.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace collsim {
namespace {

/// A recorded all_reduce of 8 ranks that took 100 us.
ValidatedRow row_of(std::int64_t size, double predicted_us) {
  ValidatedRow row;
  row.recorded.collective = Collective::all_reduce;
  row.recorded.ranks = 8;
  row.recorded.size.count = size;
  row.recorded.time = microseconds(100);
  row.predicted = microseconds(predicted_us);
  row.algorithm = "ring";
  return row;
}

// Of -10, 20, 30, -40 %: absolute 10, 20, 30, 40. Median 25, mean 25, bias 0 / 4 = 0, p90 the
// ceil(3.6) = 4th.
TEST(Score, of_four_errors) {
  const Score four = score({-0.1, 0.2, 0.3, -0.4});
  EXPECT_EQ(four.rows, 4U);
  EXPECT_DOUBLE_EQ(four.median, 0.25);
  EXPECT_DOUBLE_EQ(four.mean, 0.25);
  EXPECT_DOUBLE_EQ(four.p90, 0.4);
  EXPECT_DOUBLE_EQ(four.worst, 0.4);
  EXPECT_NEAR(four.bias, 0, 1e-15);
}

// p90 by nearest rank: of ten the 9th, of one the first.
TEST(Score, p90_is_the_nearest_rank) {
  std::vector<double> ten;
  for (int i = 1; i <= 10; ++i) ten.push_back(0.01 * i);
  EXPECT_DOUBLE_EQ(score(ten).p90, 0.09);
  EXPECT_DOUBLE_EQ(score({0.5}).p90, 0.5);
  EXPECT_DOUBLE_EQ(score({0.1, 0.5, 0.2}).median, 0.2);
  EXPECT_EQ(score({}).rows, 0U);
  EXPECT_DOUBLE_EQ(score({}).worst, 0);
}

TEST(Score, bands_end_below_their_bound) {
  EXPECT_EQ(size_band(Bytes{(64 << 10) - 1}), 0U);
  EXPECT_EQ(size_band(Bytes{64 << 10}), 1U);
  EXPECT_EQ(size_band(Bytes{1 << 20}), 2U);
  EXPECT_EQ(size_band(Bytes{64 << 20}), 3U);
}

TEST(Score, families_are_scored_apart) {
  std::vector<ValidatedRow> rows{row_of(8, 110), row_of(1 << 20, 80)};
  rows.push_back(row_of(8, 150));
  rows.back().recorded.variables = {{"NCCL_ALGO", "Tree"},
                                    {"NCCL_PROTO", "LL"},
                                    {"NCCL_MIN_NCHANNELS", "4"},
                                    {"NCCL_MAX_NCHANNELS", "4"},
                                    {"NCCL_P2P_DISABLE", "1"}};
  rows.back().nccl_estimate = microseconds(50);
  const auto scores = family_scores(rows);
  ASSERT_EQ(scores.size(), 2U);
  EXPECT_EQ(scores[0].family.algorithm, "auto");
  EXPECT_NEAR(scores[0].bands[0].median, 0.1, 1e-12);
  EXPECT_NEAR(scores[0].bands[2].median, 0.2, 1e-12);
  EXPECT_NEAR(scores[0].all.bias, -0.05, 1e-12);
  EXPECT_EQ(scores[0].nccl.rows, 0U);
  const ValidationFamily& forced = scores[1].family;
  EXPECT_EQ(forced.algorithm, "tree");
  EXPECT_EQ(forced.protocol, "ll");
  EXPECT_EQ(forced.channels, 4U);
  EXPECT_EQ(forced.environment, "P2P_DISABLE=1");
  EXPECT_NEAR(scores[1].nccl.median, 0.5, 1e-12);
  EXPECT_EQ(total_score(rows).all.rows, 3U);
}

// Where the recording says what ran: free and the same; free and another protocol; forced, which
// says nothing of a choice but counts for the channels, being right.
TEST(Score, agreement_counts_what_NCCL_was_free_to_choose) {
  std::vector<ValidatedRow> rows(4, row_of(8, 100));
  for (std::size_t i = 0; i < 3; ++i) {
    rows[i].recorded.algorithm = NcclAlgorithm::ring;
    rows[i].recorded.protocol = Protocol::simple;
    rows[i].recorded.channels = 1;
  }
  rows[1].protocol = Protocol::ll;
  rows[2].recorded.variables = {{"NCCL_ALGO", "Ring"}, {"NCCL_PROTO", "Simple"}};
  rows[2].channels = 2;
  const ChoiceAgreement agreement = choice_agreement(rows);
  EXPECT_EQ(agreement.algorithm.rows, 2U);
  EXPECT_EQ(agreement.algorithm.same, 2U);
  EXPECT_EQ(agreement.protocol.rows, 2U);
  EXPECT_EQ(agreement.protocol.same, 1U);
  EXPECT_EQ(agreement.channels.rows, 2U);
  EXPECT_EQ(agreement.channels.same, 1U);
}

}  // namespace
}  // namespace collsim
