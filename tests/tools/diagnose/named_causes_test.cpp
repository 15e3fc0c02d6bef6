// Causes that are simulated alike are told apart by lines of the log; two at once are found.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "models/calibration/transport.h"
#include "models/imports/machine.h"
#include "tools/collsim/diagnose/diagnosis.h"

namespace collsim {
namespace {

/// All-reduce of 16 ranks on two DGX H100, at four sizes.
class TwoHosts : public testing::Test {
 protected:
  TwoHosts() {
    EvidenceSeries& series = evidence.series.emplace_back();
    series.call.nodes = 2;
    series.call.ranks = 16;
    for (const std::int64_t mib : {1, 8, 32, 256}) {
      EvidencePoint point;
      point.size.count = mib << 20;
      series.points.push_back(point);
    }
  }

  std::vector<Hypothesis> hypotheses() const {
    return hypotheses_for(predictor.compiler_of(evidence.series[0].call), evidence.series[0].call);
  }
  /// Takes what a change predicts for what was measured.
  void measure(const Deviation& change) {
    const auto simulated = predictor.simulate(change, points);
    ASSERT_TRUE(simulated);
    for (std::size_t i = 0; i < points.size(); ++i) {
      evidence.series[0].points[i].measured.value = std::exp(simulated->log_times[i]);
    }
  }
  std::vector<CauseGroup> groups(const LogFacts& facts) const {
    std::vector<Hypothesis> all = hypotheses();
    weigh_by_facts(facts, {}, all);
    return posterior_of(fit_causes(predictor, all, points, load_spread()), {-100, -100}).causes;
  }

  const Topology topology = load_machine("dgx-h100-x4").topology;
  const Calibration cost = calibration_for(topology);
  Evidence evidence{};
  const LogPredictor predictor{evidence, topology, cost, default_nccl_version};
  const std::vector<PointIndex> points{{0, 0}, {0, 1}, {0, 2}, {0, 3}};
};

TEST(CauseTable, rows_name_causes_and_lines_that_there_are) {
  const std::vector<CauseRow> rows = load_causes();
  LogFacts facts;
  facts.any = true;  // and no other line, so that every word of a row is looked up
  for (const CauseRow& row : rows) {
    const std::string& alone = row.like.empty() ? row.cause : row.like;
    EXPECT_EQ(cause_row(rows, alone).cause, alone);
    std::vector<Hypothesis> one(1);
    one.front().signs = row.signs;
    EXPECT_NO_THROW(weigh_by_facts(facts, {}, one)) << row.cause;
  }
}

const Hypothesis& named(const std::vector<Hypothesis>& all, const std::string& cause) {
  return *std::find_if(all.begin(), all.end(),
                       [&](const Hypothesis& each) { return each.cause == cause; });
}

TEST_F(TwoHosts, have_a_check_and_a_remedy_for_every_cause) {
  for (const Hypothesis& each : hypotheses()) {
    EXPECT_FALSE(each.check.empty()) << each.cause;
    EXPECT_FALSE(each.remedy.empty()) << each.cause;
  }
}

// NICs at 0.4 of their rate: lines say which of the ways to lose GPUDirect it is.
TEST_F(TwoHosts, name_why_gpudirect_is_off) {
  measure(named(hypotheses(), "no-gpudirect").change(0.4));
  LogFacts facts;
  facts.any = true;
  facts.transports[LogTransport::rdma] = {2, "line"};
  facts.too_far = {1, "GPU Direct RDMA Disabled for GPU 0 / HCA 1 (distance 7 > 5)"};
  EXPECT_EQ(groups(facts).front().causes.front().hypothesis.cause, "gdr-level");
  facts.too_far = {};
  facts.no_gpudirect = true;
  EXPECT_EQ(groups(facts).front().causes.front().hypothesis.cause, "no-peermem");
  facts.no_gpudirect = false;
  facts.transports.clear();
  facts.transports[LogTransport::rdma_gpudirect] = {2, "line"};
  const std::string with_gpudirect = groups(facts).front().causes.front().hypothesis.cause;
  EXPECT_NE(with_gpudirect, "no-gpudirect");
  EXPECT_NE(with_gpudirect, "no-peermem");
}

// One host of two has lost it: the line says which.
TEST_F(TwoHosts, name_the_host_without_gpudirect) {
  LogFacts facts;
  facts.any = true;
  facts.transports[LogTransport::rdma_gpudirect] = {2, "line"};
  facts.transports[LogTransport::rdma] = {2, "line"};
  facts.hosts_with_gpudirect = {"h1"};
  facts.hosts_without_gpudirect = {"h2"};
  std::vector<Hypothesis> all = hypotheses();
  const double before = named(all, "no-peermem").weight;
  weigh_by_facts(facts, {}, all);
  EXPECT_GT(named(all, "no-peermem").weight, 100 * before);
  EXPECT_NE(named(all, "no-peermem").text.find("on h2"), std::string::npos);
}

// NCCL lists two NICs of eight; or all of them, of which one is a bond.
TEST_F(TwoHosts, weigh_nics_by_what_nccl_lists) {
  std::vector<Hypothesis> all = hypotheses();
  const double fewer = named(all, "fewer-nics").weight;
  const double bonded = named(all, "bonded-ports").weight;
  LogFacts facts;
  facts.any = true;
  facts.nics = {"mlx5_0", "mlx5_1"};
  weigh_by_facts(facts, {}, all);
  EXPECT_GT(named(all, "fewer-nics").weight, 100 * fewer);
  EXPECT_EQ(named(all, "bonded-ports").weight, bonded);
  facts.nics = {"mlx5_bond_0", "mlx5_1", "mlx5_2", "mlx5_3",
                "mlx5_4",      "mlx5_5", "mlx5_6", "mlx5_7"};
  all = hypotheses();
  weigh_by_facts(facts, {}, all);
  EXPECT_LT(named(all, "fewer-nics").weight, 0.1 * fewer);
  EXPECT_GT(named(all, "bonded-ports").weight, 10 * bonded);
}

// A process that is bound to one core has none left for the thread that sends.
TEST_F(TwoHosts, weigh_the_sending_thread_by_its_cores) {
  std::vector<Hypothesis> all = hypotheses();
  const double before = named(all, "slow-proxy").weight;
  LogFacts facts;
  facts.any = true;
  facts.cores = 1;
  weigh_by_facts(facts, {}, all);
  EXPECT_GT(named(all, "slow-proxy").weight, 100 * before);
}

// NICs of another number or rate than was guessed are likelier than that all of them are slow, and
// no fault, up to a percent of noise. A machine that is known has no such question.
TEST_F(TwoHosts, are_asked_for_nics_that_were_guessed) {
  const RecordedCall& call = evidence.series[0].call;
  const auto all = hypotheses_for(predictor.compiler_of(call), call, true);
  for (const double fewer : {2.0, 4.0, 8.0}) {
    for (const double noise : {-0.01, 0.0, 0.01}) {
      measure(named(all, "other-nics").change(fewer));
      double sign = 1;
      for (EvidencePoint& point : evidence.series[0].points) {
        point.measured.value *= 1 + sign * noise;
        sign = -sign;
      }
      const auto found =
          posterior_of(fit_causes(predictor, all, points, load_spread()), {-100, -100}).causes;
      const FittedCause& first = found.front().causes.front();
      EXPECT_EQ(first.hypothesis.cause, "other-nics") << fewer << " " << noise;
      EXPECT_TRUE(first.hypothesis.is_question);
      EXPECT_EQ(first.value, fewer) << noise;
    }
  }
  for (const Hypothesis& each : hypotheses()) EXPECT_FALSE(each.is_question) << each.cause;
}

// A fault of hosts that have other NICs than was guessed: neither alone explains the times. A rank
// that is late may share its GPU.
TEST_F(TwoHosts, are_told_a_fault_beside_nics_that_were_guessed) {
  const RecordedCall& call = evidence.series[0].call;
  const auto all = hypotheses_for(predictor.compiler_of(call), call, true);
  for (const double fewer : {4.0, 8.0}) {
    Deviation both = named(all, "late-rank").change(300);
    both.faults.links = named(all, "other-nics").change(fewer).faults.links;
    measure(both);
    const auto found =
        posterior_of(fit_causes(predictor, all, points, load_spread()), {-100, -100}).causes;
    const std::string& first = found.front().causes.front().hypothesis.cause;
    EXPECT_NE(first.find("other-nics"), std::string::npos) << first << " " << fewer;
    EXPECT_NE(first.find('+'), std::string::npos) << first << " " << fewer;
  }
}

// Nobody waits for a rank that is late to a call that moves nothing.
TEST_F(TwoHosts, are_not_late_to_calls_of_nothing) {
  RecordedCall call = evidence.series[0].call;
  call.collective = Collective::all_gather;
  const Deviation late = named(hypotheses(), "late-rank").change(100);
  const Bytes nothing{8};  // of 16 ranks
  for (const Method& method : {by_formulas(), by_quick_simulation()}) {
    EXPECT_EQ(predictor.time_of(call, late, nothing, method)->value,
              predictor.time_of(call, {}, nothing, method)->value);
  }
}

// One NIC is used, and times are half as long again as predicted, which other causes fit better.
TEST_F(TwoHosts, are_told_first_what_the_log_shows) {
  const Hypothesis fewer = named(hypotheses(), "fewer-nics");
  measure(fewer.change(1));
  for (EvidencePoint& point : evidence.series[0].points) point.measured.value *= 1.5;
  LogFacts facts;
  facts.any = true;
  facts.nics = {"mlx5_0"};
  const auto found = groups(facts);
  EXPECT_EQ(found.front().causes.front().hypothesis.cause, "fewer-nics");
  EXPECT_EQ(found.front().causes.front().value, 1);
}

// The same of a process on one core, of whose messages each comes later.
TEST_F(TwoHosts, are_told_of_one_core_before_a_slow_part) {
  measure(named(hypotheses(), "slow-messages").change(40));
  for (EvidencePoint& point : evidence.series[0].points) point.measured.value *= 1.3;
  LogFacts facts;
  facts.any = true;
  facts.cores = 1;
  EXPECT_EQ(groups(facts).front().causes.front().hypothesis.cause, "slow-proxy");
}

// Forty microseconds a message, whatever its size.
TEST_F(TwoHosts, tell_late_messages_from_a_low_rate) {
  measure(named(hypotheses(), "slow-messages").change(40));
  const auto found = groups({});
  const FittedCause& first = found.front().causes.front();
  EXPECT_EQ(first.hypothesis.cause, "slow-messages");
  EXPECT_NEAR(first.value, 40, 4);
}

// A slow network and a late rank: the one alone is wrong of small sizes, the other of large ones.
TEST_F(TwoHosts, may_have_two_causes_at_once) {
  std::vector<Hypothesis> some = hypotheses();
  std::erase_if(some, [](const Hypothesis& each) {
    return each.cause != "slow-network" && each.cause != "late-rank" && each.cause != "slow-slot";
  });
  Deviation both = named(some, "slow-network").change(0.05);
  both.faults.ranks = named(some, "late-rank").change(5000).faults.ranks;
  measure(both);
  const auto found = fit_causes(predictor, some, points, load_spread());
  EXPECT_NE(found.front().hypothesis.cause.find('+'), std::string::npos)
      << found.front().hypothesis.text;
  EXPECT_LT(found.front().residual, 0.1);
}

/// What is found to be the matter with an all-reduce within a host that a change was made to, from
/// 1 KiB to 256 MiB; of causes that look the same, all.
std::vector<std::string> found_within(const std::string& machine, Rank ranks,
                                      const Deviation& change) {
  const Topology topology = load_machine(machine).topology;
  const Calibration cost = calibration_for(topology);
  Evidence evidence;
  EvidenceSeries& series = evidence.series.emplace_back();
  series.call.ranks = ranks;
  std::vector<PointIndex> points;
  for (std::int64_t size = 1 << 10; size <= 256 << 20; size *= 8) {
    points.push_back({0, series.points.size()});
    series.points.emplace_back().size.count = size;
  }
  const LogPredictor predictor(evidence, topology, cost, default_nccl_version);
  const auto simulated = predictor.simulate(change, points);
  if (!simulated) return {};
  for (std::size_t i = 0; i < points.size(); ++i) {
    series.points[i].measured.value = std::exp(simulated->log_times[i]);
  }
  const auto all = hypotheses_for(predictor.compiler_of(series.call), series.call);
  const auto groups =
      posterior_of(fit_causes(predictor, all, points, load_spread()), {-100, -100}).causes;
  std::vector<std::string> names;
  for (const FittedCause& cause : groups.front().causes) names.push_back(cause.hypothesis.cause);
  return names;
}

// Another process on a GPU makes small calls wait for its turn, and leaves about half of the GPU:
// that is one cause, whatever it leaves and wherever it is.
TEST(OneHost, is_told_of_a_gpu_that_is_shared) {
  struct Shared {
    std::string machine;
    Rank ranks = 0;
    RankFault fault;
  };
  const std::vector<Shared> cases{{"hgx-h200-4", 4, {3, microseconds(120), 0.46}},
                                  {"hgx-h200-4", 4, {0, microseconds(240), 0.52}},
                                  {"hgx-h200", 8, {5, microseconds(60), 0.5}},
                                  {"dgx-a100", 8, {2, microseconds(700), 0.48}},
                                  {"dgx-a100", 4, {1, microseconds(150), 0.52}}};
  for (const Shared& each : cases) {
    const auto found = found_within(each.machine, each.ranks, {{}, {{}, {each.fault}}});
    EXPECT_NE(std::find(found.begin(), found.end(), "shared-gpu"), found.end())
        << each.machine << " " << each.fault.late.value << ": " << found.front();
  }
}

// Half of the speed alone, or lateness alone, is no shared GPU.
TEST(OneHost, is_told_of_a_slow_or_a_late_rank_alone) {
  EXPECT_EQ(found_within("hgx-h200-4", 4, {{}, {{}, {{3, {}, 0.5}}}}).front(), "slow-gpu");
  EXPECT_EQ(found_within("dgx-a100", 8, {{}, {{}, {{2, microseconds(300), 1}}}}).front(),
            "late-rank");
}

// What issues calls is slow on all ranks, so that each call takes longer by the same time.
TEST(OneHost, is_told_of_calls_that_are_issued_late) {
  const auto found = found_within("hgx-h200-4", 4, {{}, {{}, {}, {{0, microseconds(12), 1}}}});
  EXPECT_NE(std::find(found.begin(), found.end(), "late-calls"), found.end()) << found.front();
}

}  // namespace
}  // namespace collsim
