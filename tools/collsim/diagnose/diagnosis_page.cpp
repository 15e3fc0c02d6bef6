// A diagnosis as a page.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "models/calibration/error_table.h"
#include "sim/base/units.h"
#include "tools/collsim/diagnose/diagnosis_report.h"
#include "tools/collsim/report/answer.h"
#include "tools/collsim/report/records.h"

namespace collsim::command {

namespace {

/// Of a size's measured times.
struct VerdictLook {
  Verdict verdict;
  const char* name;
  int tone;
};

constexpr std::array looks{VerdictLook{Verdict::healthy, "measured, healthy", 0},
                           VerdictLook{Verdict::cannot_tell, "measured, cannot tell", 2},
                           VerdictLook{Verdict::low, "measured, low", 1},
                           VerdictLook{Verdict::not_this_machine, "measured, not this machine", 5},
                           VerdictLook{Verdict::impossible, "measured, impossible", 3},
                           VerdictLook{Verdict::wrong, "measured, wrong data", 4}};

/// The sizes of one call as JSON has them.
std::vector<Record> sizes_of(const Diagnosis& diagnosis, std::size_t series) {
  Table table;
  for (const DiagnosedSize& size : diagnosis.sizes) {
    if (size.series == series) add_size(size, diagnosis.calls[series], table);
  }
  return table.rows;
}

std::string hint_of(const Record& row) {
  return fmt::format("{}: {}\nmeasured {:.2f} GB/s, expected {:.2f} GB/s: {:.2f}, limit {:.2f}",
                     rounded_size(row["size_bytes"].get<double>()),
                     row["verdict"].get<std::string>(), row["measured_busbw_GBps"].get<double>(),
                     row["expected_busbw_GBps"].get<double>(), row["ratio"].get<double>(),
                     row["limit"].get<double>());
}

/// Expected busbw times and by the limit: what is still healthy.
ChartSeries healthy_band(const std::vector<Record>& rows) {
  ChartSeries band{"healthy", SeriesMark::band, 2};
  for (const Record& row : rows) {
    const auto expected = row["expected_busbw_GBps"].get<double>();
    const auto limit = row["limit"].get<double>();
    band.points.push_back({row["size_bytes"], nullptr, {}, {}, expected * limit, expected / limit});
  }
  return band;
}

Chart busbw_chart(const RecordedCall& call, const std::vector<Record>& rows) {
  Chart chart{name_of(call),
              "The band: what is still healthy, by what is known of the spread of such runs.",
              {"size", AxisScale::bytes},
              {"busbw (GB/s)", AxisScale::logarithmic},
              {healthy_band(rows)}};
  ChartSeries expected{"expected", SeriesMark::dashes, 2};
  for (const Record& row : rows) {
    expected.points.push_back({row["size_bytes"], row["expected_busbw_GBps"]});
  }
  chart.series.push_back(std::move(expected));
  for (const VerdictLook& look : looks) {
    ChartSeries measured{look.name, SeriesMark::dots, look.tone};
    for (const Record& row : rows) {
      if (row["verdict"] != to_string(look.verdict)) continue;
      measured.points.push_back({row["size_bytes"], row["measured_busbw_GBps"], {}, hint_of(row)});
    }
    if (!measured.points.empty()) chart.series.push_back(std::move(measured));
  }
  return chart;
}

/// A row for each cause, likeliest first; causes of one group cannot be told apart.
Table cause_table(const Diagnosis& diagnosis) {
  Table table;
  table.title = "Causes; those with the same number fit alike";
  const auto add_cause = [&](const Record& number, double likelihood, Record cause) {
    NewRow add(table);
    add({"group", "no."}, number);
    add({"likelihood", "likelihood", "(%)", 0, 100}, likelihood);
    add({"text", "cause"}, cause["text"]);
    add({"residual", "off by", "(%)", 0, 100}, cause["residual"]);
    add({"simulated", "simulated"}, cause["simulated"]);
    add({"check", "what to look at"}, cause["check"]);
  };
  int group = 0;
  for (const CauseGroup& causes : diagnosis.causes) {
    ++group;
    for (const FittedCause& cause : causes.causes) {
      add_cause(group, causes.likelihood, cause_record(cause));
    }
  }
  if (!table.rows.empty()) {
    add_cause(nullptr, diagnosis.likelihood_of_healthy, {{"text", "nothing is wrong"}});
    add_cause(nullptr, diagnosis.likelihood_of_none, {{"text", "none of these"}});
  }
  return table;
}

/// Of several logs: a bar for each, the slowest first.
AnswerSection overview_of(const std::vector<DiagnosedLog>& logs) {
  Chart chart{"All logs, the slowest first",
              "Measured / expected busbw, in the middle of the log.",
              {"ratio", AxisScale::linear},
              {"", AxisScale::words},
              {},
              true};
  const std::vector<const DiagnosedLog*> sorted = slowest_first(logs);
  for (const VerdictLook& look : looks) {
    ChartSeries bars{std::string(to_string(look.verdict)), SeriesMark::bars, look.tone};
    for (const DiagnosedLog* log : sorted) {
      if (log->diagnosis.verdict != look.verdict || log->diagnosis.sizes.empty()) continue;
      const double ratio = ratio_of(log->diagnosis);
      bars.points.push_back({ratio, log->name,
                             fmt::format("{:.2f} {}", ratio, to_string(look.verdict)),
                             fmt::format("{}: {}", log->name, reason_of(log->diagnosis))});
    }
    if (!bars.points.empty()) chart.series.push_back(std::move(bars));
  }
  AnswerSection section{"", {std::move(chart)}};
  section.shown = Shown::on_pages;
  return section;
}

/// Each text of the logs once.
std::string joined_of(const std::vector<DiagnosedLog>& logs, std::string DiagnosedLog::*text) {
  std::set<std::string> texts;
  for (const DiagnosedLog& log : logs) texts.insert(log.*text);
  return fmt::format("{}", fmt::join(texts, ", "));
}

}  // namespace

AnswerSection cause_section(const Diagnosis& diagnosis) {
  AnswerSection section{"", {}, {}, {cause_table(diagnosis)}};
  section.shown = Shown::on_pages;
  return section;
}

void add_log_page(const DiagnosedLog& log, Answer& answer) {
  const Diagnosis& diagnosis = log.diagnosis;
  AnswerSection section{fmt::format("{}: {}", log.name, to_string(diagnosis.verdict))};
  for (std::size_t series = 0; series < diagnosis.calls.size(); ++series) {
    const std::vector<Record> rows = sizes_of(diagnosis, series);
    if (!rows.empty()) section.charts.push_back(busbw_chart(diagnosis.calls[series], rows));
  }
  section.shown = Shown::on_pages;
  answer.sections.push_back(std::move(section));
}

Answer answer_of(const std::vector<DiagnosedLog>& logs, const std::string& command) {
  Answer answer{
      fmt::format("Diagnosis: {}",
                  logs.size() == 1 ? logs.front().name : fmt::format("{} logs", logs.size())),
      command,
      {{"verdict", std::string(to_string(verdict_of(logs)))},
       {"machine", joined_of(logs, &DiagnosedLog::machine)},
       {"NCCL", joined_of(logs, &DiagnosedLog::nccl)},
       {"calibration", joined_of(logs, &DiagnosedLog::calibration)}}};
  const ErrorTable errors = load_error_table();
  ErrorClasses classes;
  for (const DiagnosedLog& log : logs) {
    for (const DiagnosedSize& size : log.diagnosis.sizes) {
      add_class(errors, size.trust, size.medium, classes);
    }
  }
  add_ranges_and_version(answer, classes);
  answer.document = diagnosis_record(logs);
  if (logs.size() > 1) answer.sections.push_back(overview_of(logs));
  add_logs(logs, answer);
  return answer;
}

}  // namespace collsim::command
