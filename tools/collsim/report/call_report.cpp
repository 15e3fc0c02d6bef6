#include "tools/collsim/report/call_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "sim/base/units.h"
#include "tools/collsim/report/answer.h"
#include "tools/collsim/report/records.h"

namespace collsim::command {

namespace {

/// The rows of one run.
struct AnsweredRun {
  std::string name;  ///< short, and no other run's
  std::string title;
  std::vector<Column> columns;
  std::vector<Record> rows;
};

/// "64 KiB: 12.34 us, 5.31 GB/s; ring/LL128, 8 channels".
std::string hint_of(const AnsweredRun& run, const Record& row) {
  std::string text = fmt::format("{}, {}: {:.2f} us, {:.2f} GB/s", run.name,
                                 rounded_size(row["size_bytes"].get<double>()),
                                 row["time_us"].get<double>(), row["busbw_GBps"].get<double>());
  text += fmt::format("\n{}/{}, {} channels", row["algorithm"].get<std::string>(),
                      row["protocol"].get<std::string>(), row["channels"].get<int>());
  if (row["measured_us"].is_number()) {
    text += fmt::format("\nmeasured {:.2f} us, error {:+.1f} %", row["measured_us"].get<double>(),
                        100 * row["error"].get<double>());
  }
  if (row["time_p10_us"].is_number()) {
    text += fmt::format("\n{}: 8 of 10 such times from {:.2f} to {:.2f} us",
                        row["trust"].get<std::string>(), row["time_p10_us"].get<double>(),
                        row["time_p90_us"].get<double>());
  }
  return text;
}

/// The busbw that a row would have with another of its times.
double busbw_of(const Record& row, double time_us) {
  return row["busbw_GBps"].get<double>() * row["time_us"].get<double>() / time_us;
}

Record figure_of(const Record& row, bool as_busbw, const char* time) {
  if (!row[time].is_number() || row[time] == 0) return nullptr;
  if (!as_busbw) return row[time];
  if (row["time_us"] == 0) return nullptr;
  return busbw_of(row, row[time].get<double>());
}

/// One figure of all rows over their size.
ChartSeries series_over_size(const AnsweredRun& run, bool as_busbw, const char* time,
                             ChartSeries series) {
  for (const Record& row : run.rows) {
    const Record y = figure_of(row, as_busbw, time);
    if (y.is_null() || row["size_bytes"] == 0) continue;
    series.points.push_back({row["size_bytes"], y, {}, hint_of(run, row)});
  }
  return series;
}

/// Where eight of ten such times lie.
ChartSeries error_band(const AnsweredRun& run, bool as_busbw, int tone) {
  ChartSeries band{"", SeriesMark::band, tone};
  for (const Record& row : run.rows) {
    if (!row["time_p10_us"].is_number() || row["size_bytes"] == 0 || row["time_us"] == 0) continue;
    const double least = row["time_p10_us"].get<double>();
    const double most = row["time_p90_us"].get<double>();
    const double low = as_busbw ? busbw_of(row, most) : least;
    const double high = as_busbw ? busbw_of(row, least) : most;
    band.points.push_back({row["size_bytes"], nullptr, {}, {}, low, high});
  }
  return band;
}

/// Whether it was asked for, so that the table has it, too.
bool shows_nccl_estimate(const AnsweredRun& run) {
  return std::any_of(run.columns.begin(), run.columns.end(),
                     [](const Column& column) { return column.key == "nccl_estimate_us"; });
}

/// Bounds of all runs; those that are equal once.
std::vector<ChartSeries> bound_series(const std::vector<AnsweredRun>& runs, bool as_busbw) {
  std::vector<ChartSeries> bounds;
  std::set<std::string> drawn;
  for (const AnsweredRun& run : runs) {
    ChartSeries bound =
        series_over_size(run, as_busbw, "bound_us", {"", SeriesMark::dashes, reference_tone});
    for (ChartPoint& point : bound.points) point.text.clear();
    std::string times;
    for (const Record& row : run.rows) times += fmt::format("{} ", row["bound_us"].get<double>());
    if (!drawn.insert(times).second) continue;
    bound.name = drawn.size() == 1 ? "bound" : fmt::format("bound of {}", run.name);
    bounds.push_back(std::move(bound));
  }
  return bounds;
}

Chart chart_over_size(const std::vector<AnsweredRun>& runs, bool as_busbw) {
  Chart chart{as_busbw ? "busbw" : "Time",
              as_busbw ? "The bound: no algorithm on this machine can beat it."
                       : "Lower is better. The shade: where 8 of 10 such times lie.",
              {"size", AxisScale::bytes},
              as_busbw ? ChartAxis{"busbw (GB/s)", AxisScale::linear}
                       : ChartAxis{"time (us)", AxisScale::logarithmic},
              bound_series(runs, as_busbw)};
  constexpr std::size_t max_bands = 2;  // more would hide each other
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const AnsweredRun& run = runs[i];
    const int tone = static_cast<int>(i);
    if (runs.size() <= max_bands) chart.series.push_back(error_band(run, as_busbw, tone));
    chart.series.push_back(
        series_over_size(run, as_busbw, "time_us", {run.name, SeriesMark::line, tone}));
    const auto add_if_any = [&](const char* time, const char* what, SeriesMark mark) {
      ChartSeries series = series_over_size(run, as_busbw, time,
                                            {fmt::format("{}, {}", run.name, what), mark, tone});
      if (!series.points.empty()) chart.series.push_back(std::move(series));
    };
    add_if_any("measured_us", "measured", SeriesMark::dots);
    if (shows_nccl_estimate(run)) {
      add_if_any("nccl_estimate_us", "NCCL's own estimate", SeriesMark::dashes);
    }
  }
  std::erase_if(chart.series, [](const ChartSeries& series) { return series.points.empty(); });
  return chart;
}

/// Where there is one size: a bar for each run, beside what was measured.
Chart chart_of_one_size(const std::vector<AnsweredRun>& runs) {
  Chart chart{"Time",
              "Lower is better. Whiskers: where 8 of 10 such times lie.",
              {"time (us)", AxisScale::linear},
              {"", AxisScale::words}};
  ChartSeries predicted{"predicted", SeriesMark::bars, 0};
  ChartSeries measured{"measured", SeriesMark::bars, 1};
  for (const AnsweredRun& run : runs) {
    for (const Record& row : run.rows) {
      const double time = row["time_us"].get<double>();
      ChartPoint point{row["time_us"], run.name, fmt::format("{:.2f} us", time), hint_of(run, row)};
      if (row["time_p10_us"].is_number()) {
        point.low = row["time_p10_us"];
        point.high = row["time_p90_us"];
      }
      predicted.points.push_back(point);
      if (!row["measured_us"].is_number()) continue;
      measured.points.push_back({row["measured_us"], run.name + ", measured",
                                 fmt::format("{:.2f} us", row["measured_us"].get<double>())});
    }
  }
  chart.series = {predicted};
  if (!measured.points.empty()) chart.series.push_back(measured);
  return chart;
}

bool has_several_sizes(const std::vector<AnsweredRun>& runs) {
  std::set<std::int64_t> sizes;
  for (const AnsweredRun& run : runs) {
    for (const Record& row : run.rows) sizes.insert(row["size_bytes"].get<std::int64_t>());
  }
  sizes.erase(0);  // has no place on a logarithmic axis
  return sizes.size() > 1;
}

/// "ring", or what NCCL chooses.
std::string short_name(const RunSpec& run) {
  return run.algorithm == "auto" ? "NCCL's choice" : run.algorithm;
}

class CallReport final : public CallPrinter {
 public:
  CallReport(Format format, std::string command, std::ostream& out) : format_(format), out_(out) {
    answer_.command = std::move(command);
  }

  void begin(const Section& section) override {
    section_ = section;
    AnsweredRun run{short_name(*section.run), describe(*section.run), answer_columns(section), {}};
    const bool taken = std::any_of(runs_.begin(), runs_.end(), [&](const AnsweredRun& other) {
      return other.name == run.name;
    });
    if (taken) run.name = fmt::format("{}: {}", runs_.size() + 1, run.title);
    for (Column& column : run.columns) {
      if (column.key == "error") column = {"error", "error", "(%)", 1, 100};
    }
    runs_.push_back(std::move(run));
    if (runs_.size() == 1) begin_report();
  }

  void add(const Row& row) override {
    runs_.back().rows.push_back(answer_record(section_, row));
    all_.push_back(runs_.back().rows.back());
    add_class(section_.request->errors, row.prediction.trust, row.prediction.medium, classes_);
  }

  void end() override {
    if (!section_.run->measured) return;
    recordings_.push_back(
        {"measured", fmt::format("{} in {}", section_.run->measured->id,
                                 section_.run->measured->file.filename().string())});
  }

  void finish() override {
    if (!all_.empty()) {
      answer_.facts.push_back({"NCCL", joined_values(all_, "nccl_version")});
    }
    answer_.facts.insert(answer_.facts.end(), recordings_.begin(), recordings_.end());
    add_ranges_and_version(answer_, classes_);
    AnswerSection charts;
    if (has_several_sizes(runs_)) {
      charts.charts = {chart_over_size(runs_, false), chart_over_size(runs_, true)};
    } else {
      charts.charts = {chart_of_one_size(runs_)};
    }
    answer_.sections.push_back(std::move(charts));
    for (AnsweredRun& run : runs_) {
      answer_.sections.push_back(
          {run.title, {}, {}, {Table{"", std::move(run.columns), std::move(run.rows)}}});
    }
    write_answer(format_, answer_, out_);
  }

 private:
  void begin_report() {
    const CallRequest& request = *section_.request;
    answer_.title =
        fmt::format("{} on {}, {} rank{}", to_string(request.scenario.collective),
                    request.topology.name(), request.ranks, request.ranks == 1 ? "" : "s");
    answer_.facts.push_back({"engine", section_.engine});
    answer_.facts.push_back({"calibration", request.cost.name});
    if (const std::string model = model_of(section_); !model.empty()) {
      answer_.facts.push_back({"model", model});
    }
    for (const Fault& fault : request.scenario.faults) {
      answer_.facts.push_back({"fault", fault.text});
    }
  }

  Format format_;
  std::ostream& out_;
  Section section_;
  Answer answer_;
  std::vector<AnsweredRun> runs_;
  std::vector<Record> all_;
  ErrorClasses classes_;
  std::vector<Fact> recordings_;
};

}  // namespace

std::unique_ptr<CallPrinter> make_call_report(Format format, std::string command,
                                              std::ostream& out) {
  return std::make_unique<CallReport>(format, std::move(command), out);
}

}  // namespace collsim::command
