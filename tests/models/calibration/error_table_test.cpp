#include "models/calibration/error_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "models/calibration/calibration_choice.h"
#include "models/calibration/transport.h"
#include "models/calibration/trust.h"
#include "sim/topologies/loader.h"
#include "tests/support/test_data.h"

namespace collsim {
namespace {

/// Two bands, which meet at 1 KiB.
ErrorTable small_table() {
  return {{Bytes{1024}},
          {{Trust::derived, "any", {{0.5, 2}, {0.9, 1.2}}, 3, 30},
           {Trust::derived, "ib", {{0.4, 6}, {0.7, 1.8}}, 4, 40},
           {Trust::derived, "ib", {{0.6, 4}, {0.8, 1.5}}, 2, 20, 8},
           {Trust::derived, "ib", {{0.7, 3}, {0.9, 1.3}}, 1, 10, 2}}};
}

TEST(ErrorTable, knows_a_medium_and_else_any) {
  const ErrorTable table = small_table();
  EXPECT_EQ(find_error_class(table, Trust::derived, {"ib", 8})->machines, 2);
  EXPECT_EQ(find_error_class(table, Trust::derived, {"tcp", 8})->machines, 3);
  EXPECT_EQ(find_error_class(table, Trust::exact, {"ib", 8}), nullptr);
}

// Classes hold up to 2, up to 8 and any number of hosts.
TEST(ErrorTable, takes_the_class_of_the_hosts) {
  const ErrorTable table = small_table();
  EXPECT_EQ(find_error_class(table, Trust::derived, {"ib", 2})->machines, 1);
  EXPECT_EQ(find_error_class(table, Trust::derived, {"ib", 3})->machines, 2);
  EXPECT_EQ(find_error_class(table, Trust::derived, {"ib", 9})->machines, 4);
}

// A band ends below the size that it names.
TEST(ErrorTable, takes_the_band_of_the_size) {
  const ErrorTable table = small_table();
  EXPECT_EQ(error_range(table, Trust::derived, {"ib", 4}, Bytes{1023})->high, 4);
  EXPECT_EQ(error_range(table, Trust::derived, {"ib", 4}, Bytes{1024})->high, 1.5);
  EXPECT_FALSE(error_range(table, Trust::exact, {"ib", 4}, Bytes{8}));
}

// Every class of trust but `exact` has a range for every medium; ranges of what was measured are
// narrower, from 16 MiB on, than those of what was derived or guessed. Between these two runs
// decide: derived machines are mostly clusters over InfiniBand, guessed ones also single boards.
TEST(ErrorTable, of_the_shipped_file_is_complete_and_in_order) {
  const ShippedData shipped;
  const ErrorTable table = load_error_table();
  for (const Trust trust : {Trust::measured, Trust::derived, Trust::guessed}) {
    for (const char* const medium : {"nvlink", "pcie", "ib", "a new one"}) {
      for (const std::uint32_t hosts : {1U, 2U, 8U, 16'384U}) {
        EXPECT_NE(find_error_class(table, trust, {medium, hosts}), nullptr) << medium << hosts;
      }
    }
  }
  const Bytes large{1 << 30};
  for (const Medium& medium : {Medium{"nvlink", 1}, Medium{"ib", 2}}) {
    const auto width = [&](Trust trust) {
      const ErrorRange range = *error_range(table, trust, medium, large);
      return range.high / range.low;
    };
    EXPECT_LT(width(Trust::measured), width(Trust::derived)) << medium.name;
    EXPECT_LT(width(Trust::measured), width(Trust::guessed)) << medium.name;
  }
}

TEST(Medium, is_the_costliest_that_data_cross) {
  const Topology topology = load_topology(find_data_file("dgx-h100-x4", "topologies"));
  const Calibration cost = calibration_for(topology);
  EXPECT_EQ(medium_of(cost, std::vector{LinkKind::nvlink}, 4), (Medium{"nvlink", 1}));
  EXPECT_EQ(medium_of(cost, std::vector{LinkKind::nvlink, LinkKind::pcie}, 4), (Medium{"pcie", 1}));
  EXPECT_EQ(medium_of(cost, std::vector{LinkKind::pcie, LinkKind::network}, 4), (Medium{"ib", 4}));
}

}  // namespace
}  // namespace collsim
