#include "tools/collsim/faults/faults_page.h"

#include <fmt/format.h>

#include <algorithm>

#include "tools/collsim/report/report.h"

namespace collsim::command {

namespace {

constexpr std::size_t max_bars = 30;

/// "node0/gpu0 - node0/nvswitch0, and 31 alike".
std::string bar_name(const Record& link) {
  const auto cables = link["cables"].get<std::size_t>();
  const auto name = link["cable"].get<std::string>();
  return cables == 1 ? name : fmt::format("{}, and {} alike", name, cables - 1);
}

ReportPoint bar_of(const Record& link) {
  const auto slowdown = link["slowdown"].get<double>();
  ReportPoint point{
      link["slowdown"], bar_name(link), {}, {}, 1, fmt::format("{:.2f}", slowdown), {}};
  if (link["at_most"].is_number() && link["at_most"] != link["slowdown"]) {
    point.low = link["slowdown"];
    point.high = link["at_most"];
    point.label = fmt::format("{:.2f} to {:.2f}", slowdown, link["at_most"].get<double>());
  }
  point.text = fmt::format("{}\n{} times as long: {:.2f} us; busy {:.0f} %; {}", bar_name(link),
                           point.label, link["time_us"].get<double>(),
                           100 * link["busy"].get<double>(), link["how"].get<std::string>());
  return point;
}

ReportChart slowdown_chart(const Record& ranking) {
  const Record& links = ranking["links"];
  ReportChart chart{"Slowdown by one slow cable, the worst first",
                    "1: as fast as healthy. Whiskers: known only as two bounds.",
                    {"time / healthy time", AxisScale::linear},
                    {"", AxisScale::words},
                    {},
                    true};
  if (links.size() > max_bars) {
    chart.note += fmt::format(" The worst {} of {} kinds of cables.", max_bars, links.size());
  }
  ReportSeries bars{"", SeriesMark::bars, 0, false, {}};
  for (std::size_t i = 0; i < std::min(links.size(), max_bars); ++i) {
    bars.points.push_back(bar_of(links[i]));
  }
  chart.series.push_back(std::move(bars));
  return chart;
}

ReportTable link_table(const Record& ranking) {
  return {"All kinds of cables that the call uses",
          {{"slowdown", "slowdown", 3},
           {"at_most", "at most", 3},
           {"time_us", "time (us)"},
           {"busy", "busy (%)", 1, 100},
           {"cables", "cables"},
           {"how", "how"},
           {"exact_class", "all alike in every way"},
           {"cable", "example"}},
          ranking["links"].get<std::vector<Record>>()};
}

ReportSection section_of(const RankedRun& run, double share) {
  const Record& ranking = run.ranking;
  ReportSection section{
      fmt::format("{}: {}", ranking["algorithm"].get<std::string>(), run.title), {}, {}, {}};
  section.texts.push_back(fmt::format(
      "{}{:.2f} us when healthy ({}). One cable at a time has {:g} % of its bandwidth, both ways. "
      "{} cables are not used: their faults cost no time.",
      ranking["how"] == "bounds" ? "At least " : "", ranking["healthy_us"].get<double>(),
      ranking["how"].get<std::string>(), 100 * share, ranking["idle_cables"].get<std::size_t>()));
  if (ranking["links"].empty()) return section;
  section.charts.push_back(slowdown_chart(ranking));
  section.tables.push_back(link_table(ranking));
  return section;
}

}  // namespace

Report faults_report(const CallRequest& request, const FaultsPage& faults,
                     const std::string& command) {
  std::vector<Record> rankings;
  for (const RankedRun& run : faults.rankings) rankings.push_back(run.ranking);
  const Record& first = rankings.front();
  Report report{
      fmt::format("Slow cables: {} of {} on {}, {} ranks", to_string(request.scenario.collective),
                  to_string(Bytes{first["size_bytes"].get<std::int64_t>()}),
                  request.topology.name(), request.ranks),
      command,
      {{"NCCL", joined_values(rankings, "nccl_version")}, {"calibration", request.cost.name}},
      {}};
  add_trust_and_version(report, request.trust_errors, faults.classes);
  for (const RankedRun& run : faults.rankings) {
    report.sections.push_back(section_of(run, first["share"].get<double>()));
  }
  return report;
}

}  // namespace collsim::command
