// Which fits are plausible: by their constants, and by the rate that links come out at.

#include "tools/collsim/calibrate/plausibility.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "models/calibration/calibration_file.h"
#include "models/calibration/transport.h"
#include "sim/base/data_directory.h"
#include "sim/topologies/loader.h"
#include "tests/support/test_data.h"
#include "tools/collsim/calibrate/fit_constants.h"
#include "tools/collsim/calibrate/parameter.h"
#include "tools/collsim/calibrate/whole_calibration.h"

namespace collsim {
namespace {

Topology shipped(const char* name) {
  return load_topology(find_data_file(name, "topologies"));
}

// The ranges are of healthy machines, which those are that we ship constants of.
TEST(Plausibility, every_shipped_constant_is_plausible) {
  const ShippedData data;
  for (const char* name : {"a100", "b200", "h100", "h200", "h200-4-tcp", "h200-tcp", "hgx-h200-4",
                           "hgx-h200", "pcie", "v100"}) {
    const TextFile file =
        read_text_file(find_data_file(name, "models/data/calibrations"), "a calibration file");
    const CalibrationText text = whole_calibration(file);
    const FitConstants constants(text, read_calibration(file), {});
    CalibrationFit fit;
    for (const Parameter& parameter : fit_parameters()) {
      if (!text.states(parameter.name)) continue;
      FittedConstant constant{parameter};
      constant.value = constants.stated(parameter);
      constant.determination = Determination::fitted;
      fit.constants.push_back(constant);
    }
    EXPECT_FALSE(fit.constants.empty());
    for (const std::string& sentence : implausible_constants(fit))
      ADD_FAILURE() << name << ": " << sentence;
  }
}

TEST(Plausibility, ranges_hold_times_rates_and_factors) {
  CalibrationFit fit;
  for (const Parameter& parameter : fit_parameters()) {
    if (parameter.name != "launch" && parameter.name != "simple.write" &&
        parameter.name != "efficiency.nvlink") {
      continue;
    }
    FittedConstant constant{parameter};
    constant.determination = Determination::fitted;
    constant.value = parameter.name == "launch"         ? 500e-6
                     : parameter.name == "simple.write" ? 1e9
                                                        : 0.35;
    fit.constants.push_back(constant);
  }
  EXPECT_EQ(implausible_constants(fit).size(), 3U);
  // What was kept as it was, nobody has fitted.
  for (FittedConstant& constant : fit.constants) {
    constant.determination = Determination::undetermined;
  }
  EXPECT_TRUE(implausible_constants(fit).empty());
}

// Simple's bytes count 2.77 times: a large call takes 2.77 times as long, which `collsim diagnose`
// calls low on a machine that is known to 9 %.
TEST(Plausibility, a_large_call_far_below_what_is_expected_is_noticed) {
  const Topology topology = shipped("hgx-h200-4");
  Calibration cost = calibration_for(topology);
  EXPECT_DOUBLE_EQ(large_call(topology, 4, cost).ratio(), 1);
  EXPECT_TRUE(objections_to({}, topology, 4, cost).empty());
  cost.protocols[static_cast<std::size_t>(Protocol::simple)].wire_factor = 2.77;
  EXPECT_NEAR(large_call(topology, 4, cost).ratio(), 1 / 2.77, 0.05);
  EXPECT_EQ(objections_to({}, topology, 4, cost).size(), 1U);
}

// Two L40S talk through host memory, at less than half of what PCIe promises. That is healthy
// there, for `collsim diagnose` and for a fit alike.
TEST(Plausibility, of_gpus_on_pcie_is_what_diagnose_calls_healthy) {
  const ShippedData data;
  const Topology topology = shipped("l40s-2");
  const Calibration cost = calibration_for(topology);
  EXPECT_EQ(large_call(topology, 2, cost).verdict, Verdict::healthy);
  EXPECT_TRUE(objections_to({}, topology, 2, cost).empty());
}

}  // namespace
}  // namespace collsim
