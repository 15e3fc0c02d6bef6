// Two recordings of the same calls, held against each other without a machine.

#include "tools/collsim/diagnose/run_change.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/support/error_of.h"

namespace collsim {
namespace {

/// Half a percent of noise below 16 MiB, a tenth above.
Spread small_noise() {
  Spread spread;
  spread.bands = {{bandwidth_bound, 0.005}};
  spread.rest = 0.001;
  return spread;
}

struct Measured {
  std::int64_t bytes = 0;
  double us = 0;
};

Recording run_of(const std::vector<Measured>& times) {
  Recording recording;
  recording.file = "log";
  for (const Measured& each : times) {
    RecordedRow row;
    row.collective = Collective::all_reduce;
    row.ranks = 8;
    row.size = {each.bytes};
    row.time = microseconds(each.us);
    recording.rows.push_back(row);
  }
  return recording;
}

constexpr std::int64_t mib = 1 << 20;

TEST(RunChange, of_a_band_is_that_of_its_middle_size) {
  const Recording before = run_of({{16 * mib, 100}, {32 * mib, 200}, {64 * mib, 400}});
  // One size of three is a third slower; the middle one is not.
  const RunChange one = compare_runs(
      before, run_of({{16 * mib, 133}, {32 * mib, 201}, {64 * mib, 401}}), 0.05, small_noise());
  EXPECT_EQ(one.sizes[0].change, Change::slower);
  EXPECT_EQ(one.bands.at(0).change, Change::same);
  EXPECT_FALSE(one.is_slower());
  // All are 10 % slower: 1 / 1.1 of the busbw.
  const RunChange all = compare_runs(
      before, run_of({{16 * mib, 110}, {32 * mib, 220}, {64 * mib, 440}}), 0.05, small_noise());
  EXPECT_TRUE(all.is_slower());
  EXPECT_NEAR(all.bands.at(0).ratio, 1 / 1.1, 1e-9);
}

// Noise of 10 % for one time: two of them differ by less than 1.96 sqrt(2) 10 % = 27.7 % as a rule.
TEST(RunChange, is_more_than_noise) {
  Spread noisy = small_noise();
  noisy.rest = 0.1;
  const Recording before = run_of({{64 * mib, 400}});
  EXPECT_FALSE(compare_runs(before, run_of({{64 * mib, 500}}), 0.05, noisy).is_slower());
  EXPECT_TRUE(compare_runs(before, run_of({{64 * mib, 540}}), 0.05, noisy).is_slower());
  EXPECT_NEAR(compare_runs(before, before, 0.05, noisy).sizes[0].limit, 1.96 * std::sqrt(2.0) * 0.1,
              1e-12);
}

TEST(RunChange, to_faster_is_no_regression) {
  const RunChange change =
      compare_runs(run_of({{1024, 20}}), run_of({{1024, 10}}), 0.05, small_noise());
  EXPECT_EQ(change.bands.at(0).change, Change::faster);
  EXPECT_FALSE(change.is_slower());
}

TEST(RunChange, names_settings_and_counts_sizes_of_one_run_only) {
  Recording before = run_of({{1024, 10}, {2048, 10}});
  Recording after = run_of({{2048, 10}, {4096, 10}, {8192, 10}});
  before.machine["nccl"] = "2.27.3";
  after.machine["nccl"] = "2.28.9";
  for (RecordedRow& row : after.rows) row.variables["NCCL_ALGO"] = "Ring";
  const RunChange change = compare_runs(before, after, 0.05, small_noise());
  EXPECT_EQ(change.sizes.size(), 1U);
  EXPECT_EQ(change.only_before, 1U);
  EXPECT_EQ(change.only_after, 2U);
  EXPECT_EQ(change.settings, (std::vector<std::string>{"NCCL_ALGO: not set before, Ring after",
                                                       "nccl: 2.27.3 before, 2.28.9 after"}));
}

TEST(RunChange, needs_a_size_in_both) {
  const std::string error = test::error_of([] {
    return compare_runs(run_of({{1024, 10}}), run_of({{2048, 10}}), 0.05, small_noise());
  });
  EXPECT_NE(error.find("no size of a call"), std::string::npos) << error;
}

}  // namespace
}  // namespace collsim
