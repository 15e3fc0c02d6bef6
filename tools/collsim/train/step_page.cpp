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
ReportChart timeline_chart(const CallProgram& program, const ProgramSchedule& schedule) {
  ReportChart chart{"What each stream does",
                    "The darker a field, the more of its time kernels run or calls move; what lies "
                    "under the pointer says which.",
                    {"time (ms)", AxisScale::words},
                    {"", AxisScale::words},
                    {},
                    true};
  const double column = schedule.time.value / static_cast<double>(page_columns);
  ReportSeries series{"", SeriesMark::cells, 0, false, {}};
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
             {},
             {},
             std::min(1.0, cell.busy),
             "",
             fmt::format("{}\nfrom {} ms: {} ({:.0f} % busy)", name, chart.x.words[at],
                         cell.name.empty() ? "nothing" : cell.name,
                         page_percent * std::min(1.0, cell.busy))});
      }
    }
  }
  chart.series.push_back(std::move(series));
  return chart;
}

/// Bars of what a step's time is: kernels, calls that nothing hides, waits.
ReportChart parts_chart(const Record& row) {
  ReportChart chart{"Where the time goes",
                    "Of the rank that ends last.",
                    {"time (ms)", AxisScale::linear},
                    {"", AxisScale::words}};
  ReportSeries series{"", SeriesMark::bars, 0, false, {}};
  for (const auto& [key, value] : row.items()) {
    std::string name;
    if (key == "compute_ms") name = "kernels";
    if (key == "wait_ms") name = "waits";
    if (key.starts_with("exposed_") && key.ends_with("_ms")) {
      name = fmt::format("exposed {}", key.substr(8, key.size() - 11));
    }
    if (name.empty() || !value.is_number() || value.get<double>() <= 0) continue;
    const auto time = value.get<double>();
    series.points.push_back({time, name, {}, {}, 1, fmt::format("{:.4g} ms", time), ""});
  }
  chart.series.push_back(std::move(series));
  return chart;
}

/// A table of all that a row has: a name and a value on each line.
ReportTable values_table(const Record& row) {
  ReportTable table{"All numbers", {{"name", "name"}, {"value", "value", 4}}, {}};
  for (const auto& [key, value] : row.items()) {
    table.rows.push_back({{"name", key}, {"value", value}});
  }
  return table;
}

std::vector<ReportColumn> columns_of(const Record& row) {
  std::vector<ReportColumn> columns;
  for (const auto& [key, value] : row.items()) columns.push_back({key, key, 3});
  return columns;
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

Report head_of(std::string title, const std::string& command) {
  Report report{std::move(title), command, {}, {}};
  add_trust_and_version(report, {}, {});
  return report;
}

ReportTable bucket_table(std::span<const BucketTime> buckets) {
  ReportTable table{"Buckets of gradients", {{"MiB", "MiB"}, {"ms", "step (ms)", 1}}, {}};
  constexpr std::int64_t unit = 1 << 20;
  for (const BucketTime& each : buckets) {
    table.rows.push_back(
        {{"MiB", each.bucket.count / unit}, {"ms", page_ms * each.step.time.value}});
  }
  return table;
}

ReportTable remedy_table(std::span<const Remedy> remedies) {
  ReportTable table{"What would be quicker",
                    {{"remedy", "remedy"}, {"ms", "step (ms)", 1}, {"gain", "gain %", 1}},
                    {}};
  for (const Remedy& each : remedies) {
    table.rows.push_back({{"remedy", each.what},
                          {"ms", page_ms * each.time.value},
                          {"gain", page_percent * each.gain}});
  }
  return table;
}

}  // namespace

Report step_page(const StepPageParts& parts) {
  const Record& row = parts.row;
  Report report =
      head_of(fmt::format("A step of {} on {} GPUs of {}", row["model"].get<std::string>(),
                          row["gpus"].get<int>(), row["machine"].get<std::string>()),
              parts.command);
  const auto time = row["time_ms"].get<double>();
  const double hidden = row["compute_ms"].get<double>() + row["wait_ms"].get<double>();
  report.sections.push_back(
      {"",
       {},
       {fmt::format("A step takes {:.4g} ms: {:.0f} tokens a second, {:.1f} % of the GPUs' FLOPs, "
                    "{:.1f} GB of a GPU's memory. Calls that nothing hides are {:.1f} % of it.{}",
                    time, row["tokens_per_s"].get<double>(),
                    page_percent * row["mfu"].get<double>(), row["memory_GB"].get<double>(),
                    page_percent * (time - hidden) / time, closing_words(row)),
        step_assumptions},
       {}});
  report.sections.push_back({"The time",
                             {parts_chart(row), timeline_chart(parts.program, parts.schedule)},
                             {"The timeline is that of the first microbatches."},
                             {}});
  ReportSection last{"Numbers", {}, {}, {}};
  if (!parts.buckets.empty()) last.tables.push_back(bucket_table(parts.buckets));
  if (!parts.remedies.empty()) last.tables.push_back(remedy_table(parts.remedies));
  last.tables.push_back(values_table(row));
  report.sections.push_back(std::move(last));
  return report;
}

Report inference_report(const Record& row, const CallProgram& program,
                        const ProgramSchedule& schedule, const std::string& command) {
  const bool decodes = row["phase"] == "decode";
  Report report = head_of(fmt::format("{} of {} on {} GPUs of {}", decodes ? "Decoding" : "Prefill",
                                      row["model"].get<std::string>(), row["gpus"].get<int>(),
                                      row["machine"].get<std::string>()),
                          command);
  report.sections.push_back(
      {"",
       {},
       {fmt::format("{} takes {:.4g} ms, of which calls are {:.1f} %: {:.0f} tokens a second. A "
                    "GPU holds {:.1f} GB; {} sequences fit.{}",
                    decodes ? "A token" : "The first token", row["time_ms"].get<double>(),
                    page_percent * row["communication_share"].get<double>(),
                    row["tokens_per_s"].get<double>(), row["memory_GB"].get<double>(),
                    row["max_sequences"].get<std::int64_t>(), closing_words(row)),
        step_assumptions},
       {}});
  report.sections.push_back(
      {"The time", {parts_chart(row), timeline_chart(program, schedule)}, {}, {}});
  report.sections.push_back({"Numbers", {}, {}, {values_table(row)}});
  return report;
}

Report program_report(const CallProgram& program, const ProgramSchedule& schedule,
                      const std::string& command) {
  Report report = head_of(
      program.name.empty() ? std::string("A program") : fmt::format("Program {}", program.name),
      command);
  report.sections.push_back(
      {"",
       {timeline_chart(program, schedule)},
       {fmt::format("The program takes {:.1f} us.", 1e6 * schedule.time.value)},
       {}});
  ReportTable table{"Groups of ranks", {}, {}};
  for (std::size_t i = 0; i < program.groups.size(); ++i) {
    table.rows.push_back(group_record(program, schedule, i));
  }
  table.columns = columns_of(table.rows.front());
  report.sections.push_back({"", {}, {}, {std::move(table)}});
  return report;
}

Report search_report(const std::string& machine, std::span<const Record> rows,
                     const std::string& command) {
  Report report =
      head_of(fmt::format("Layouts of {} on {}", rows.front()["model"].get<std::string>(), machine),
              command);
  ReportChart chart{"The quickest layouts",
                    "Of those that fit into memory.",
                    {"step (ms)", AxisScale::linear},
                    {"", AxisScale::words}};
  ReportSeries series{"", SeriesMark::bars, 0, false, {}};
  for (const Record& row : rows) {
    const auto time = row["time_ms"].get<double>();
    series.points.push_back(
        {time,
         fmt::format("tp {} pp {} dp {} v {} zero {} micro {} {}", row["tp"].get<int>(),
                     row["pp"].get<int>(), row["dp"].get<int>(), row["interleave"].get<int>(),
                     row["zero"].get<int>(), row["micro_batch"].get<int>(),
                     row["recompute"].get<std::string>()),
         {},
         {},
         1,
         fmt::format("{:.1f} ms", time),
         ""});
  }
  chart.series.push_back(std::move(series));
  ReportTable table{"", columns_of(rows.front()), {rows.begin(), rows.end()}};
  report.sections.push_back({"", {std::move(chart)}, {step_assumptions}, {std::move(table)}});
  return report;
}

Report validation_report(std::span<const Record> rows, const std::string& command) {
  Report report = head_of("Measured steps and predictions", command);
  ReportChart chart{"Predicted by measured",
                    "Each point is a step; the line is where both are equal.",
                    {"measured (ms)", AxisScale::logarithmic},
                    {"predicted (ms)", AxisScale::logarithmic}};
  ReportSeries equal{"equal", SeriesMark::dashes, reference_tone, false, {}};
  std::vector<std::string> groups;
  std::vector<double> measured;
  for (const Record& row : rows) {
    const auto group = row["group"].get<std::string>();
    auto found = std::find(groups.begin(), groups.end(), group);
    if (found == groups.end()) {
      groups.push_back(group);
      chart.series.push_back(
          {group, SeriesMark::dots, static_cast<int>(groups.size() - 1), false, {}});
      found = groups.end() - 1;
    }
    chart.series[static_cast<std::size_t>(found - groups.begin())].points.push_back(
        {row["measured_ms"], row["time_ms"], {}, {}, 1, "", row["id"].get<std::string>()});
    measured.push_back(row["measured_ms"].get<double>());
  }
  std::sort(measured.begin(), measured.end());
  for (const double time : measured) equal.points.push_back({time, time});
  chart.series.push_back(std::move(equal));
  ReportTable table{"", {}, {rows.begin(), rows.end()}};
  if (!rows.empty()) table.columns = columns_of(rows.front());
  report.sections.push_back({"", {std::move(chart)}, {}, {std::move(table)}});
  return report;
}

}  // namespace collsim::command
