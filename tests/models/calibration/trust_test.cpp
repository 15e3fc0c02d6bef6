// How far to trust a prediction: the worst of what the call uses.

#include "models/calibration/trust.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "models/calibration/calibration_file.h"
#include "models/calibration/transport.h"
#include "models/call/prediction.h"
#include "models/call/rank_gpus.h"
#include "models/estimate/estimator.h"
#include "sim/base/data_directory.h"
#include "sim/topologies/loader.h"
#include "tests/support/error_of.h"

namespace collsim {
namespace {

struct Asked {
  std::string machine;
  Rank ranks;
  std::string algorithm = "ring";
  std::string calibration{};
  ScheduleKind schedule = ScheduleKind::nccl;
};

Trust trust_in(const Asked& asked) {
  const Topology topology = load_topology(find_data_file(asked.machine, "topologies"));
  const Calibration cost =
      asked.calibration.empty()
          ? calibration_for(topology)
          : load_calibration(find_data_file(asked.calibration, "models/data/calibrations"));
  RunSpec run;
  run.algorithm = asked.algorithm;
  run.schedule = asked.schedule;
  const CallCompiler compiler(
      {&topology, cost, Collective::all_reduce, run, first_gpus(topology, asked.ranks)});
  return Estimator(compiler).estimate(Bytes{1 << 20}).trust;
}

TEST(Trust, a_machine_that_was_fitted_to_is_measured) {
  EXPECT_EQ(trust_in({"hgx-h200", 8}), Trust::measured);
  EXPECT_EQ(trust_in({"hgx-h200", 8, "tree"}), Trust::measured);
  EXPECT_EQ(trust_in({"hgx-h200-4", 4}), Trust::measured);
  EXPECT_EQ(trust_in({"one-gpu-ethernet-5g", 4}), Trust::measured);
}

TEST(Trust, another_generation_is_derived) {
  EXPECT_EQ(trust_in({"dgx-a100", 8}), Trust::derived);
  EXPECT_EQ(trust_in({"dgx-1-v100", 8}), Trust::derived);
  EXPECT_EQ(trust_in({"dgx-b200", 8}), Trust::derived);
}

// The GPUs are derived, the transport is measured: the worse of the two counts. With the GPUs' part
// alone, as default.yaml has it, the network is guessed.
TEST(Trust, a_call_between_nodes_is_as_sure_as_the_worse_of_gpus_and_transport) {
  EXPECT_EQ(trust_in({"dgx-h100-x4", 8}), Trust::derived);
  EXPECT_EQ(trust_in({"dgx-h100-x4", 16}), Trust::derived);
  EXPECT_EQ(trust_in({"dgx-h100-x4", 16, "ring", "default"}), Trust::guessed);
}

TEST(Trust, an_algorithm_that_nobody_measured_is_guessed) {
  EXPECT_EQ(trust_in({"hgx-h200", 8, "nvls"}), Trust::guessed);
}

Calibration calibration_with(const std::string& lines) {
  return read_calibration(
      {"mine.yaml", "collsim: calibration/1\nname: mine\nsource: me\ndate: 2026-01-01\n" + lines});
}

// Of NVLS the worst of the GPUs, their links and what NVSwitches take; by name, as their file says.
TEST(Trust, of_nvls_is_that_of_gpus_and_switches) {
  const std::vector<LinkKind> nvlink{LinkKind::nvlink};
  const Topology topology = load_topology(find_data_file("hgx-h200", "topologies"));
  const auto trust = [&](const std::string& lines) {
    return trust_of(calibration_with("extends: hgx-h200\n" + lines).trust, topology,
                    topology.gpus(), nvlink, "nvls", false);
  };
  EXPECT_EQ(trust("trust: { gpu: measured, nvlink: measured }\n"), Trust::guessed);
  EXPECT_EQ(trust("trust: { gpu: measured, nvlink: measured, nvls: derived }\n"), Trust::derived);
  EXPECT_EQ(trust("trust: { gpu: measured, nvlink: measured }\nnvls: nvls\n"), Trust::measured);
  EXPECT_EQ(trust("trust: { gpu: derived, nvlink: measured }\nnvls: nvls\n"), Trust::derived);
}

TEST(Trust, a_calibration_of_another_gpu_is_guessed) {
  EXPECT_EQ(trust_in({"dgx-a100", 8, "ring", "hgx-h200"}), Trust::guessed);
}

TEST(Trust, a_textbooks_machine_is_exact_and_its_schedule_elsewhere_guessed) {
  EXPECT_EQ(trust_in({"switch-8", 8, "ring", "", ScheduleKind::textbook}), Trust::exact);
  EXPECT_EQ(trust_in({"hgx-h200", 8, "ring", "", ScheduleKind::textbook}), Trust::guessed);
}

// What it extends says it of other machines.
TEST(Trust, a_calibration_that_says_nothing_is_guessed) {
  const CalibrationTrust trust = calibration_with("extends: hgx-h200\n").trust;
  EXPECT_EQ(trust.gpu, Trust::guessed);
  EXPECT_EQ(trust.links[static_cast<std::size_t>(LinkKind::nvlink)], Trust::guessed);
}

TEST(Trust, what_calibrate_has_fitted_is_measured) {
  const CalibrationTrust trust =
      calibration_with(
          "extends: hgx-h200\nprovenance:\n  fitted:\n    launch: [3 us, 4 us]\n"
          "    simple.alpha.nvlink: [1 us, 2 us]\n    ll.over.pcie.work: [1 us, 2 us]\n")
          .trust;
  EXPECT_EQ(trust.gpu, Trust::measured);
  EXPECT_EQ(trust.links[static_cast<std::size_t>(LinkKind::nvlink)], Trust::measured);
  EXPECT_EQ(trust.links[static_cast<std::size_t>(LinkKind::pcie)], Trust::measured);
  EXPECT_EQ(trust.links[static_cast<std::size_t>(LinkKind::network)], Trust::guessed);
}

TEST(Trust, a_class_that_does_not_exist_is_refused_at_its_place) {
  const std::string error =
      test::error_of([&] { return calibration_with("trust: { gpu: sure }\n"); });
  EXPECT_NE(error.find("mine.yaml:5:15"), std::string::npos) << error;
  EXPECT_NE(error.find("measured, derived or guessed"), std::string::npos);
}

}  // namespace
}  // namespace collsim
