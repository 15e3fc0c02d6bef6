// Constants that made a recording are found again in it; those that it does not show are named.

#include "tools/collsim/calibrate/calibration_fit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "models/calibration/calibration_file.h"
#include "models/call/prediction.h"
#include "sim/base/data_directory.h"
#include "sim/base/input_error.h"
#include "sim/base/text_file.h"
#include "sim/topologies/loader.h"
#include "tools/collsim/calibrate/fitted_calibration.h"

namespace collsim {
namespace {

Parameter parameter(const std::string& name) {
  return parameters_named({name}).front();
}

class CalibrationFitOfH200 : public testing::Test {
 protected:
  MachineOf on_machine() const {
    return [this](const RecordedRow&) -> const Topology& { return topology_; };
  }

  /// Rings of 2 and 4 GPUs with `channels` each, with these costs and 2 % of noise; every 17th time
  /// is three times too long.
  Recording recorded(const Calibration& cost, const std::vector<std::string>& protocols) const {
    Recording recording;
    std::mt19937 random(7);
    std::normal_distribution<double> noise(0, 0.02);
    for (const std::string& protocol : protocols) {
      for (const Rank ranks : {2U, 4U}) {
        for (const char* channels : {"1", "4", "16"}) {
          RecordedRow row;
          row.id = protocol + "/" + channels;
          row.collective = Collective::all_reduce;
          row.ranks = ranks;
          row.variables = {{"NCCL_ALGO", "Ring"},
                           {"NCCL_PROTO", protocol},
                           {"NCCL_NVLS_ENABLE", "0"},
                           {"NCCL_MIN_NCHANNELS", channels},
                           {"NCCL_MAX_NCHANNELS", channels}};
          const CallCompiler truth(spec_of(call_of(row), topology_, cost, default_nccl_version));
          for (row.size.count = 256; row.size.count <= 4 << 20; row.size.count *= 4) {
            const double factor = recording.rows.size() % 17 == 3 ? 3 : std::exp(noise(random));
            row.time = factor * simulate(truth.plan(row.size)).mean_over_ranks;
            recording.rows.push_back(row);
          }
        }
      }
    }
    return recording;
  }

  CalibrationFit fitted(const Recording& recording, CalibrationFitOptions options,
                        const FitSelection& selection = {}) const {
    FitRows rows(start_);
    rows.add(recording, on_machine(), selection);
    options.sizes = 0;
    return fit_calibration(rows, text_, start_, options);
  }

  static const FittedConstant& constant(const CalibrationFit& fit, const std::string& name) {
    return *std::find_if(fit.constants.begin(), fit.constants.end(),
                         [&](const FittedConstant& each) { return each.parameter.name == name; });
  }

  /// The start with constants multiplied.
  Calibration changed(const std::map<std::string, double>& factors) const {
    Calibration cost = start_;
    for (const auto& [name, factor] : factors) parameter(name).in(cost) *= factor;
    return cost;
  }

  Topology topology_ = load_topology(find_data_file("hgx-h200", "topologies"));
  TextFile file_ =
      read_text_file(find_data_file("hgx-h200", "models/data/calibrations"), "a calibration");
  CalibrationText text_{file_};
  Calibration start_ = read_calibration(file_);
};

// The truth is up to 50 % away from the start. Of four 95 % intervals all hold it, with this noise.
TEST_F(CalibrationFitOfH200, finds_the_constants_that_made_a_recording) {
  const std::map<std::string, double> factors{
      {"simple.step", 1.5}, {"simple.alpha.nvlink", 1.5}, {"simple.write", 0.6}, {"ll.wait", 1.4}};
  const Calibration truth = changed(factors);
  CalibrationFitOptions options;
  for (const auto& [name, factor] : factors) options.names.push_back(name);
  const CalibrationFit fit = fitted(recorded(truth, {"Simple", "LL"}), options);
  for (const auto& [name, factor] : factors) {
    const FittedConstant& found = constant(fit, name);
    Calibration copy = truth;
    const double expected = found.parameter.in(copy);
    EXPECT_EQ(found.determination, Determination::fitted) << name;
    EXPECT_NEAR(found.value, expected, 0.1 * expected) << name;
    EXPECT_LE(found.min, expected) << name;
    EXPECT_GE(found.max, expected) << name;
    EXPECT_LT(found.max / found.min, 1.6) << name;
  }
  EXPECT_FALSE(fit.stopped);
}

// The truth lies log(1.5) = 0.41 from the start, which is 81 deviations of this prior. The rows
// cannot win: even if all 48 were 0.41 off, with a loss as wide as 0.05 they would lose 48 log(1
// + 8.1^2) = 202, the prior 81^2 / 2 = 3,300.
TEST_F(CalibrationFitOfH200, stays_near_the_start_where_a_prior_is_narrow) {
  const Calibration truth = changed({{"simple.step", 1.5}});
  CalibrationFitOptions options;
  options.names = {"simple.step"};
  const Recording recording = recorded(truth, {"Simple"});
  const FittedConstant free = constant(fitted(recording, options), "simple.step");
  EXPECT_NEAR(free.value, 1.5 * free.start, 0.1 * free.start);
  options.prior = 0.005;
  const FittedConstant held = constant(fitted(recording, options), "simple.step");
  EXPECT_NEAR(held.value, held.start, 0.1 * held.start);
  EXPECT_GT(held.value, held.start);
}

// A hop waits for the longer of alpha and what the thread block does meanwhile: with a step longer
// than alpha, a smaller alpha would change nothing, one a fifth larger would.
TEST_F(CalibrationFitOfH200, does_not_trust_the_slope_at_a_bend) {
  CalibrationFitOptions options;
  options.names = {"simple.step", "simple.alpha.nvlink"};
  const Calibration truth = changed({{"simple.step", 1.1}, {"simple.alpha.nvlink", 0.65}});
  const CalibrationFit fit = fitted(recorded(truth, {"Simple"}), options);
  EXPECT_EQ(constant(fit, "simple.alpha.nvlink").determination, Determination::undetermined);
}

// Over NVLink nothing shows what PCIe costs, nor LL128 where it does not run, nor rings what
// the code of trees takes.
TEST_F(CalibrationFitOfH200, names_what_rows_do_not_determine) {
  CalibrationFitOptions options;
  options.names = {"simple.step", "corrections.overlap", "simple.alpha.pcie", "ll128.step"};
  const CalibrationFit fit =
      fitted(recorded(changed({{"corrections.overlap", 2}}), {"Simple"}), options);
  EXPECT_EQ(constant(fit, "simple.step").determination, Determination::fitted);
  EXPECT_EQ(constant(fit, "simple.alpha.pcie").determination, Determination::hidden);
  EXPECT_EQ(constant(fit, "ll128.step").determination, Determination::hidden);
  EXPECT_EQ(constant(fit, "launch").determination, Determination::not_asked);
  const FittedConstant& fan = constant(fit, "corrections.overlap");
  EXPECT_EQ(fan.determination, Determination::hidden);
  EXPECT_EQ(fan.value, fan.start);
  EXPECT_FALSE(why_kept(fan).empty());
}

// Launch and setup are paid together, once per call: under one protocol only their sum is known.
TEST_F(CalibrationFitOfH200, one_of_two_that_only_count_together_is_kept) {
  CalibrationFitOptions options;
  options.names = {"launch", "simple.setup"};
  const CalibrationFit fit = fitted(recorded(changed({{"launch", 1.5}}), {"Simple"}), options);
  const FittedConstant& launch = constant(fit, "launch");
  const FittedConstant& setup = constant(fit, "simple.setup");
  EXPECT_NE(launch.determination, setup.determination);
  const double expected = 1.5 * start_.launch.value + start_.of(Protocol::simple).setup.value;
  EXPECT_NEAR(launch.value + setup.value, expected, 0.05 * expected);
}

TEST_F(CalibrationFitOfH200, rows_held_out_do_not_count) {
  Recording recording = recorded(changed({{"simple.step", 1.5}}), {"Simple"});
  for (RecordedRow& row : recording.rows) {
    if (row.ranks == 4) row.time = 10 * row.time;
  }
  FitSelection selection;
  selection.held_out.emplace_back("ranks=4");
  CalibrationFitOptions options;
  options.names = {"simple.step"};
  const CalibrationFit fit = fitted(recording, options, selection);
  const FittedConstant& slice = constant(fit, "simple.step");
  EXPECT_NEAR(slice.value, 1.5 * slice.start, 0.05 * slice.start);
  EXPECT_EQ(fit.rows, recording.rows.size() / 2);
}

TEST_F(CalibrationFitOfH200, ends_where_told_with_the_best_so_far) {
  const Recording recording = recorded(changed({{"simple.step", 1.5}}), {"Simple"});
  CalibrationFitOptions options;
  options.names = {"simple.step"};
  bool stepped = false;
  options.progress = [&](const std::string& what) {
    stepped = stepped || what.find("step 1") != std::string::npos;
  };
  options.stop = [&] { return stepped; };
  const CalibrationFit fit = fitted(recording, options);
  EXPECT_TRUE(fit.stopped);
  const FittedConstant& slice = constant(fit, "simple.step");
  EXPECT_GT(slice.value, 1.1 * slice.start);
  EXPECT_EQ(slice.max, 0);
}

// As on several threads, so on one.
TEST_F(CalibrationFitOfH200, threads_change_nothing) {
  const Recording recording = recorded(changed({{"simple.step", 1.5}}), {"Simple"});
  CalibrationFitOptions options;
  options.names = {"simple.step", "simple.alpha.nvlink"};
  const CalibrationFit one = fitted(recording, options);
  options.threads = 5;
  const CalibrationFit five = fitted(recording, options);
  for (std::size_t i = 0; i < one.constants.size(); ++i) {
    EXPECT_EQ(one.constants[i].value, five.constants[i].value);
  }
}

TEST_F(CalibrationFitOfH200, without_rows_there_is_nothing_to_fit_to) {
  EXPECT_THROW(fitted({}, {}), InputError);
  FitSelection all_held_out;
  all_held_out.held_out.emplace_back("*");
  EXPECT_THROW(fitted(recorded(start_, {"LL"}), {}, all_held_out), InputError);
}

// What NCCL chose is not what we think it chooses: its time says nothing of our plan.
TEST_F(CalibrationFitOfH200, rows_of_another_algorithm_are_not_used) {
  Recording recording = recorded(start_, {"Simple"});
  recording.rows[0].algorithm = NcclAlgorithm::tree;
  recording.rows[1].protocol = Protocol::ll;
  recording.rows[2].algorithm = NcclAlgorithm::ring;
  FitRows rows(start_);
  rows.add(recording, on_machine(), {});
  EXPECT_EQ(rows.rows().size(), recording.rows.size() - 2);
  EXPECT_TRUE(rows.left_out().contains("NCCL ran tree/simple, where we think ring/simple"));
}

TEST(ParametersNamed, take_patterns) {
  const auto alphas = parameters_named({"*.alpha.nvlink", "launch"});
  ASSERT_EQ(alphas.size(), 4U);  // of three protocols
  EXPECT_EQ(alphas.front().name, "launch");
  EXPECT_THROW(parameters_named({"simple.alhpa"}), InputError);
}

}  // namespace
}  // namespace collsim
