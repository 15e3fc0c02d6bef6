// The validation as a page: a chart per family, and the scores.

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "tools/collsim/report/records.h"
#include "tools/collsim/report/report.h"
#include "tools/collsim/validate/validation_report.h"

namespace collsim::command {

namespace {

/// GB/s, as in nccl-tests.
double busbw_at(const RecordedRow& row, Seconds time) {
  constexpr double giga = 1e9;
  return static_cast<double>(row.size.count) / time.value / giga *
         busbw_factor(*row.collective, row.ranks);
}

std::string hint_of(const ValidatedRow& row) {
  return fmt::format("{}: measured {:.2f} GB/s, predicted {:.2f} GB/s, {:+.1f} % of the time",
                     rounded_size(static_cast<double>(row.recorded.size.count)),
                     busbw_at(row.recorded, row.recorded.time),
                     busbw_at(row.recorded, row.predicted), 100 * row.error());
}

ReportChart family_chart(const std::string& name, std::vector<const ValidatedRow*> rows) {
  std::stable_sort(rows.begin(), rows.end(), [](const ValidatedRow* a, const ValidatedRow* b) {
    return a->recorded.size < b->recorded.size;
  });
  ReportSeries nccl{"NCCL's own estimate", SeriesMark::dashes, reference_tone, false, {}};
  ReportSeries predicted{"predicted", SeriesMark::line, 0, false, {}};
  ReportSeries measured{"measured", SeriesMark::dots, 1, false, {}};
  for (const ValidatedRow* row : rows) {
    const RecordedRow& recorded = row->recorded;
    const std::int64_t size = recorded.size.count;
    if (size == 0) continue;  // has no place on a logarithmic axis
    predicted.points.push_back({size, busbw_at(recorded, row->predicted), {}, {}, 1, {}, {}});
    measured.points.push_back(
        {size, busbw_at(recorded, recorded.time), {}, {}, 1, {}, hint_of(*row)});
    if (row->nccl_estimate && row->nccl_estimate->value > 0) {
      nccl.points.push_back({size, busbw_at(recorded, *row->nccl_estimate), {}, {}, 1, {}, {}});
    }
  }
  ReportChart chart{name, {}, {"size", AxisScale::bytes}, {"busbw (GB/s)", AxisScale::linear}, {}};
  for (ReportSeries* series : {&nccl, &predicted, &measured}) {
    if (!series->points.empty()) chart.series.push_back(std::move(*series));
  }
  return chart;
}

Record score_record(const std::string& name, const FamilyScore& score) {
  const bool has_nccl = score.nccl.rows > 0;
  return {{"family", name},
          {"rows", score.all.rows},
          {"median", score.all.median},
          {"mean", score.all.mean},
          {"p90", score.all.p90},
          {"worst", score.all.worst},
          {"bias", score.all.bias},
          {"nccl_median", has_nccl ? Record(score.nccl.median) : Record()}};
}

ReportTable score_table(const std::vector<ValidatedRow>& rows) {
  constexpr double percent = 100;
  ReportTable table{"Errors in percent of the measured time",
                    {{"family", "family"},
                     {"rows", "rows"},
                     {"median", "median", 1, percent},
                     {"mean", "mean", 1, percent},
                     {"p90", "p90", 1, percent},
                     {"worst", "worst", 1, percent},
                     {"bias", "bias", 1, percent},
                     {"nccl_median", "NCCL's own, median", 1, percent}},
                    {}};
  for (const FamilyScore& score : family_scores(rows)) {
    table.rows.push_back(score_record(describe(score.family), score));
  }
  table.rows.push_back(score_record("all", total_score(rows)));
  return table;
}

ReportTable left_out_table(const ValidationReport& report) {
  ReportTable table{
      "Not compared", {{"rows", "rows"}, {"first_id", "first"}, {"reason", "reason"}}, {}};
  for (const auto& [reason, left_out] : report.validation.left_out) {
    table.rows.push_back(
        {{"rows", left_out.rows}, {"first_id", left_out.first_id}, {"reason", reason}});
  }
  return table;
}

std::string nccl_versions(const std::vector<ValidatedRow>& rows) {
  std::set<std::string> versions;
  for (const ValidatedRow& row : rows) versions.insert(to_string(row.nccl_version));
  return fmt::format("{}", fmt::join(versions, ", "));
}

Report head_of(const ValidationReport& validation, const std::string& command) {
  const std::vector<ValidatedRow>& rows = validation.validation.rows;
  Report report{"Validation: predictions beside recorded runs", command, {}, {}};
  for (std::size_t i = 0; i < validation.files.size(); ++i) {
    report.facts.emplace_back("recording",
                              fmt::format("{} on {}", validation.files[i], validation.machines[i]));
  }
  report.facts.emplace_back("NCCL", nccl_versions(rows));
  report.facts.emplace_back("calibration",
                            fmt::format("{}", fmt::join(validation.calibrations, ", ")));
  if (!rows.empty()) {
    report.facts.emplace_back("error",
                              fmt::format("{:.1f} % in the median of {} rows",
                                          100 * total_score(rows).all.median, rows.size()));
  }
  add_trust_and_version(report, {}, {});
  return report;
}

}  // namespace

Report report_of(const ValidationReport& validation, const std::string& command) {
  const std::vector<ValidatedRow>& rows = validation.validation.rows;
  Report report = head_of(validation, command);
  ReportSection section;
  for (const auto& [family, members] : by_family(rows)) {
    ReportChart chart = family_chart(describe(family), members);
    if (!chart.series.empty()) section.charts.push_back(std::move(chart));
  }
  if (!rows.empty()) section.tables.push_back(score_table(rows));
  section.tables.push_back(left_out_table(validation));
  report.sections.push_back(std::move(section));
  return report;
}

}  // namespace collsim::command
