// Recorded rows against predictions: every row is compared or left out with a reason.

#include "models/validation/validation.h"

#include <gtest/gtest.h>

#include <string>

#include "models/calibration/transport.h"
#include "models/call/prediction.h"
#include "models/call/rank_gpus.h"
#include "models/estimate/estimator.h"
#include "models/predict/predictor.h"
#include "models/validation/recorded_call.h"
#include "sim/base/data_directory.h"
#include "sim/topologies/loader.h"

namespace collsim {
namespace {

RecordedRow row_of(Collective collective, Rank ranks, std::int64_t size) {
  RecordedRow row;
  row.id = "x";
  row.collective_name = to_string(collective);
  row.collective = collective;
  row.ranks = ranks;
  row.size.count = size;
  row.time = microseconds(20);
  row.iterations = 5;
  row.variables = {{"NCCL_NVLS_ENABLE", "0"}};
  return row;
}

class ValidationOfH200 : public testing::Test {
 protected:
  Validation validated(std::vector<RecordedRow> rows, const ValidationOptions& options = {}) const {
    Recording recording;
    recording.rows = std::move(rows);
    return validate(recording, topology_, cost_, options);
  }

  Topology topology_ = load_topology(find_data_file("hgx-h200", "topologies"));
  Calibration cost_ = calibration_for(topology_);
};

// Four nodes of eight. A torn name is one host more, so that 32 ranks are on 5; eight hosts of four
// could be true elsewhere, and 24 ranks may be anywhere.
TEST(HostsOfACluster, are_the_machine_s_where_all_its_gpus_have_ranks) {
  const Hosts hosts(load_topology(find_data_file("dgx-h100-x4", "topologies")));
  RecordedRow row = row_of(Collective::all_reduce, 32, 1 << 20);
  row.nodes = 5;
  EXPECT_EQ(hosts.with_defaults(row).nodes, 4U);
  row.nodes = 8;
  EXPECT_EQ(hosts.with_defaults(row).nodes, 8U);
  row.ranks = 24;
  row.nodes = 5;
  EXPECT_EQ(hosts.with_defaults(row).nodes, 5U);
}

// A GPU has 478.08 GB/s of NVLink and 63 of PCIe on the wire, and the NVSwitches add up: 1 GiB
// crosses them in 1984.44 us at the least.
TEST_F(ValidationOfH200, rows_faster_than_the_machine_allows_are_refused_by_line) {
  RecordedRow impossible = row_of(Collective::all_reduce, 2, 1 << 30);
  impossible.line = 7;
  impossible.time = microseconds(1984.4);
  RecordedRow possible = impossible;
  possible.time = microseconds(1984.5);
  const Validation validation = validated({impossible, possible});
  EXPECT_EQ(validation.rows.size(), 1U);
  ASSERT_EQ(validation.left_out.size(), 1U);
  const auto& [reason, rows] = *validation.left_out.begin();
  EXPECT_EQ(rows.rows, 1U);
  EXPECT_EQ(rows.first_id, "x");
  EXPECT_EQ(reason,
            "impossible: line 7, 1073741824 B in 1984.40 us, and no algorithm on this machine can "
            "beat 1984.44 us");
}

// As a compiler of the same run says; for a collective with a root with as many calls in a row.
TEST_F(ValidationOfH200, predictions_are_those_of_the_rows_run) {
  RecordedRow forced = row_of(Collective::all_reduce, 2, 1 << 20);
  forced.variables["NCCL_ALGO"] = "Tree";
  ValidationOptions options;
  options.nccl_version = {2, 28};
  const Validation validation =
      validated({forced, row_of(Collective::broadcast, 4, 1 << 20)}, options);
  ASSERT_EQ(validation.rows.size(), 2U);
  RunSpec run;
  run.schedule = ScheduleKind::nccl;
  run.algorithm = "auto";
  run.nccl_version = {2, 28};
  run.variables = forced.variables;
  const CallCompiler tree(
      {&topology_, cost_, Collective::all_reduce, run, first_gpus(topology_, 2)});
  EXPECT_EQ(validation.rows[0].predicted, simulate(tree.plan(Bytes{1 << 20})).mean_over_ranks);
  EXPECT_EQ(validation.rows[0].algorithm, "tree");
  run.variables.erase("NCCL_ALGO");
  run.calls = 5;
  const CallCompiler broadcast(
      {&topology_, cost_, Collective::broadcast, run, first_gpus(topology_, 4)});
  EXPECT_EQ(validation.rows[1].predicted, simulate(broadcast.plan(Bytes{1 << 20})).mean_over_ranks);
}

TEST_F(ValidationOfH200, formulas_predict_what_an_estimator_says) {
  ValidationOptions options;
  options.analytic = true;
  RecordedRow row = row_of(Collective::all_reduce, 4, 1 << 24);
  row.time = microseconds(100);
  const Validation validation = validated({row}, options);
  ASSERT_EQ(validation.rows.size(), 1U);
  RunSpec run;
  run.schedule = ScheduleKind::nccl;
  run.algorithm = "auto";
  run.variables = row.variables;
  const CallCompiler compiler(
      {&topology_, cost_, Collective::all_reduce, run, first_gpus(topology_, 4)});
  EXPECT_EQ(validation.rows[0].predicted, Estimator(compiler).estimate(Bytes{1 << 24}).time);
  EXPECT_TRUE(validation.rows[0].analytic);
  EXPECT_FALSE(validated({row}).rows[0].analytic);
}

// 1,024 ranks: as `collsim run` answers, by a smaller cluster.
TEST(Validation, clusters_are_scaled_as_elsewhere) {
  const Topology topology = load_topology(find_data_file("dgx-h100-x128-roce", "topologies"));
  const Calibration cost = calibration_for(topology);
  RecordedRow row = row_of(Collective::all_reduce, 1024, 1 << 20);
  row.nodes = 128;
  row.time = Seconds{1};
  row.variables["NCCL_ALGO"] = "Ring";
  Recording recording;
  recording.rows = {row};
  const Validation validation = validate(recording, topology, cost, {});
  ASSERT_EQ(validation.rows.size(), 1U);
  RunSpec run;
  run.schedule = ScheduleKind::nccl;
  run.algorithm = "auto";
  run.variables = row.variables;
  const CallCompiler compiler(
      {&topology, cost, Collective::all_reduce, run, first_gpus(topology, 1024)});
  const Prediction scaled = Predictor(compiler).predict(Bytes{1 << 20});
  EXPECT_EQ(scaled.extent, Extent::scaled);
  EXPECT_EQ(validation.rows[0].predicted, scaled.mean_over_ranks);
}

TEST_F(ValidationOfH200, rows_without_a_prediction_are_counted_by_reason) {
  std::vector<RecordedRow> rows(7, row_of(Collective::all_reduce, 8, 64));
  rows[0].collective.reset();
  rows[0].collective_name = "launch";
  rows[1].mode = CallMode::graph;
  rows[2].ranks = 16;
  rows[3].nodes = 4;
  rows[4].wrong = true;
  rows[5].variables["NCCL_ALGO"] = "NVLS";  // switched off besides
  const Validation validation = validated(rows);
  EXPECT_EQ(validation.rows.size(), 1U);
  std::size_t left_out = 0;
  for (const auto& [reason, count] : validation.left_out) {
    EXPECT_FALSE(reason.empty());
    left_out += count.rows;
  }
  EXPECT_EQ(left_out, 6U);
  EXPECT_EQ(validation.left_out.size(), 6U);
  EXPECT_EQ(validation.left_out.at("4 hosts of 2 GPUs, which the machine has not").first_id, "x");
}

// Out of place an all_gather's ranks also copy their own block; an all_reduce does the same.
TEST_F(ValidationOfH200, rows_in_place_are_predicted_in_place) {
  std::vector<RecordedRow> rows(2, row_of(Collective::all_gather, 2, 64 << 20));
  rows.resize(4, row_of(Collective::all_reduce, 2, 1 << 20));
  rows[1].in_place = rows[3].in_place = true;
  rows[0].time = rows[1].time = microseconds(200);  // 32 MiB need 70 us of a link
  const Validation validation = validated(rows);
  ASSERT_EQ(validation.rows.size(), 4U);
  EXPECT_LT(validation.rows[1].predicted, validation.rows[0].predicted);
  EXPECT_EQ(validation.rows[3].predicted, validation.rows[2].predicted);
}

TEST_F(ValidationOfH200, threads_change_nothing) {
  std::vector<RecordedRow> rows;
  for (const Rank ranks : {2U, 3U, 4U, 8U}) {
    for (const Collective collective : {Collective::all_reduce, Collective::all_gather}) {
      for (const std::int64_t size : {8, 1 << 16, 1 << 20}) {
        rows.push_back(row_of(collective, ranks, size));
      }
    }
  }
  ValidationOptions several;
  several.threads = 5;
  const Validation one = validated(rows);
  const Validation five = validated(rows, several);
  ASSERT_EQ(one.rows.size(), rows.size());
  ASSERT_EQ(five.rows.size(), rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(one.rows[i].predicted, five.rows[i].predicted);
    EXPECT_EQ(five.rows[i].recorded.size, rows[i].size);
  }
}

TEST_F(ValidationOfH200, options_pick_rows) {
  std::vector<RecordedRow> rows(3, row_of(Collective::all_reduce, 2, 64));
  rows[0].id = "forced/4";
  rows[1].in_place = true;
  rows[2].collective = Collective::broadcast;
  ValidationOptions options;
  options.id = "forced";
  EXPECT_EQ(validated(rows, options).rows.size(), 1U);
  options = {};
  options.in_place = true;
  EXPECT_EQ(validated(rows, options).rows.size(), 1U);
  options = {};
  options.collective = Collective::broadcast;
  const Validation broadcasts = validated(rows, options);
  EXPECT_EQ(broadcasts.rows.size(), 1U);
  EXPECT_TRUE(broadcasts.left_out.empty());
}

// Four GPUs: 4 x 5 us, and 4 x 0.1 us a channel; with releases up to 2.18 three times that.
TEST(CostOfRecordedCall, counts_the_issue_for_each_gpu_of_a_process) {
  Calibration cost;
  cost.issue = microseconds(5);
  cost.issue_per_channel = microseconds(0.1);
  RecordedCall call;
  call.gpus_per_process = 4;
  const auto of_nine_channels = [&](NcclVersion version) {
    const Seconds time = cost_of(call, cost, version).issue_of(Collective::all_reduce, 8, 9);
    return in_microseconds(time);
  };
  EXPECT_DOUBLE_EQ(of_nine_channels({2, 28}), 20 + 8 * 0.4);
  EXPECT_DOUBLE_EQ(of_nine_channels({2, 18}), 20 + 8 * 1.2);
}

}  // namespace
}  // namespace collsim
