#include "tools/collsim/train/step_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "sim/base/units.h"
#include "tools/collsim/train/step_report.h"

namespace collsim::command {

namespace {

constexpr double page_percent = 100;
constexpr double page_ms = 1e3;
constexpr std::size_t page_columns = 32;  // of a timeline; a page has room for 36

/// What a stream does in a column of time: how much of it, and most of all what.
struct TimelineCell {
  double busy = 0;
  double most = 0;
  std::string name{};
};

/// Adds a stretch of an op to the columns that it lies in.
void add_stretch(std::vector<TimelineCell>& cells, double column, Seconds from, Seconds to,
                 const std::string& name) {
  const auto first = static_cast<std::size_t>(std::max(0.0, from.value / column));
  for (std::size_t i = first; i < cells.size(); ++i) {
    const double begin = static_cast<double>(i) * column;
    if (begin >= to.value) break;
    const double share =
        (std::min(to.value, begin + column) - std::max(from.value, begin)) / column;
    cells[i].busy += share;
    if (share <= cells[i].most) continue;
    cells[i].most = share;
    cells[i].name = name;
  }
}

std::vector<TimelineCell> cells_of(const RankGroup& group, const GroupSchedule& times,
                                   std::uint32_t stream, double column) {
  std::vector<TimelineCell> cells(page_columns);
  for (std::size_t i = 0; i < group.ops.size(); ++i) {
    const ProgramOp& op = group.ops[i];
    if (op.stream != stream) continue;
    std::string name = op.name;
    if (name.empty()) name = op.computes() ? "kernels" : to_string(op.calls.front().kind);
    add_stretch(cells, column, times.ops[i].moves, times.ops[i].end, name);
  }
  return cells;
}

/// A map of streams by time: the darker, the busier.
Chart timeline_chart(const CallProgram& program, const ProgramSchedule& schedule) {
  Chart chart{"What each stream does",
              "The darker a field, the more of its time kernels run or calls move; what lies "
              "under the pointer says which.",
              {"time (ms)", AxisScale::words},
              {"", AxisScale::words},
              {},
              true};
  const double column = schedule.time.value / static_cast<double>(page_columns);
  ChartSeries series{"", SeriesMark::cells, 0};
  for (std::size_t i = 0; i < page_columns; ++i) {
    chart.x.words.push_back(fmt::format("{:.4g}", page_ms * column * static_cast<double>(i)));
  }
  for (std::size_t i = 0; i < program.groups.size(); ++i) {
    const RankGroup& group = program.groups[i];
    for (std::uint32_t stream = 0; stream < group.streams.size(); ++stream) {
      const std::string name = fmt::format("{} {}", group.name, group.streams[stream]);
      const auto cells = cells_of(group, schedule.groups[i], stream, column);
      if (std::all_of(cells.begin(), cells.end(),
                      [](const TimelineCell& each) { return each.busy <= 0; })) {
        continue;
      }
      chart.y.words.push_back(name);
      for (std::size_t at = 0; at < cells.size(); ++at) {
        const TimelineCell& cell = cells[at];
        series.points.push_back(
            {chart.x.words[at],
             name,
             "",
             fmt::format("{}\nfrom {} ms: {} ({:.0f} % busy)", name, chart.x.words[at],
                         cell.name.empty() ? "nothing" : cell.name,
                         page_percent * std::min(1.0, cell.busy)),
             {},
             {},
             std::min(1.0, cell.busy)});
      }
    }
  }
  chart.series.push_back(std::move(series));
  return chart;
}

/// Bars of what a step's time is: kernels, calls that nothing hides, waits.
Chart parts_chart(const Record& row) {
  Chart chart{"Where the time goes",
              "Of the rank that ends last.",
              {"time (ms)", AxisScale::linear},
              {"", AxisScale::words}};
  ChartSeries series{"", SeriesMark::bars, 0};
  for (const auto& [key, value] : row.items()) {
    std::string name;
    if (key == "compute_ms") name = "kernels";
    if (key == "wait_ms") name = "waits";
    if (key.starts_with("exposed_") && key.ends_with("_ms")) {
      name = fmt::format("exposed {}", key.substr(8, key.size() - 11));
    }
    if (name.empty() || !value.is_number() || value.get<double>() <= 0) continue;
    const auto time = value.get<double>();
    series.points.push_back({time, name, fmt::format("{:.4g} ms", time)});
  }
  chart.series.push_back(std::move(series));
  return chart;
}

const char* const step_assumptions =
    "Kernels are those of the GPU's generation (models/data/kernels.yaml), calls what NCCL chooses "
    "on the machine. No measurement of the job is in it. docs/training.md says how far measured "
    "steps are off: half of those that were published by more than 10 %.";

std::string cost_words(const Record& row) {
  const Record& cost = row["cost_per_million_tokens"];
  return cost.is_null() ? std::string()
                        : fmt::format(" A million tokens cost {:.4g} USD.", cost.get<double>());
}

/// Of memory, where there is too little, and of the cost.
std::string closing_words(const Record& row) {
  return row["fits"].get<bool>()
             ? cost_words(row)
             : fmt::format(" That is more than the GPU has.{}", cost_words(row));
}

Answer head_of(std::string title, const std::string& command) {
  Answer answer{std::move(title), command};
  add_ranges_and_version(answer);
  return answer;
}

/// Charts and sentences of a page alone.
AnswerSection page_section(std::string title, std::vector<Chart> charts, std::vector<Note> notes) {
  AnswerSection section{std::move(title), std::move(charts), std::move(notes)};
  section.shown = Shown::on_pages;
  return section;
}

}  // namespace

void add_numbers(const Record& row, Answer& answer) {
  answer.rows = std::vector<Record>{row};
  Table table{"All numbers", {{"name", "name"}, {"value", "value", "", 4}}, {}};
  for (const auto& [key, value] : row.items()) {
    table.rows.push_back({{"name", key}, {"value", value}});
  }
  AnswerSection section = page_section("Numbers", {}, {});
  section.tables.push_back(std::move(table));
  answer.sections.push_back(std::move(section));
}

Answer step_answer(const Record& row, const CallProgram& program, const ProgramSchedule& schedule,
                   const std::string& command) {
  Answer answer =
      head_of(fmt::format("A step of {} on {} GPUs of {}", row["model"].get<std::string>(),
                          row["gpus"].get<int>(), row["machine"].get<std::string>()),
              command);
  const auto time = row["time_ms"].get<double>();
  const double hidden = row["compute_ms"].get<double>() + row["wait_ms"].get<double>();
  answer.sections.push_back(page_section(
      "", {},
      {fmt::format("A step takes {:.4g} ms: {:.0f} tokens a second, {:.1f} % of the GPUs' FLOPs, "
                   "{:.1f} GB of a GPU's memory. Calls that nothing hides are {:.1f} % of it.{}",
                   time, row["tokens_per_s"].get<double>(), page_percent * row["mfu"].get<double>(),
                   row["memory_GB"].get<double>(), page_percent * (time - hidden) / time,
                   closing_words(row)),
       step_assumptions}));
  answer.sections.push_back(page_section("The time",
                                         {parts_chart(row), timeline_chart(program, schedule)},
                                         {"The timeline is that of the first microbatches."}));
  return answer;
}

Answer inference_answer(const Record& row, const CallProgram& program,
                        const ProgramSchedule& schedule, const std::string& command) {
  const bool decodes = row["phase"] == "decode";
  Answer answer = head_of(fmt::format("{} of {} on {} GPUs of {}", decodes ? "Decoding" : "Prefill",
                                      row["model"].get<std::string>(), row["gpus"].get<int>(),
                                      row["machine"].get<std::string>()),
                          command);
  answer.sections.push_back(page_section(
      "", {},
      {fmt::format("{} takes {:.4g} ms, of which calls are {:.1f} %: {:.0f} tokens a second. A "
                   "GPU holds {:.1f} GB; {} sequences fit.{}",
                   decodes ? "A token" : "The first token", row["time_ms"].get<double>(),
                   page_percent * row["communication_share"].get<double>(),
                   row["tokens_per_s"].get<double>(), row["memory_GB"].get<double>(),
                   row["max_sequences"].get<std::int64_t>(), closing_words(row)),
       step_assumptions}));
  answer.sections.push_back(
      page_section("The time", {parts_chart(row), timeline_chart(program, schedule)}, {}));
  return answer;
}

Answer program_answer(const CallProgram& program, const ProgramSchedule& schedule,
                      const std::string& command) {
  Answer answer = head_of(
      program.name.empty() ? std::string("A program") : fmt::format("Program {}", program.name),
      command);
  AnswerSection groups{"", {timeline_chart(program, schedule)}};
  groups.tables.push_back(schedule_table(program, schedule));
  groups.after = {"", fmt::format("The program takes {:.1f} us.", 1e6 * schedule.time.value)};
  answer.sections.push_back(std::move(groups));
  return answer;
}

Answer search_answer(const std::string& machine, Table layouts, const std::string& command) {
  const std::vector<Record>& rows = layouts.rows;
  if (rows.empty()) return head_of("No layout", command);
  Answer answer =
      head_of(fmt::format("Layouts of {} on {}", rows.front()["model"].get<std::string>(), machine),
              command);
  Chart chart{"The quickest layouts",
              "Of those that fit into memory.",
              {"step (ms)", AxisScale::linear},
              {"", AxisScale::words}};
  ChartSeries series{"", SeriesMark::bars, 0};
  for (const Record& row : rows) {
    const auto time = row["time_ms"].get<double>();
    series.points.push_back(
        {time,
         fmt::format("tp {} pp {} dp {} v {} zero {} micro {} {}", row["tp"].get<int>(),
                     row["pp"].get<int>(), row["dp"].get<int>(), row["interleave"].get<int>(),
                     row["zero"].get<int>(), row["micro_batch"].get<int>(),
                     row["recompute"].get<std::string>()),
         fmt::format("{:.1f} ms", time)});
  }
  chart.series.push_back(std::move(series));
  answer.sections.push_back(page_section("", {std::move(chart)}, {step_assumptions}));
  for (Column& column : layouts.columns) {
    if (column.key != "cp" && column.key != "ep") continue;
    const auto is_used = [&](const Record& row) { return row[column.key] > 1; };
    if (std::none_of(rows.begin(), rows.end(), is_used)) column.rank = wide_only;
  }
  answer.sections.push_back({"", {}, {}, {std::move(layouts)}});
  return answer;
}

Answer validation_answer(std::vector<Record> rows, const std::string& command) {
  Answer answer = head_of("Measured steps and predictions", command);
  Chart chart{"Predicted by measured",
              "Each point is a step; the line is where both are equal.",
              {"measured (ms)", AxisScale::logarithmic},
              {"predicted (ms)", AxisScale::logarithmic}};
  ChartSeries equal{"equal", SeriesMark::dashes, reference_tone};
  std::vector<double> measured;
  for (const Record& row : rows) {
    ChartSeries& series = line_called(row["group"].get<std::string>(), chart);
    series.mark = SeriesMark::dots;
    series.points.push_back({row["measured_ms"], row["time_ms"], "", row["id"].get<std::string>()});
    measured.push_back(row["measured_ms"].get<double>());
  }
  std::sort(measured.begin(), measured.end());
  for (const double time : measured) equal.points.push_back({time, time});
  chart.series.push_back(std::move(equal));
  AnswerSection section = page_section("", {std::move(chart)}, {});
  if (!rows.empty()) section.tables.push_back({"", columns_of(rows.front()), rows});
  answer.sections.push_back(std::move(section));
  answer.rows = std::move(rows);
  return answer;
}

}  // namespace collsim::command
