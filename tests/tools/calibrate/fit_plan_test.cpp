// Plans of fits: what they say, what is refused, and that shipped calibrations are as theirs say.

#include "tools/collsim/calibrate/fit_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>

#include "models/calibration/calibration_file.h"
#include "sim/base/input_error.h"
#include "tests/support/error_of.h"
#include "tests/support/temporary_file.h"
#include "tools/collsim/calibrate/calibration_fit.h"
#include "tools/collsim/calibrate/whole_calibration.h"

namespace collsim {
namespace {

const std::string constants =
    "collsim: calibration/1\n"
    "name: small\n"
    "source: a test\n"
    "date: 2026-11-21\n"
    "trust: { models: [H200], gpu: measured }\n"
    "launch: 3 us\n"
    "protocols: { simple: { step: 1 us } }\n";

const std::string recording = std::string(COLLSIM_SOURCE_DIR) + "/recordings/h200.csv";

FitPlan plan_with(const std::string& fit) {
  return read_fit_plan({"plan.yaml", constants + "fit:\n" + fit});
}

RecordedRow row(const std::string& id, std::int64_t size) {
  RecordedRow row;
  row.id = id;
  row.ranks = 8;
  row.collective = Collective::all_reduce;
  row.size = Bytes{size};
  return row;
}

TEST(FitPlan, says_what_is_fitted_to_what) {
  const FitPlan plan = plan_with(
      "  constants: [simple.*]\n"
      "  sizes: 4\n"
      "  prior: 50%\n"
      "  up_to: 1 MiB\n"
      "  recordings:\n"
      "    - file: " +
      recording +
      "\n"
      "      machine: hgx-h200\n"
      "      mode: graph\n"
      "      rows: [id=Ring*, id=Tree*]\n"
      "      fit: [id=Ring*]\n"
      "      weight: 2.5\n"
      "      with: { launch: 5 us }\n");
  EXPECT_EQ(plan.name, "small");
  EXPECT_EQ(plan.trust, "trust: { models: [H200], gpu: measured }\n");
  EXPECT_EQ(plan.constants, std::vector<std::string>{"simple.*"});
  EXPECT_EQ(plan.sizes, 4U);
  EXPECT_EQ(plan.prior, 0.5);
  EXPECT_EQ(plan.cost.launch, microseconds(3));
  ASSERT_EQ(plan.recordings.size(), 1U);
  const PlannedRecording& planned = plan.recordings.front();
  EXPECT_EQ(planned.machine, "hgx-h200");
  const FitSelection& selection = planned.selection;
  EXPECT_EQ(selection.rows.mode, CallMode::graph);
  EXPECT_EQ(selection.weight, 2.5);
  ASSERT_EQ(selection.pinned.size(), 1U);
  EXPECT_EQ(selection.pinned.front().parameter.name, "launch");
  EXPECT_DOUBLE_EQ(selection.pinned.front().value, 5e-6);
  RecordedRow used = row("Ring-LL-8", 1 << 20);
  EXPECT_TRUE(is_used(used, selection));
  EXPECT_TRUE(any_matches(*selection.fitted, used));
  used.size.count *= 2;
  EXPECT_FALSE(is_used(used, selection));
  EXPECT_FALSE(any_matches(*selection.fitted, row("Tree-LL-8", 8)));
}

TEST(FitPlan, what_is_wrong_is_told_by_line_and_column) {
  const auto error = [](const std::string& fit) {
    return test::error_of([&] { return plan_with(fit); });
  };
  const auto of_recording = [&](const std::string& keys) {
    return error("  constants: [launch]\n  recordings: [{ file: " + recording + ", " + keys +
                 " }]\n");
  };
  EXPECT_TRUE(error("  constants: [lunch]\n  recordings: []\n")
                  .starts_with("plan.yaml:9:15: no constant is called 'lunch'"));
  EXPECT_TRUE(error("  constants: [launch]\n  recordings: [{ file: nowhere.yaml }]\n")
                  .starts_with("plan.yaml:10:24: no file nowhere.yaml"));
  EXPECT_TRUE(of_recording("mode: eager").starts_with("plan.yaml:10:"));
  EXPECT_NE(of_recording("fit: [color=red]").find("rows 'color=red'"), std::string::npos);
  EXPECT_NE(of_recording("with: { launch: 5 GB }").find("'5 GB'"), std::string::npos);
  EXPECT_NE(error("  constants: [launch]\n  recordings: []\n  until: 1 MiB\n").find("until"),
            std::string::npos);
  EXPECT_FALSE(test::error_of([] { return read_fit_plan({"plan.yaml", constants}); }).empty());
}

// tools/dev/refit makes the files; here, that nobody changed one of the two by hand: constants that
// are not fitted are the plan's, those that are lie in their intervals.
TEST(FitPlan, shipped_calibrations_are_as_their_plans_say) {
  const std::filesystem::path folder =
      std::string(COLLSIM_SOURCE_DIR) + "/models/data/calibrations";
  std::size_t plans = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.parent_path() / "fits")) {
    ++plans;
    const FitPlan plan = read_fit_plan(read_text_file(entry.path(), "a plan"));
    const std::map<FitSubject, std::string> rooms{{FitSubject::machine, ""},
                                                  {FitSubject::transport, "transports"},
                                                  {FitSubject::nvls, "nvls"}};
    const std::filesystem::path made = folder / rooms.at(plan.subject);
    const TextFile file = read_text_file(made / entry.path().filename(), "a calibration");
    EXPECT_EQ(CalibrationText(file).name(), plan.name);
    EXPECT_NE(file.content.find("command: \"collsim calibrate " + entry.path().filename().string() +
                                "\""),
              std::string::npos);
    Calibration fitted = read_calibration(file);
    Calibration start = plan.cost;
    const std::vector<Parameter> moved = parameters_named(plan.constants);
    for (const Parameter& parameter : fit_parameters()) {
      const bool may_differ =
          std::any_of(moved.begin(), moved.end(),
                      [&](const Parameter& each) { return each.name == parameter.name; }) ||
          !plan.start.states(parameter.name);
      if (may_differ) continue;
      EXPECT_EQ(text_of(parameter, parameter.in(fitted)), text_of(parameter, parameter.in(start)))
          << plan.name << " " << parameter.name;
    }
  }
  EXPECT_GT(plans, 0U);
}

}  // namespace
}  // namespace collsim
