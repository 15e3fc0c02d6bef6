// The map of choices as a page.

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "tools/collsim/crossover/choice_map_report.h"
#include "tools/collsim/report/answer.h"

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

ChartPoint point_at(const ChoiceRow& row, const ChoiceCell& cell) {
  return {short_size(cell.size), name_of_row(row), {}, describe(row, cell)};
}

Chart map_chart(const ChoiceMap& map, const char* title, std::string note) {
  Chart chart{title, std::move(note), {"size", AxisScale::words}, {"", AxisScale::words}, {}, true};
  for (const ChoiceRow& row : map.rows) chart.y.words.push_back(name_of_row(row));
  for (const ChoiceCell& cell : map.rows.front().cells) {
    chart.x.words.push_back(short_size(cell.size));
  }
  return chart;
}

/// A series for each pair: the cells where it is the fastest.
Chart winner_chart(const ChoiceMap& map) {
  Chart chart = map_chart(
      map, "What is fastest",
      "Letters: algorithm and protocol. Hatched, with a small first letter: the lead over "
      "the next is within the error of such predictions.");
  for (const NcclVariants::Pair& pair : shown_pairs(map)) {
    ChartSeries series{fmt::format("{} {}", code_of(pair, false), name_of_pair(pair)),
                       SeriesMark::cells,
                       tone_of(pair),
                       false,
                       {}};
    for_each_cell(map, [&](const ChoiceRow& row, const ChoiceCell& cell) {
      if (row.pairs[cell.best] != pair) return;
      ChartPoint point = point_at(row, cell);
      point.weight = weight_of(pair);
      point.label = code_of(pair, cell.is_open());
      series.points.push_back(std::move(point));
    });
    if (!series.points.empty()) chart.series.push_back(std::move(series));
  }
  ChartSeries open{"lead within the error", SeriesMark::hatched, 0};
  for_each_cell(map, [&](const ChoiceRow& row, const ChoiceCell& cell) {
    if (!cell.is_open()) return;
    open.points.push_back(point_at(row, cell));
    open.points.back().text.clear();  // the cell below has it
  });
  if (!open.points.empty()) chart.series.push_back(std::move(open));
  return chart;
}

/// What NCCL chooses instead, and how much that loses: white to dark as the loss grows to 50 %.
Chart regret_chart(const ChoiceMap& map) {
  Chart chart = map_chart(map, "What NCCL's choice loses",
                          "Letters: what NCCL chooses where it is not the fastest. Number: by "
                          "how many percent that is slower.");
  ChartSeries same{"NCCL chooses the fastest", SeriesMark::cells, reference_tone};
  ChartSeries lost{"NCCL's choice is slower", SeriesMark::cells, chosen_tone};
  for_each_cell(map, [&](const ChoiceRow& row, const ChoiceCell& cell) {
    ChartPoint point = point_at(row, cell);
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
  for (ChartSeries* series : {&lost, &same}) {
    if (!series->points.empty()) chart.series.push_back(std::move(*series));
  }
  return chart;
}

Table cell_table(const ChoiceMap& map) {
  Table table;
  for_each_cell(
      map, [&](const ChoiceRow& row, const ChoiceCell& cell) { add_cell(map, row, cell, table); });
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

Answer answer_of(const ChoiceMap& map, const std::string& command) {
  Table cells = cell_table(map);
  Answer answer{title_of(map),
                command,
                {{"NCCL", joined_values(cells.rows, "nccl_version")},
                 {"calibration", map.request->cost.name},
                 {"trust", error_text(map)}}};
  for (const Fault& fault : map.request->scenario.faults) {
    answer.facts.push_back({"fault", fault.text});
  }
  add_ranges_and_version(answer);
  AnswerSection section{"", {winner_chart(map), regret_chart(map)}, {}, {std::move(cells)}};
  for (const ChoiceRow& row : map.rows) section.notes.emplace_back(mean_loss_note(row));
  section.shown = Shown::on_pages;
  answer.sections.push_back(std::move(section));
  return answer;
}

}  // namespace collsim::command
