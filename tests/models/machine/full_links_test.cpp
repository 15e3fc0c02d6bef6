// What trees of two ranks take where their channels just fill a link, and on more of them, against
// recordings/h200x2/tree-buffers.yaml, which no constant was fitted to.

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "models/calibration/transport.h"
#include "models/recordings/recording.h"
#include "models/validation/validation.h"
#include "sim/base/data_directory.h"
#include "sim/topologies/loader.h"

namespace collsim {
namespace {

constexpr std::int64_t mebi = 1 << 20;

/// LL's rows of 2 to 8 MiB on that machine, whose chunks fill half of a slot on all channels.
std::vector<ValidatedRow> trees_that_fill_half_slots() {
  const Topology topology = load_topology(find_data_file("hgx-h200-4", "topologies"));
  const Recording recording =
      read_recording(data_directory() / "recordings/h200x2/tree-buffers.yaml");
  ValidationOptions options;
  options.id = "noclusters/2/Tree/LL";
  options.in_place = false;
  options.largest = Bytes{8 * mebi};
  return validate(recording, topology, calibration_for(topology), options).rows;
}

// On 12 to 16 channels nobody waits for the link; on 24 calls of 4 MiB take 17 % longer than they
// would if nobody did, since each leaf's way down waits behind what its way up has for the link.
TEST(FullLinks, hold_up_both_lanes_of_a_thread_block) {
  const std::vector<ValidatedRow> rows = trees_that_fill_half_slots();
  std::uint32_t most = 0;
  for (const ValidatedRow& row : rows) {
    EXPECT_NEAR(row.error(), 0, 0.15) << row.channels << " channels, " << row.recorded.size.count;
    most = std::max(most, row.channels);
  }
  EXPECT_EQ(most, 24U);
}

}  // namespace
}  // namespace collsim
