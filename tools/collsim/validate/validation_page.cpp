// The validation as a page: a chart per family, and the scores.

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "tools/collsim/report/answer.h"
#include "tools/collsim/report/records.h"
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

Chart family_chart(const std::string& name, std::vector<const ValidatedRow*> rows) {
  std::stable_sort(rows.begin(), rows.end(), [](const ValidatedRow* a, const ValidatedRow* b) {
    return a->recorded.size < b->recorded.size;
  });
  ChartSeries nccl{"NCCL's own estimate", SeriesMark::dashes, reference_tone};
  ChartSeries predicted{"predicted", SeriesMark::line, 0};
  ChartSeries measured{"measured", SeriesMark::dots, 1};
  for (const ValidatedRow* row : rows) {
    const RecordedRow& recorded = row->recorded;
    const std::int64_t size = recorded.size.count;
    if (size == 0) continue;  // has no place on a logarithmic axis
    predicted.points.push_back({size, busbw_at(recorded, row->predicted)});
    measured.points.push_back({size, busbw_at(recorded, recorded.time), {}, hint_of(*row)});
    if (row->nccl_estimate && row->nccl_estimate->value > 0) {
      nccl.points.push_back({size, busbw_at(recorded, *row->nccl_estimate)});
    }
  }
  Chart chart{name, {}, {"size", AxisScale::bytes}, {"busbw (GB/s)", AxisScale::linear}, {}};
  for (ChartSeries* series : {&nccl, &predicted, &measured}) {
    if (!series->points.empty()) chart.series.push_back(std::move(*series));
  }
  return chart;
}

std::string nccl_versions(const std::vector<ValidatedRow>& rows) {
  std::set<std::string> versions;
  for (const ValidatedRow& row : rows) versions.insert(to_string(row.nccl_version));
  return fmt::format("{}", fmt::join(versions, ", "));
}

Answer head_of(const ValidationReport& validation, const std::string& command) {
  const std::vector<ValidatedRow>& rows = validation.validation.rows;
  Answer answer{"Validation: predictions beside recorded runs", command};
  for (std::size_t i = 0; i < validation.files.size(); ++i) {
    answer.facts.push_back(
        {"recording", fmt::format("{} on {}", validation.files[i], validation.machines[i])});
  }
  answer.facts.push_back({"NCCL", nccl_versions(rows)});
  answer.facts.push_back(
      {"calibration", fmt::format("{}", fmt::join(validation.calibrations, ", "))});
  if (!rows.empty()) {
    answer.facts.push_back({"error", fmt::format("{:.1f} % in the median of {} rows",
                                                 100 * total_score(rows).all.median, rows.size())});
  }
  add_ranges_and_version(answer);
  return answer;
}

}  // namespace

Answer answer_of(const ValidationReport& validation, const std::string& command) {
  Answer answer = head_of(validation, command);
  answer.rows = validation_rows(validation);
  answer.no_row = no_validation_row();
  answer.document = validation_document(validation);
  AnswerSection charts;
  for (const auto& [family, members] : by_family(validation.validation.rows)) {
    Chart chart = family_chart(describe(family), members);
    if (!chart.series.empty()) charts.charts.push_back(std::move(chart));
  }
  answer.sections.push_back(std::move(charts));
  add_validation(validation, answer);
  return answer;
}

}  // namespace collsim::command
