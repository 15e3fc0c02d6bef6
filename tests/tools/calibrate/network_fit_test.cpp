// What a network has of its own is found again in a recording of two nodes, and holds on four;
// where rows say nothing of it, it stays near other machines'.

#include "tools/collsim/calibrate/network_fit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "models/calibration/transport.h"
#include "models/call/prediction.h"
#include "sim/base/data_directory.h"
#include "sim/base/input_error.h"
#include "sim/topologies/loader.h"
#include "tests/support/error_of.h"
#include "tools/collsim/calibrate/fitted_calibration.h"
#include "tools/collsim/calibrate/whole_calibration.h"

namespace collsim {
namespace {

class NetworkFitOfH100 : public testing::Test {
 protected:
  RecordedRow row_of(std::uint32_t nodes, Bytes size) const {
    RecordedRow row;
    row.id = "made";
    row.collective = Collective::all_reduce;
    row.nodes = nodes;
    row.ranks = 8 * nodes;
    row.variables = {{"NCCL_ALGO", "Ring"}};
    row.size = size;
    return row;
  }

  Seconds time_of(const RecordedRow& row, const Calibration& cost) const {
    const CallCompiler compiler(spec_of(call_of(row), topology_, cost, default_nccl_version));
    return simulate(compiler.plan(row.size)).mean_over_ranks;
  }

  /// Rings of two nodes at these sizes, as long as these costs say.
  FitRows rows_of(const std::vector<std::int64_t>& sizes, const Calibration& truth) const {
    Recording recording;
    for (const std::int64_t size : sizes) {
      RecordedRow row = row_of(2, Bytes{size});
      row.time = time_of(row, truth);
      recording.rows.push_back(row);
    }
    FitRows rows(start_);
    rows.add(recording, [this](const RecordedRow&) -> const Topology& { return topology_; }, {});
    return rows;
  }

  CalibrationFit fitted(FitRows rows) const {
    return fit_network(rows, text_, start_, spread_, CalibrationFitOptions{});
  }

  static const FittedConstant& constant(const CalibrationFit& fit, const std::string& name) {
    return *std::find_if(fit.constants.begin(), fit.constants.end(),
                         [&](const FittedConstant& each) { return each.parameter.name == name; });
  }

  static bool cautions(const CalibrationFit& fit, const std::string& word) {
    return std::any_of(fit.cautions.begin(), fit.cautions.end(), [&](const std::string& each) {
      return each.find(word) != std::string::npos;
    });
  }

  Topology topology_ = load_topology(find_data_file("dgx-h100-x4", "topologies"));
  CalibrationText text_ = whole_calibration("h100+ib");
  Calibration start_ = named_calibration("h100+ib");
  NetworkSpread spread_{0.15, microseconds(8), 5};
};

// The truth is two standard deviations of the prior off in rate and one in latency, without noise:
// what is found lies between it and the start, within the interval, and predicts four nodes.
TEST_F(NetworkFitOfH100, finds_rate_and_latency_that_hold_on_more_nodes) {
  const Calibration truth = with_network(start_, 0.74, microseconds(8));
  const CalibrationFit fit =
      fitted(rows_of({1 << 10, 1 << 14, 1 << 18, 1 << 20, 1 << 24, 1 << 26, 1 << 28}, truth));
  const FittedConstant& rate = constant(fit, "efficiency.network");
  EXPECT_EQ(rate.determination, Determination::fitted);
  // Drawn back towards the start by at most a third of the way.
  EXPECT_GT(rate.value, 0.98 * truth.efficiency[3]);
  EXPECT_LT(rate.value, truth.efficiency[3] + (rate.start - truth.efficiency[3]) / 3);
  EXPECT_GE(rate.max, truth.efficiency[3]);
  for (const char* name : {"ll.alpha.network", "simple.alpha.network"}) {
    const FittedConstant& alpha = constant(fit, name);
    EXPECT_NEAR(alpha.value - alpha.start, 8e-6, 2e-6) << name;
    EXPECT_LE(alpha.min, alpha.value);
    EXPECT_GE(alpha.max, alpha.value);
  }
  const Calibration found = cost_of(with_fitted(text_, fit));
  for (const std::int64_t size : {1 << 12, 1 << 28}) {
    const RecordedRow four = row_of(4, Bytes{size});
    const double before = time_of(four, start_).value / time_of(four, truth).value;
    const double after = time_of(four, found).value / time_of(four, truth).value;
    EXPECT_LT(std::abs(after - 1), 0.3 * std::abs(before - 1)) << size;
  }
}

// Small calls say nothing of the rate, which stays the start's, with the prior's width; two sizes
// are few.
TEST_F(NetworkFitOfH100, stays_near_other_machines_where_rows_say_nothing) {
  const CalibrationFit fit =
      fitted(rows_of({1 << 10, 1 << 12}, with_network(start_, 1, microseconds(8))));
  const FittedConstant& rate = constant(fit, "efficiency.network");
  EXPECT_NEAR(rate.value, rate.start, 0.01 * rate.start);
  EXPECT_NEAR(rate.min, rate.start * std::exp(-1.96 * 0.15), 0.03 * rate.start);
  EXPECT_TRUE(cautions(fit, "network's rate"));
  EXPECT_TRUE(cautions(fit, "only 2 sizes"));
}

// No network carries more than its links, and a message takes at least a tenth of what it took.
TEST_F(NetworkFitOfH100, stays_possible) {
  const Calibration cost = with_network(start_, 3, microseconds(-100));
  EXPECT_EQ(cost.efficiency[3], 1);
  for (std::size_t protocol = 0; protocol < protocol_count; ++protocol) {
    EXPECT_DOUBLE_EQ(cost.protocols[protocol].alpha[3].value,
                     0.1 * start_.protocols[protocol].alpha[3].value);
  }
}

TEST_F(NetworkFitOfH100, needs_a_row) {
  EXPECT_NE(test::error_of([&] { fitted(FitRows(start_)); }).find("no recorded rows"),
            std::string::npos);
}

TEST(NetworkSpread, knows_a_transport_and_else_any) {
  const NetworkSpread ib = load_network_spread("ib");
  EXPECT_GT(ib.rate, 0);
  EXPECT_GT(ib.latency.value, 0);
  EXPECT_GE(ib.machines, 2);
  const NetworkSpread any = load_network_spread("a new one");
  EXPECT_GT(any.machines, ib.machines);
}

}  // namespace
}  // namespace collsim
