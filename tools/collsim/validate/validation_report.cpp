#include "tools/collsim/validate/validation_report.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <cmath>
#include <ostream>

namespace collsim::command {

namespace {

std::string percent(const Score& score, double Score::*figure) {
  return score.rows == 0 ? "-" : fmt::format("{:.1f}", 100 * (score.*figure));
}

void print_score(const std::string& name, const FamilyScore& score, std::size_t width,
                 std::ostream& out) {
  std::string line = fmt::format("{:<{}} {:>5}", name, width, score.all.rows);
  for (const Score& band : score.bands)
    line += fmt::format(" {:>8}", percent(band, &Score::median));
  for (double Score::*figure :
       {&Score::median, &Score::mean, &Score::p90, &Score::worst, &Score::bias}) {
    line += fmt::format(" {:>7}", percent(score.all, figure));
  }
  fmt::print(out, "{} | {:>7} {:>7}\n", line, percent(score.nccl, &Score::median),
             percent(score.nccl, &Score::mean));
}

void print_scores(const std::vector<ValidatedRow>& rows, std::ostream& out) {
  const std::vector<FamilyScore> scores = family_scores(rows);
  std::size_t width = std::string_view("all").size();
  for (const FamilyScore& score : scores) width = std::max(width, describe(score.family).size());
  fmt::print(out, "{:<{}} {:>5} {:>35} {:>39} | {:>15}\n", "error in %", width, "rows",
             "median by size", "all sizes", "NCCL's own");
  std::string head = fmt::format("{:<{}} {:>5}", "", width, "");
  for (const std::string_view band : size_band_names) head += fmt::format(" {:>8}", band);
  fmt::print(out, "{} {:>7} {:>7} {:>7} {:>7} {:>7} | {:>7} {:>7}\n", head, "median", "mean", "p90",
             "worst", "bias", "median", "mean");
  for (const FamilyScore& score : scores) print_score(describe(score.family), score, width, out);
  print_score("all", total_score(rows), width, out);
}

void print_agreement(std::string_view what, const Agreement& agreement, std::ostream& out) {
  if (agreement.rows == 0) return;
  fmt::print(out, "  {:<10} as recorded in {} of {} rows ({:.1f} %)\n", what, agreement.same,
             agreement.rows, 100 * agreement.share());
}

void print_choices(const std::vector<ValidatedRow>& rows, std::ostream& out) {
  const ChoiceAgreement agreement = choice_agreement(rows);
  if (agreement.algorithm.rows + agreement.protocol.rows + agreement.channels.rows == 0) return;
  fmt::print(out, "\nwhat NCCL chose, in rows that did not force it\n");
  print_agreement("algorithm", agreement.algorithm, out);
  print_agreement("protocol", agreement.protocol, out);
  print_agreement("channels", agreement.channels, out);
}

void print_pairs(const Comparison& comparison, std::ostream& out) {
  for (const ComparisonPair& pair : comparison.pairs) {
    const auto line = [&](std::string_view who, const Crossover& crossover) {
      fmt::print(out, "    {:<10} {}\n", who, to_string(crossover, pair.first, pair.second));
    };
    fmt::print(out, "  {} and {}, {} sizes\n", pair.first, pair.second, pair.sizes);
    line("measured", pair.measured);
    line("predicted", pair.predicted);
    if (pair.nccl) line("NCCL", *pair.nccl);
  }
}

void print_regret(std::string_view who, const Regret& regret, std::ostream& out) {
  if (regret.sizes == 0) return;
  fmt::print(out, "  {:<18} best at {} of {} sizes; loses {:.1f} % on average, {:.1f} % at worst\n",
             who, regret.best, regret.sizes, 100 * regret.mean, 100 * regret.worst);
}

void print_comparisons(const std::vector<ValidatedRow>& rows, std::ostream& out) {
  for (const Comparison& comparison : comparisons(rows)) {
    fmt::print(out, "\n{}: what is fastest at which size\n", describe(comparison.family));
    print_pairs(comparison, out);
    print_regret("collsim's choice", comparison.ours, out);
    print_regret("NCCL's choice", comparison.nccl, out);
  }
}

}  // namespace

void print_left_out(const std::map<std::string, LeftOut>& left_out, std::ostream& out) {
  if (left_out.empty()) return;
  fmt::print(out, "\nnot compared\n");
  for (const auto& [reason, rows] : left_out) {
    fmt::print(out, "  {:>5} rows of {}{}: {}\n", rows.rows, rows.first_id,
               rows.rows > 1 ? " and others" : "", reason);
  }
}

std::string describe(const ValidationFamily& family) {
  std::string text =
      fmt::format("{} {}", to_string(family.collective), shape_of(family.nodes, family.ranks));
  if (!family.algorithm.empty()) text += fmt::format(" {}/{}", family.algorithm, family.protocol);
  if (family.channels > 0) text += fmt::format(" ch{}", family.channels);
  if (family.mode == CallMode::graph) text += " graph";
  if (!family.environment.empty()) text += " " + family.environment;
  if (!family.recording.empty()) text += fmt::format(" ({})", family.recording);
  return text;
}

void print_validation_table(const ValidationReport& report, std::ostream& out) {
  for (std::size_t i = 0; i < report.files.size(); ++i) {
    fmt::print(out, "# {} on {}\n", report.files[i], report.machines[i]);
  }
  const std::vector<ValidatedRow>& rows = report.validation.rows;
  if (!rows.empty()) {
    print_scores(rows, out);
    print_choices(rows, out);
    print_comparisons(rows, out);
  }
  print_left_out(report.validation.left_out, out);
}

}  // namespace collsim::command
