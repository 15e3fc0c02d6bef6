// The map of choices as a page.

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "tools/collsim/crossover/choice_map_report.h"
#include "tools/collsim/report/report.h"

namespace collsim::command {

namespace {

constexpr double in_percent = 100;
constexpr int chosen_tone = 1;

/// A tone for each algorithm, darker from LL to Simple.
int tone_of(const NcclVariants::Pair& pair) {
  constexpr std::array<int, nccl_algorithm_count> tones{0, 2, 4, 3, 1, 5, 6};
  return tones[index_of(pair.first)];
}
double weight_of(const NcclVariants::Pair& pair) {
  constexpr PerProtocol<double> weights{0.28, 0.5, 0.75};
  return weights[index_of(pair.second)];
}

template <typename Visit>
void for_each_cell(const ChoiceMap& map, Visit visit) {
  for (const ChoiceRow& row : map.rows) {
    for (const ChoiceCell& cell : row.cells) visit(row, cell);
  }
}

ReportPoint point_at(const ChoiceRow& row, const ChoiceCell& cell) {
  return {short_size(cell.size), name_of_row(row), {}, {}, 1, {}, describe(row, cell)};
}

ReportChart map_chart(const ChoiceMap& map, const char* title, std::string note) {
  ReportChart chart{title, std::move(note), {"size", AxisScale::words}, {"", AxisScale::words}, {},
                    true};
  for (const ChoiceRow& row : map.rows) chart.y.words.push_back(name_of_row(row));
  for (const ChoiceCell& cell : map.rows.front().cells) {
    chart.x.words.push_back(short_size(cell.size));
  }
  return chart;
}

/// A series for each pair: the cells where it is the fastest.
ReportChart winner_chart(const ChoiceMap& map) {
  ReportChart chart = map_chart(
      map, "What is fastest",
      "Letters: algorithm and protocol. Hatched, with a small first letter: the lead over "
      "the next is within the error of such predictions.");
  for (const NcclVariants::Pair& pair : shown_pairs(map)) {
    ReportSeries series{fmt::format("{} {}", code_of(pair, false), name_of_pair(pair)),
                        SeriesMark::cells,
                        tone_of(pair),
                        false,
                        {}};
    for_each_cell(map, [&](const ChoiceRow& row, const ChoiceCell& cell) {
      if (row.pairs[cell.best] != pair) return;
      ReportPoint point = point_at(row, cell);
      point.weight = weight_of(pair);
      point.label = code_of(pair, cell.is_open());
      series.points.push_back(std::move(point));
    });
    if (!series.points.empty()) chart.series.push_back(std::move(series));
  }
  ReportSeries open{"lead within the error", SeriesMark::hatched, 0, false, {}};
  for_each_cell(map, [&](const ChoiceRow& row, const ChoiceCell& cell) {
    if (!cell.is_open()) return;
    open.points.push_back(point_at(row, cell));
    open.points.back().text.clear();  // the cell below has it
  });
  if (!open.points.empty()) chart.series.push_back(std::move(open));
  return chart;
}

/// What NCCL chooses instead, and how much that loses: white to dark as the loss grows to 50 %.
ReportChart regret_chart(const ChoiceMap& map) {
  ReportChart chart =
      map_chart(map, "What NCCL's choice loses",
                "Letters: what NCCL chooses where it is not the fastest. Number: by "
                "how many percent that is slower.");
  ReportSeries same{"NCCL chooses the fastest", SeriesMark::cells, reference_tone, false, {}};
  ReportSeries lost{"NCCL's choice is slower", SeriesMark::cells, chosen_tone, false, {}};
  for_each_cell(map, [&](const ChoiceRow& row, const ChoiceCell& cell) {
    ReportPoint point = point_at(row, cell);
    if (cell.chosen == cell.best) {
      constexpr double faint = 0.12;
      point.weight = faint;
      same.points.push_back(std::move(point));
      return;
    }
    constexpr double least = 0.15;
    constexpr double most = 0.85;
    constexpr double darkest_loss = 0.5;
    const double loss = cell.loss(cell.chosen);
    point.weight = least + (most - least) * std::min(1.0, loss / darkest_loss);
    const double percent = in_percent * loss;
    point.label = fmt::format("{}\n{}", code_of(row.pairs[cell.chosen], false),
                              percent < 1 ? "<1" : fmt::format("{:.0f}", percent));
    lost.points.push_back(std::move(point));
  });
  for (ReportSeries* series : {&lost, &same}) {
    if (!series->points.empty()) chart.series.push_back(std::move(*series));
  }
  return chart;
}

ReportTable cell_table(const ChoiceMap& map) {
  ReportTable table{"",
                    {{"nranks", "ranks"},
                     {"nodes", "nodes"},
                     {"size_bytes", "size (B)"},
                     {"until_bytes", "up to (B)"},
                     {"best", "fastest"},
                     {"best_us", "time (us)"},
                     {"second", "next"},
                     {"second_us", "time (us)"},
                     {"lead_within_error", "lead within the error"},
                     {"error", "error of such predictions (%)", 0, in_percent},
                     {"choice", "NCCL's choice"},
                     {"choice_us", "time (us)"},
                     {"lost", "lost (%)", 1, in_percent},
                     {"simulated", "simulated"}},
                    {}};
  for_each_cell(map, [&](const ChoiceRow& row, const ChoiceCell& cell) {
    table.rows.push_back(record_of(map, row, cell));
  });
  return table;
}

/// "typically 3 to 5 % off".
std::string error_text(const ChoiceMap& map) {
  double least = 1e9;
  double most = 0;
  for_each_cell(map, [&](const ChoiceRow&, const ChoiceCell& cell) {
    least = std::min(least, cell.error);
    most = std::max(most, cell.error);
  });
  return fmt::format("such predictions are typically {:.0f} to {:.0f} % off, by size",
                     in_percent * least, in_percent * most);
}

}  // namespace

Report report_of(const ChoiceMap& map, const std::string& command) {
  const ReportTable cells = cell_table(map);
  Report report{title_of(map), command, {}, {}};
  report.facts = {{"NCCL", joined_values(cells.rows, "nccl_version")},
                  {"calibration", map.request->cost.name},
                  {"trust", error_text(map)}};
  for (const Fault& fault : map.request->scenario.faults) {
    report.facts.emplace_back("fault", fault.text);
  }
  add_trust_and_version(report, {}, {});
  ReportSection section{"", {winner_chart(map), regret_chart(map)}, {}, {cells}};
  for (const ChoiceRow& row : map.rows) section.texts.push_back(mean_loss_note(row));
  report.sections.push_back(std::move(section));
  return report;
}

}  // namespace collsim::command
