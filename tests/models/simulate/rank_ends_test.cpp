// Which rank of a tree of two is done first, and by how much, against
// recordings/h200x2/rank-ends.csv: on few channels rank 0 is the root of all, and leads. LL128's
// roots lead by a tenth of the call, which the executor does not show before FIFOs are full.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "models/calibration/transport.h"
#include "models/call/prediction.h"
#include "models/call/rank_gpus.h"
#include "sim/base/data_directory.h"
#include "sim/execution/executor.h"
#include "sim/execution/timeline.h"
#include "sim/fabric/native_fabric.h"
#include "sim/topologies/loader.h"

namespace collsim {
namespace {

constexpr std::int64_t mebi = 1 << 20;

struct Row {
  std::string protocol;
  int channels = 0;
  std::string ll_buffer;  ///< as NCCL_LL_BUFFSIZE; empty: NCCL's own
  std::int64_t bytes = 0;
  double root_leads = 0;  ///< us

  std::int64_t of_channel() const { return bytes / channels; }
};

std::ostream& operator<<(std::ostream& out, const Row& row) {
  return out << row.protocol << " on " << row.channels << ", " << row.bytes << " B, buffer "
             << (row.ll_buffer.empty() ? "as is" : row.ll_buffer);
}

std::vector<std::string> fields_of(const std::string& line) {
  std::vector<std::string> fields(1);
  for (const char c : line) {
    if (c == ',') {
      fields.emplace_back();
    } else {
      fields.back() += c;
    }
  }
  return fields;
}

/// Rows of as many channels as have their root at rank 0.
std::vector<Row> recorded(std::string_view protocol) {
  std::ifstream file(data_directory() / "recordings/h200x2/rank-ends.csv");
  std::vector<Row> rows;
  for (std::string line; std::getline(file, line);) {
    const auto fields = fields_of(line);
    if (fields[0] != protocol || std::stoi(fields[1]) > 4) continue;
    rows.push_back({fields[0], std::stoi(fields[1]), fields[2], std::stoll(fields[3]),
                    std::stod(fields[5]) - std::stod(fields[4])});
  }
  return rows;
}

class RankEnds : public testing::Test {
 protected:
  double predicted_lead(const Row& row) const {
    RunSpec run;
    run.algorithm = "tree";
    const std::string channels = std::to_string(row.channels);
    run.variables = {{"NCCL_PROTO", row.protocol},
                     {"NCCL_MIN_NCHANNELS", channels},
                     {"NCCL_MAX_NCHANNELS", channels}};
    if (!row.ll_buffer.empty()) run.variables["NCCL_LL_BUFFSIZE"] = row.ll_buffer;
    const CallCompiler compiler(
        {&topology_, cost_, Collective::all_reduce, run, first_gpus(topology_, 2)});
    const CompiledCall call = compiler.plan(Bytes{row.bytes});
    NativeFabric fabric;
    Timeline timeline;
    Execution execution = execution_of(call);
    execution.calls = 1;
    execute(execution, fabric, &timeline);
    std::array<double, 2> ends{};
    for (const TimelineRecord& record : timeline.records) {
      ends[record.rank] = std::max(ends[record.rank], 1e6 * record.over.value);
    }
    return ends[1] - ends[0];
  }

 private:
  Topology topology_ = load_topology(find_data_file("hgx-h200-4", "topologies"));
  Calibration cost_ = calibration_for(topology_);
};

// A leaf's last chunk is on its way when the root is done, whatever the call's size: 12 to
// 13 us.
TEST_F(RankEnds, of_simple_are_a_chunk_apart) {
  const std::vector<Row> rows = recorded("Simple");
  ASSERT_FALSE(rows.empty());
  for (const Row& row : rows) {
    if (row.of_channel() < mebi / 2) continue;
    EXPECT_NEAR(predicted_lead(row), row.root_leads, 5) << row;
  }
}

// A leaf's way down takes longer than all that the root does, so that its FIFO of 8 chunks is full
// when the root is done: 43 us to empty it, 19 where chunks are half as large.
TEST_F(RankEnds, of_ll_are_a_full_fifo_apart) {
  int rows = 0;
  for (const Row& row : recorded("LL")) {
    const bool in_cache = row.bytes <= 8 * mebi;
    if (!in_cache || row.of_channel() < 2 * mebi) continue;
    EXPECT_NEAR(predicted_lead(row), row.root_leads, 10) << row;
    ++rows;
  }
  EXPECT_GT(rows, 0);
}

}  // namespace
}  // namespace collsim
