// A diagnosis as a page.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "models/calibration/trust.h"
#include "sim/base/units.h"
#include "tools/collsim/diagnose/diagnosis_report.h"
#include "tools/collsim/report/records.h"
#include "tools/collsim/report/report.h"

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
  std::vector<Record> rows;
  for (const DiagnosedSize& size : diagnosis.sizes) {
    if (size.series != series) continue;
    rows.push_back(size_record(size, diagnosis.calls[series]));
  }
  return rows;
}

std::string hint_of(const Record& row) {
  return fmt::format("{}: {}\nmeasured {:.2f} GB/s, expected {:.2f} GB/s: {:.2f}, limit {:.2f}",
                     rounded_size(row["size_bytes"].get<double>()),
                     row["verdict"].get<std::string>(), row["measured_busbw_GBps"].get<double>(),
                     row["expected_busbw_GBps"].get<double>(), row["ratio"].get<double>(),
                     row["limit"].get<double>());
}

/// Expected busbw times and by the limit: what is still healthy.
ReportSeries healthy_band(const std::vector<Record>& rows) {
  ReportSeries band{"healthy", SeriesMark::band, 2, false, {}};
  for (const Record& row : rows) {
    const auto expected = row["expected_busbw_GBps"].get<double>();
    const auto limit = row["limit"].get<double>();
    band.points.push_back(
        {row["size_bytes"], nullptr, expected * limit, expected / limit, 1, {}, {}});
  }
  return band;
}

ReportChart busbw_chart(const RecordedCall& call, const std::vector<Record>& rows) {
  ReportChart chart{name_of(call),
                    "The band: what is still healthy, by what is known of the spread of such runs.",
                    {"size", AxisScale::bytes},
                    {"busbw (GB/s)", AxisScale::logarithmic},
                    {healthy_band(rows)}};
  ReportSeries expected{"expected", SeriesMark::dashes, 2, false, {}};
  for (const Record& row : rows) {
    expected.points.push_back({row["size_bytes"], row["expected_busbw_GBps"], {}, {}, 1, {}, {}});
  }
  chart.series.push_back(std::move(expected));
  for (const VerdictLook& look : looks) {
    ReportSeries measured{look.name, SeriesMark::dots, look.tone, false, {}};
    for (const Record& row : rows) {
      if (row["verdict"] != to_string(look.verdict)) continue;
      measured.points.push_back(
          {row["size_bytes"], row["measured_busbw_GBps"], {}, {}, 1, {}, hint_of(row)});
    }
    if (!measured.points.empty()) chart.series.push_back(std::move(measured));
  }
  return chart;
}

ReportTable size_table(const RecordedCall& call, std::vector<Record> rows) {
  return {name_of(call),
          {{"size_bytes", "size (B)"},
           {"measured_us", "measured (us)"},
           {"expected_us", "expected (us)"},
           {"bound_us", "bound (us)"},
           {"measured_busbw_GBps", "measured (GB/s)"},
           {"expected_busbw_GBps", "expected (GB/s)"},
           {"ratio", "ratio"},
           {"limit", "limit"},
           {"trust", "trust"},
           {"verdict", "verdict"}},
          std::move(rows)};
}

/// A row for each cause, likeliest first; causes of one group cannot be told apart.
ReportTable cause_table(const Diagnosis& diagnosis) {
  ReportTable table{"Causes; those with the same number fit alike",
                    {{"group", "no."},
                     {"likelihood", "likelihood (%)", 0, 100},
                     {"text", "cause"},
                     {"residual", "off by (%)", 0, 100},
                     {"simulated", "simulated"},
                     {"check", "what to look at"}},
                    {}};
  int group = 0;
  for (const CauseGroup& causes : diagnosis.causes) {
    ++group;
    for (const FittedCause& cause : causes.causes) {
      Record row = cause_record(cause);
      row["group"] = group;
      row["likelihood"] = causes.likelihood;
      table.rows.push_back(std::move(row));
    }
  }
  if (!table.rows.empty()) {
    table.rows.push_back({{"group", nullptr},
                          {"likelihood", diagnosis.likelihood_of_none},
                          {"text", "none of these"},
                          {"residual", nullptr},
                          {"simulated", nullptr},
                          {"check", nullptr}});
  }
  return table;
}

ReportSection section_of(const DiagnosedLog& log) {
  const Diagnosis& diagnosis = log.diagnosis;
  ReportSection section{fmt::format("{}: {}", log.name, to_string(diagnosis.verdict)), {}, {}, {}};
  section.texts.push_back(
      fmt::format("{}: {}.", to_string(diagnosis.verdict), reason_of(diagnosis)));
  if (diagnosis.next) {
    section.texts.push_back("Next: " + text_of(*diagnosis.next, diagnosis));
  }
  for (const std::string& text : log.suspects) section.texts.push_back("Hosts: " + text);
  for (const std::string& text : diagnosis.contradictions) section.texts.push_back("Log: " + text);
  for (const std::string& text : diagnosis.notes) section.texts.push_back("Note: " + text);
  section.tables.push_back(cause_table(diagnosis));
  for (std::size_t series = 0; series < diagnosis.calls.size(); ++series) {
    std::vector<Record> rows = sizes_of(diagnosis, series);
    if (rows.empty()) continue;
    const RecordedCall& call = diagnosis.calls[series];
    section.charts.push_back(busbw_chart(call, rows));
    section.tables.push_back(size_table(call, std::move(rows)));
  }
  return section;
}

/// Of several logs: a bar for each, the slowest first.
ReportSection overview_of(const std::vector<DiagnosedLog>& logs) {
  ReportChart chart{"All logs, the slowest first",
                    "Measured / expected busbw, in the middle of the log.",
                    {"ratio", AxisScale::linear},
                    {"", AxisScale::words},
                    {},
                    true};
  std::vector<const DiagnosedLog*> sorted;
  sorted.reserve(logs.size());
  for (const DiagnosedLog& log : logs) sorted.push_back(&log);
  std::stable_sort(sorted.begin(), sorted.end(), is_slower);
  for (const VerdictLook& look : looks) {
    ReportSeries bars{std::string(to_string(look.verdict)), SeriesMark::bars, look.tone, false, {}};
    for (const DiagnosedLog* log : sorted) {
      if (log->diagnosis.verdict != look.verdict || log->diagnosis.sizes.empty()) continue;
      const double ratio = ratio_of(log->diagnosis);
      bars.points.push_back({ratio,
                             log->name,
                             {},
                             {},
                             1,
                             fmt::format("{:.2f} {}", ratio, to_string(look.verdict)),
                             fmt::format("{}: {}", log->name, reason_of(log->diagnosis))});
    }
    if (!bars.points.empty()) chart.series.push_back(std::move(bars));
  }
  return {"", {std::move(chart)}, {}, {}};
}

/// Each text of the logs once.
std::string joined_of(const std::vector<DiagnosedLog>& logs, std::string DiagnosedLog::*text) {
  std::set<std::string> texts;
  for (const DiagnosedLog& log : logs) texts.insert(log.*text);
  return fmt::format("{}", fmt::join(texts, ", "));
}

}  // namespace

Report report_of(const std::vector<DiagnosedLog>& logs, const std::string& command) {
  Report report{
      fmt::format("Diagnosis: {}",
                  logs.size() == 1 ? logs.front().name : fmt::format("{} logs", logs.size())),
      command,
      {{"verdict", std::string(to_string(verdict_of(logs)))},
       {"machine", joined_of(logs, &DiagnosedLog::machine)},
       {"NCCL", joined_of(logs, &DiagnosedLog::nccl)},
       {"calibration", joined_of(logs, &DiagnosedLog::calibration)}},
      {}};
  std::set<Trust> classes;
  for (const DiagnosedLog& log : logs) {
    for (const DiagnosedSize& size : log.diagnosis.sizes) classes.insert(size.trust);
  }
  add_trust_and_version(report, load_trust_errors(), classes);
  if (logs.size() > 1) report.sections.push_back(overview_of(logs));
  for (const DiagnosedLog& log : logs) report.sections.push_back(section_of(log));
  return report;
}

}  // namespace collsim::command
