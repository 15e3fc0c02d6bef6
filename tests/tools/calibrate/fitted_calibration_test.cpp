// A calibration file that was fitted: what is in it is what was found, and it can be read again.

#include "tools/collsim/calibrate/fitted_calibration.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "models/calibration/calibration_file.h"
#include "sim/base/data_directory.h"
#include "tools/collsim/calibrate/fit_constants.h"
#include "tools/collsim/calibrate/parameter.h"

namespace collsim {
namespace {

const TextFile small{"small.yaml",
                     "collsim: calibration/1\n"
                     "name: small\n"
                     "source: a test\n"
                     "date: 2026-11-21\n"
                     "protocols:\n"
                     "  ll:\n"
                     "    step: 1 us\n"
                     "    wait: 2 us\n"
                     "    warp: 256 B\n"
                     "    over: { pcie: { step: 3 us } }\n"};

double value_of(Calibration cost, const std::string& name) {
  return parameters_named({name}).front().in(cost);
}

/// All constants moved by a tenth, as fitted.
CalibrationFit moved_by_a_tenth(const CalibrationText& text, const Calibration& cost) {
  const FitConstants stated(text, cost, {});
  CalibrationFit fit;
  for (const Parameter& parameter : fit_parameters()) {
    const double start = stated.stated(parameter);
    const bool is_stated = text.states(parameter.name);
    const double value = is_stated ? std::max(0.9 * start, parameter.accepted.min) : start;
    fit.constants.push_back({parameter, start, value, 0.8 * value, value * 1.1,
                             is_stated ? Determination::fitted : Determination::hidden});
  }
  fit.correlated.push_back({"launch", "ll.setup", -0.97});
  return fit;
}

TEST(FittedCalibration, reads_back_as_it_was_fitted) {
  const TextFile file =
      read_text_file(find_data_file("hgx-h200", "models/data/calibrations"), "a calibration");
  const CalibrationText start(file);
  const CalibrationFit fit = moved_by_a_tenth(start, read_calibration(file));
  const FitPlan plan{"of \"mine\"\\", "2026-11-21", start.trust(), start, start};
  Provenance provenance;
  provenance.command = "collsim calibrate x.log -o y: # z";
  provenance.machine = {{"gpu", "NVIDIA H200"}, {"nccl", "2.28.9"}};
  provenance.recordings = {{"x.log", 12, 3}};
  FamilyScore held_out;
  held_out.all.rows = 3;
  const std::string text = fitted_calibration(plan, fit, provenance, {}, held_out);
  const Calibration cost = read_calibration({"y.yaml", text});
  EXPECT_EQ(cost.name, "of \"mine\"\\");
  for (const FittedConstant& constant : fit.constants) {
    const double expected = constant.value;
    const double read = value_of(cost, constant.parameter.name);
    // Ranges end at 1; printed to four digits.
    if (start.states(constant.parameter.name)) {
      EXPECT_NEAR(read, std::max(expected, constant.parameter.accepted.min), 5.1e-4 * expected)
          << constant.parameter.name;
    }
  }
  // What is no constant to be fitted is carried over.
  EXPECT_EQ(cost.of(Protocol::ll128).warp_granule, Bytes{1920});
}

TEST(CalibrationText, says_what_the_file_states) {
  const CalibrationText text(small);
  EXPECT_EQ(text.name(), "small");
  EXPECT_TRUE(text.states("ll.wait"));
  EXPECT_TRUE(text.states("ll.over.pcie"));
  EXPECT_TRUE(text.states("ll.over.pcie.step"));
  EXPECT_FALSE(text.states("ll.over.pcie.wait"));
  EXPECT_FALSE(text.states("launch"));
}

TEST(CalibrationText, adds_what_it_did_not_state) {
  CalibrationText text(small);
  text.set("launch", "7 us");
  text.set("simple.alpha.nvlink", "1 us");
  text.set("ll.over.pcie.wait", "4 us");
  const Calibration cost = read_calibration(
      {"", "collsim: calibration/1\nname: n\nsource: s\ndate: d\n" + text.constants()});
  EXPECT_EQ(value_of(cost, "launch"), 7e-6);
  EXPECT_EQ(value_of(cost, "simple.alpha.nvlink"), 1e-6);
  EXPECT_EQ(value_of(cost, "ll.over.pcie.wait"), 4e-6);
  EXPECT_EQ(value_of(cost, "ll.over.pcie.step"), 3e-6);
}

// ll.over.pcie says nothing of `wait`: reading the file takes the protocol's, so moving it must
// too.
TEST(FitConstants, of_a_link_kind_follow_the_protocols) {
  const CalibrationText text(small);
  const FitConstants constants(text, read_calibration(small), parameters_named({"ll.wait"}));
  const Calibration cost = constants.at({std::log(5e-6)});
  EXPECT_DOUBLE_EQ(value_of(cost, "ll.wait"), 5e-6);
  EXPECT_DOUBLE_EQ(value_of(cost, "ll.over.pcie.wait"), 5e-6);
  EXPECT_DOUBLE_EQ(value_of(cost, "ll.over.pcie.step"), 3e-6);
}

// Thread blocks over PCIe have constants of their own, with the protocol's alphas beside them.
TEST(FitConstants, of_a_link_kind_take_the_alphas_of_the_protocol) {
  const FitConstants constants(CalibrationText(small), read_calibration(small),
                               parameters_named({"ll.alpha.network"}));
  const Calibration cost = constants.at({std::log(7e-6)});
  const ProtocolConstants& ll = cost.protocols[static_cast<std::size_t>(Protocol::ll)];
  const auto& over_pcie =
      cost.over[static_cast<std::size_t>(Protocol::ll)][static_cast<std::size_t>(LinkKind::pcie)];
  ASSERT_TRUE(over_pcie.has_value());
  EXPECT_NEAR(ll.alpha[static_cast<std::size_t>(LinkKind::network)].value, 7e-6, 1e-15);
  EXPECT_EQ(over_pcie->alpha, ll.alpha);
}

TEST(FitConstants, stay_in_their_ranges) {
  const FitConstants constants(CalibrationText(small), read_calibration(small),
                               parameters_named({"efficiency.nvlink", "jitter"}));
  const Calibration cost = constants.at({std::log(3.0), std::log(0.9)});
  EXPECT_EQ(cost.efficiency[0], 1);  // at most all of it
  EXPECT_EQ(cost.jitter, max_jitter);
}

TEST(ParameterMeaning, every_constant_has_one) {
  for (const Parameter& parameter : fit_parameters()) {
    EXPECT_FALSE(parameter.meaning.empty()) << parameter.name;
  }
}

}  // namespace
}  // namespace collsim
