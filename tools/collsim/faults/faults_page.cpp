#include "tools/collsim/faults/faults_page.h"

#include <fmt/format.h>

#include <algorithm>

#include "tools/collsim/report/answer.h"

namespace collsim::command {

namespace {

constexpr std::size_t max_bars = 30;

/// "node0/gpu0 - node0/nvswitch0, and 31 alike".
std::string bar_name(const Record& link) {
  const auto cables = link["cables"].get<std::size_t>();
  const auto name = link["cable"].get<std::string>();
  return cables == 1 ? name : fmt::format("{}, and {} alike", name, cables - 1);
}

ChartPoint bar_of(const Record& link) {
  const auto slowdown = link["slowdown"].get<double>();
  ChartPoint point{link["slowdown"], bar_name(link), fmt::format("{:.2f}", slowdown)};
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

Chart slowdown_chart(const Record& ranking) {
  const Record& links = ranking["links"];
  Chart chart{"Slowdown by one slow cable, the worst first",
              "1: as fast as healthy. Whiskers: known only as two bounds.",
              {"time / healthy time", AxisScale::linear},
              {"", AxisScale::words},
              {},
              true};
  if (links.size() > max_bars) {
    chart.note += fmt::format(" The worst {} of {} kinds of cables.", max_bars, links.size());
  }
  ChartSeries bars{"", SeriesMark::bars, 0};
  for (std::size_t i = 0; i < std::min(links.size(), max_bars); ++i) {
    bars.points.push_back(bar_of(links[i]));
  }
  chart.series.push_back(std::move(bars));
  return chart;
}

}  // namespace

Table link_table(const Record& ranking, std::size_t rows) {
  Table table{"",
              {{"slowdown", "slowdown", "", 3},
               {"at_most", "at most", "", 3},
               {"time_us", "time", "(us)"},
               {"busy", "busy", "(%)", 1, 100},
               {"cables", "cables"},
               {"how", "how"},
               {"exact_class", "all alike in every way", "", 0, 1, wide_only},
               {"cable", "example"}},
              ranking["links"].get<std::vector<Record>>(),
              rows,
              "more kinds of cables (--top)"};
  const bool is_between_bounds =
      std::any_of(table.rows.begin(), table.rows.end(),
                  [](const Record& row) { return row["at_most"] != row["slowdown"]; });
  if (!is_between_bounds) table.columns[1].rank = wide_only;
  return table;
}

AnswerSection slowdown_section(const std::string& run, const Record& ranking) {
  AnswerSection section{fmt::format("{}: {}", ranking["algorithm"].get<std::string>(), run)};
  section.notes.emplace_back(fmt::format(
      "{}{:.2f} us when healthy ({}). One cable at a time has {:g} % of its bandwidth, both ways.",
      ranking["how"] == "bounds" ? "At least " : "", ranking["healthy_us"].get<double>(),
      ranking["how"].get<std::string>(), 100 * ranking["share"].get<double>()));
  if (!ranking["links"].empty()) section.charts.push_back(slowdown_chart(ranking));
  section.shown = Shown::on_pages;
  return section;
}

}  // namespace collsim::command
