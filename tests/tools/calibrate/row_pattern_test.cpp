// Which rows a pattern means, and names that stars and question marks stand for.

#include "tools/collsim/calibrate/row_pattern.h"

#include <gtest/gtest.h>

#include "sim/base/input_error.h"
#include "sim/base/text.h"

namespace collsim {
namespace {

RecordedRow row() {
  RecordedRow row;
  row.id = "forced/4/Ring";
  row.collective = Collective::broadcast;
  row.ranks = 4;
  row.size = Bytes{1 << 20};
  return row;
}

TEST(NamePattern, stars_stand_for_any_text) {
  EXPECT_TRUE(matches("*", ""));
  EXPECT_TRUE(matches("simple.*", "simple.alpha.nvlink"));
  EXPECT_TRUE(matches("*.alpha.*", "ll.alpha.pcie"));
  EXPECT_TRUE(matches("a*b*c", "a-b-b-c"));
  EXPECT_FALSE(matches("a*b*c", "a-b-b-d"));
  EXPECT_FALSE(matches("simple", "simple.step"));
  EXPECT_TRUE(matches("l?.fan", "ll.fan"));
  EXPECT_FALSE(matches("ll?", "ll"));
}

TEST(RowPattern, means_rows_by_what_they_are) {
  for (const char* yes : {"forced/*", "id=*/Ring", "collective=broad*", "ranks=4", "ranks=3..5",
                          "size=1M", "size=1 MiB..2M", "size=..1048576", "size=64K.."}) {
    EXPECT_TRUE(RowPattern(yes).matches(row())) << yes;
  }
  for (const char* no : {"forced", "id=free/*", "collective=reduce", "ranks=5..", "size=..1023K"}) {
    EXPECT_FALSE(RowPattern(no).matches(row())) << no;
  }
}

TEST(RowPattern, conditions_joined_must_all_hold) {
  EXPECT_TRUE(RowPattern("forced/*&collective=broadcast&ranks=4").matches(row()));
  EXPECT_FALSE(RowPattern("forced/*&collective=broadcast&ranks=3").matches(row()));
  EXPECT_THROW(RowPattern("forced/*&color=red"), InputError);
}

TEST(RowPattern, bad_ones_are_refused) {
  for (const char* bad : {"", "id=", "color=red", "ranks=many", "size=4..2", "size=1X", "ranks=-1",
                          "size=99999999999T"}) {
    EXPECT_THROW(RowPattern{bad}, InputError) << bad;
  }
}

}  // namespace
}  // namespace collsim
