// No recorded run beats the bounds of its machine: of all recordings that are shipped.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <iostream>
#include <limits>
#include <string>
#include <vector>

#include "models/recordings/recording.h"
#include "models/validation/recorded_call.h"
#include "models/validation/recorded_machines.h"
#include "sim/base/data_directory.h"
#include "sim/topologies/loader.h"
#include "tests/support/test_data.h"

namespace collsim {
namespace {

namespace fs = std::filesystem;

/// Every file of recorded calls.
std::vector<fs::path> files() {
  const fs::path folder = data_directory() / "recordings";
  std::vector<fs::path> all{folder / "h200.csv"};
  for (const char* name : {"h200x2", "h200x4", "h200x8", "published"}) {
    for (const auto& entry : fs::directory_iterator(folder / name)) {
      if (entry.path().extension() == ".yaml") all.push_back(entry.path());
    }
  }
  return all;
}

struct Count {
  std::size_t checked = 0;
  double nearest = std::numeric_limits<double>::infinity();  ///< time / bound
  std::string nearest_row;
};

void check(const Recording& recording, const Topology& topology, Count& count) {
  const Hosts hosts(topology);
  ValidationOptions any;
  any.mode.reset();
  for (const RecordedRow& row : recording.rows) {
    if (!why_left_out(row, hosts, any).empty()) continue;
    const Seconds least = min_time(call_of(row), topology, row.size);
    ++count.checked;
    const double ratio = row.time.value / least.value;
    const std::string name = fmt::format(
        "{} line {}, {}: {} B in {} us, bound {} us", recording.file.filename().string(), row.line,
        row.id, row.size.count, in_microseconds(row.time), in_microseconds(least));
    EXPECT_GE(ratio, 1) << name;
    if (ratio >= count.nearest) continue;
    count.nearest = ratio;
    count.nearest_row = name;
  }
}

/// On the machines that the recording says, as `collsim validate` does.
void check(const fs::path& file, Count& count) {
  const Recording recording = read_recording(file);
  if (!recording.left_out.empty()) return;
  for (const auto& [machine, rows] : by_machine(recording, {})) {
    const std::string said = machine.empty() ? recording.topology : machine;
    const std::string name = said.empty() ? shipped_machines_of(rows).at(0) : said;
    check(rows, load_topology(find_data_file(name, "topologies")), count);
  }
}

TEST(BoundsOfRecordings, no_shipped_row_is_faster_than_its_machine_allows) {
  const ShippedData shipped;
  Count count;
  for (const fs::path& file : files()) check(file, count);
  std::cout << count.checked
            << " recorded rows are not below their bounds; the nearest: " << count.nearest_row
            << '\n';
  EXPECT_GT(count.checked, 20000U);
  EXPECT_LT(count.nearest, 1.5) << "bounds are of use only where some run comes near them";
}

// A log says how many GPUs took part, not which. Of a DGX-1's pairs some have one NVLink of 25
// GB/s, some two: a pair of two is faster than the first two GPUs could be, and is no impossible
// run. Two NVLinks and PCIe, 50 + 15.75 GB/s, carry 1 GB in 15.2 ms, one NVLink and PCIe in 24.5.
TEST(BoundsOfRecordings, are_those_of_the_best_pair_of_gpus) {
  const Topology topology = load_topology(find_data_file("dgx-1-v100", "topologies"));
  RecordedCall call;
  call.collective = Collective::all_reduce;
  call.ranks = 2;
  const Seconds least = min_time(call, topology, Bytes{1'000'000'000});
  EXPECT_LT(in_microseconds(least), 20'000);
  EXPECT_GT(in_microseconds(least), 10'000);
}

}  // namespace
}  // namespace collsim
