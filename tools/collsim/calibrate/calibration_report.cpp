#include "tools/collsim/calibrate/calibration_report.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <ostream>
#include <string_view>

#include "models/validation/score.h"
#include "tools/collsim/calibrate/fit_constants.h"
#include "tools/collsim/calibrate/fitted_calibration.h"
#include "tools/collsim/calibrate/parameter.h"

namespace collsim::command {

namespace {

std::string describe(const ValidationFamily& family) {
  std::string text =
      fmt::format("{} {} {}/{}", to_string(family.collective), shape_of(family.nodes, family.ranks),
                  family.algorithm, family.protocol);
  if (!family.environment.empty()) text += " " + family.environment;
  if (family.mode == CallMode::graph) text += " graph";
  if (!family.recording.empty()) text += fmt::format(" ({})", family.recording);
  return text;
}

void print_constant(const FittedConstant& constant, std::ostream& out) {
  const Parameter& parameter = constant.parameter;
  const bool fitted = constant.determination == Determination::fitted;
  fmt::print(out, "{:<32} {:>12} {:>12}  {}\n", parameter.name, text_of(parameter, constant.value),
             text_of(parameter, constant.start),
             fitted ? interval_of(constant) : "kept: " + why_kept(constant));
}

void print_hidden(const std::vector<FittedConstant>& constants, std::ostream& out) {
  constexpr std::size_t widest = 100;
  std::string line = "\nkept, because no row depends on them:";
  bool any = false;
  for (const FittedConstant& constant : constants) {
    if (constant.determination != Determination::hidden) continue;
    any = true;
    if (line.size() + constant.parameter.name.size() + 1 > widest) {
      fmt::print(out, "{}\n", line);
      line = " ";
    }
    line += " " + constant.parameter.name;
  }
  if (any) fmt::print(out, "{}\n", line);
}

void print_fit(const CalibrationReport& report, std::ostream& out) {
  fmt::print(out, "{:<32} {:>12} {:>12}  {}\n", "constant", "value", "start", "95 % interval");
  for (const Determination determination : {Determination::fitted, Determination::undetermined}) {
    for (const FittedConstant& constant : report.fit.constants) {
      if (constant.determination == determination) print_constant(constant, out);
    }
  }
  print_hidden(report.fit.constants, out);
  if (report.fit.correlated.empty()) return;
  fmt::print(out, "\nhardly distinguished by these rows (correlation)\n");
  for (const CorrelatedPair& pair : report.fit.correlated) {
    fmt::print(out, "  {} and {} ({:.3f})\n", pair.first, pair.second, pair.correlation);
  }
}

std::string text_of_band(const Score& band) {
  return band.rows == 0 ? "-" : fmt::format("{:.1f} {:>+6.1f}", 100 * band.median, 100 * band.bias);
}

void print_errors(std::string_view what, const std::vector<ValidatedRow>& rows, std::ostream& out) {
  const std::vector<FamilyScore> scores = family_scores(rows, family_of_any_channels);
  std::size_t width = what.size();
  for (const FamilyScore& each : scores) width = std::max(width, describe(each.family).size());
  std::string head = fmt::format("{:<{}} {:>5}", what, width, "rows");
  for (const std::string_view band : size_band_names) head += fmt::format(" {:>14}", band);
  fmt::print(out, "\n{}\n", head);
  for (const FamilyScore& each : scores) {
    fmt::print(out, "{:<{}} {:>5}", describe(each.family), width, each.all.rows);
    for (const Score& band : each.bands) fmt::print(out, " {:>14}", text_of_band(band));
    fmt::print(out, "\n");
  }
}

void print_total(std::string_view what, const std::vector<ValidatedRow>& rows, std::ostream& out) {
  if (rows.empty()) return;
  const Score score = total_score(rows).all;
  fmt::print(out, "{:<28} {:>6} {:>8.1f} {:>8.1f} {:>8.1f} {:>8.1f} {:>8.1f}\n", what, score.rows,
             100 * score.median, 100 * score.mean, 100 * score.p90, 100 * score.worst,
             100 * score.bias);
}

}  // namespace

void print_unused(const std::map<std::string, LeftOut>& left_out, std::ostream& out) {
  for (const auto& [reason, rows] : left_out) {
    fmt::print(out, "  {:>5} rows of {}{}: {}\n", rows.rows, rows.first_id,
               rows.rows > 1 ? " and others" : "", reason);
  }
}

void print_calibration(const CalibrationReport& report, std::ostream& out) {
  print_fit(report, out);
  print_errors("error in %: median, bias", report.used, out);
  if (!report.held_out.empty()) print_errors("held out", report.held_out, out);
  fmt::print(out, "\n{:<28} {:>6} {:>8} {:>8} {:>8} {:>8} {:>8}\n", "error in %", "rows", "median",
             "mean", "p90", "worst", "bias");
  print_total(fmt::format("start, with {}", report.start), report.used_before, out);
  print_total("fitted", report.used, out);
  print_total("held out, start", report.held_out_before, out);
  print_total("held out", report.held_out, out);
  if (!report.held_out.empty()) {
    const HeldOutErrors errors = report.of_held_out();
    fmt::print(out, "\nmean error {:.1f} -> {:.1f} % on {} rows not fitted to (before: {})\n",
               100 * errors.before, 100 * errors.after, errors.rows, report.start);
  }
  for (const std::string& caution : report.fit.cautions) fmt::print(out, "caution: {}\n", caution);
  if (report.left_out.empty()) return;
  fmt::print(out, "\nnot used\n");
  print_unused(report.left_out, out);
}

void print_ablation(std::vector<Ablation> ablations, std::ostream& out) {
  std::sort(ablations.begin(), ablations.end(), [](const Ablation& a, const Ablation& b) {
    return std::pair(a.stays(), a.all.rise) < std::pair(b.stays(), b.all.rise);
  });
  fmt::print(out,
             "\nleft out, and the others fitted again: how much the mean error of rows held out "
             "rises, in points\n{:<28} {:>10} {:>14} {:>14}  {}\n",
             "constant", "value", "all rows", "a family", "of");
  for (const Ablation& each : ablations) {
    const auto points = [](const ErrorRise& rise) {
      return fmt::format("{:+.2f} +- {:.2f}", 100 * rise.rise, 100 * rise.standard_error);
    };
    fmt::print(out, "{:<28} {:>10} {:>14} {:>14}  {}{}\n", each.parameter.name,
               text_of(each.parameter, each.value), points(each.all),
               each.family ? points(each.of_family) : "-",
               each.family ? describe(*each.family) : "", each.stays() ? "" : "  earns too little");
  }
}

void print_constants(const CalibrationText& start, const Calibration& cost, std::ostream& out) {
  fmt::print(out, "# constants of {}; * marks those that the file states\n", start.name());
  const FitConstants constants(start, cost, {});
  for (const Parameter& parameter : fit_parameters()) {
    const double value = constants.stated(parameter);
    fmt::print(out, "{} {:<32} {:>12}  {}\n", start.states(parameter.name) ? '*' : ' ',
               parameter.name, text_of(parameter, value), parameter.meaning);
  }
}

}  // namespace collsim::command
