#include "tools/collsim/validate/validation_report.h"

#include <fmt/format.h>

#include <utility>

namespace collsim::command {

namespace {

constexpr double in_percent = 100;

void add_score(const std::string& name, const FamilyScore& score, Table& table) {
  NewRow add(table);
  const auto figure = [&](const char* key, const char* title, const char* of, const Score& each,
                          double Score::*value) {
    add({key, title, of, 1, in_percent}, each.rows == 0 ? Record() : Record(each.*value));
  };
  add({"family", "family"}, name);
  add({"rows", "rows"}, score.all.rows);
  for (std::size_t band = 0; band < score.bands.size(); ++band) {
    const std::string range(size_band_names.at(band));
    figure(range.c_str(), range.c_str(), "median", score.bands.at(band), &Score::median);
  }
  figure("median", "median", "all", score.all, &Score::median);
  figure("mean", "mean", "all", score.all, &Score::mean);
  figure("p90", "p90", "all", score.all, &Score::p90);
  figure("worst", "worst", "all", score.all, &Score::worst);
  figure("bias", "bias", "all", score.all, &Score::bias);
  figure("nccl_median", "median", "NCCL's", score.nccl, &Score::median);
  figure("nccl_mean", "mean", "NCCL's", score.nccl, &Score::mean);
}

/// Errors by family: the median of each band of sizes, figures of all sizes, and NCCL's own.
Table score_table(const std::vector<ValidatedRow>& rows) {
  Table table;
  table.title = "errors in % of the measured time";
  for (const FamilyScore& score : family_scores(rows)) {
    add_score(describe(score.family), score, table);
  }
  add_score("all", total_score(rows), table);
  return table;
}

std::vector<Fact> choice_facts(const std::vector<ValidatedRow>& rows) {
  const ChoiceAgreement agreement = choice_agreement(rows);
  std::vector<Fact> facts;
  for (const auto& [what, of] : {std::pair{"algorithm", &agreement.algorithm},
                                 {"protocol", &agreement.protocol},
                                 {"channels", &agreement.channels}}) {
    if (of->rows == 0) continue;
    facts.push_back({what, fmt::format("as recorded in {} of {} rows ({:.1f} %)", of->same,
                                       of->rows, in_percent * of->share())});
  }
  return facts;
}

Fact regret_fact(const char* who, const Regret& regret) {
  return {who, fmt::format("best at {} of {} sizes; loses {:.1f} % on average, {:.1f} % at worst",
                           regret.best, regret.sizes, in_percent * regret.mean,
                           in_percent * regret.worst)};
}

/// What is fastest at which size, of each two ways, and what following choices loses.
AnswerSection comparison_section(const Comparison& comparison) {
  AnswerSection section{
      fmt::format("{}: what is fastest at which size", describe(comparison.family))};
  for (const ComparisonPair& pair : comparison.pairs) {
    const auto add = [&](const char* who, const Crossover& crossover) {
      section.facts.push_back(
          {fmt::format("  {}", who), to_string(crossover, pair.first, pair.second)});
    };
    section.facts.push_back(
        {fmt::format("{} and {}, {} sizes", pair.first, pair.second, pair.sizes)});
    add("measured", pair.measured);
    add("predicted", pair.predicted);
    if (pair.nccl) add("NCCL", *pair.nccl);
  }
  if (comparison.ours.sizes > 0) {
    section.facts.push_back(regret_fact("collsim's choice", comparison.ours));
  }
  if (comparison.nccl.sizes > 0) {
    section.facts.push_back(regret_fact("NCCL's choice", comparison.nccl));
  }
  return section;
}

}  // namespace

AnswerSection left_out_section(const std::map<std::string, LeftOut>& left_out) {
  Table table;
  for (const auto& [reason, rows] : left_out) {
    NewRow add(table);
    add({"rows", "rows"}, rows.rows);
    add({"first_id", "first"}, rows.first_id);
    add({"reason", "reason"}, reason);
  }
  return {"not compared", {}, {}, {std::move(table)}};
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

void add_validation(const ValidationReport& report, Answer& answer) {
  std::vector<std::string> files;
  for (std::size_t i = 0; i < report.files.size(); ++i) {
    files.push_back(fmt::format("{} on {}", report.files[i], report.machines[i]));
  }
  answer.head(comments(files));
  const std::vector<ValidatedRow>& rows = report.validation.rows;
  if (!rows.empty()) {
    answer.sections.push_back({"", {}, {}, {score_table(rows)}});
    AnswerSection choices{"what NCCL chose, in rows that did not force it"};
    choices.facts = choice_facts(rows);
    if (!choices.facts.empty()) answer.sections.push_back(std::move(choices));
    for (const Comparison& each : comparisons(rows)) {
      answer.sections.push_back(comparison_section(each));
    }
  }
  if (!report.validation.left_out.empty()) {
    answer.sections.push_back(left_out_section(report.validation.left_out));
  }
}

}  // namespace collsim::command
