#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/input_error.h"
#include "sim/base/parallel.h"
#include "tools/collsim/core/numbers.h"
#include "tools/collsim/core/options.h"
#include "tools/collsim/core/subcommand.h"
#include "tools/collsim/core/waiting.h"
#include "tools/collsim/faults/fault_ranking.h"
#include "tools/collsim/report/answer.h"
#include "tools/collsim/report/call_rows.h"
#include "tools/collsim/report/records.h"
#include "tools/collsim/request/call_options.h"
#include "tools/collsim/request/call_request.h"

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

/// All kinds of cables of a ranking, as JSON has it; a terminal shows so many rows.
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

/// For pages a bar for each kind of cable, the worst first, up to 30.
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

constexpr std::uint32_t max_rows = 1'000'000;

std::string cable_name(const RankedLink& ranked, const Topology& topology) {
  const Link link = topology.link(ranked.links.cables.front());
  return fmt::format("{} - {}", topology.device_name(link.from), topology.device_name(link.to));
}

bool exact(const FaultRanking& ranking) {
  return std::all_of(ranking.links.begin(), ranking.links.end(),
                     [](const RankedLink& ranked) { return ranked.links.exact; });
}

std::vector<std::string> head_of(const CallRequest& request, const CallCompiler& compiler,
                                 const FaultRanking& ranking) {
  const Prediction& healthy = ranking.healthy;
  std::vector<std::string> texts{fmt::format(
      "collsim {}: {} of {} on {}, {} ranks; {}; {} {}: {}{:.2f} us when healthy{}",
      COLLSIM_VERSION, to_string(request.scenario.collective), to_string(healthy.size),
      request.topology.name(), compiler.ranks(), describe(compiler.spec().run), healthy.algorithm,
      to_string(healthy.protocol), ranking.origin == TimeOrigin::bounds ? "at least " : "",
      in_microseconds(healthy.time),
      ranking.origin == TimeOrigin::steady_state ? " (steady state)" : "")};
  ErrorClasses classes;
  add_class(request.errors, healthy.trust, healthy.medium, classes);
  for (std::string& text : range_texts(classes)) texts.push_back(std::move(text));
  texts.push_back(
      fmt::format("one cable at {:g} % of its bandwidth, both ways", 100 * ranking.share));
  return texts;
}

/// Null where it is not known.
Record at_most(const RankedLink& ranked) {
  if (std::isinf(ranked.slowdown_at_most)) return nullptr;
  return ranked.slowdown_at_most;
}

Record healthy_record(const FaultRanking& ranking) {
  return {{"algorithm", ranking.healthy.algorithm},
          {"size_bytes", ranking.healthy.size.count},
          {"healthy_us", in_microseconds(ranking.healthy.time)},
          {"share", ranking.share}};
}

Record link_record(const CallRequest& request, const RankedLink& ranked) {
  return {{"slowdown", ranked.slowdown},
          {"at_most", at_most(ranked)},
          {"time_us", in_microseconds(ranked.time)},
          {"busy", ranked.busy},
          {"cables", ranked.links.cables.size()},
          {"how", to_string(ranked.origin)},
          {"exact_class", ranked.links.exact},
          {"cable", cable_name(ranked, request.topology)}};
}

Record as_json(const CallRequest& request, const RunSpec& run, const FaultRanking& ranking) {
  Record json = healthy_record(ranking);
  json["how"] = to_string(ranking.origin);
  json["idle_cables"] = ranking.idle_cables;
  json.update(context_of(request, &run));
  json["links"] = Record::array();
  for (const RankedLink& ranked : ranking.links) {
    json["links"].push_back(link_record(request, ranked));
  }
  return json;
}

/// One run's ranking. The compiler keeps what the ranking refers to.
struct RankedCall {
  std::unique_ptr<CallCompiler> compiler;
  FaultRanking ranking;

  [[nodiscard]] const RunSpec& run() const { return compiler->spec().run; }
};

/// A row for each kind of cables.
std::vector<Record> rows_of(const CallRequest& request, const std::vector<RankedCall>& calls) {
  std::vector<Record> rows;
  for (const RankedCall& call : calls) {
    for (const RankedLink& ranked : call.ranking.links) {
      rows.push_back(healthy_record(call.ranking));
      rows.back().update(link_record(request, ranked));
      rows.back().update(context_of(request, &call.run()));
    }
  }
  return rows;
}

/// One run's ranking: what pages draw of it, and a row for each kind of cables.
void add_ranking(const CallRequest& request, const RankedCall& call, std::size_t rows,
                 Answer& answer) {
  const FaultRanking& ranking = call.ranking;
  const Record record = as_json(request, call.run(), ranking);
  answer.sections.push_back(slowdown_section(describe(call.run()), record));
  answer.head(comments(head_of(request, *call.compiler, ranking)));
  AnswerSection section;
  if (!exact(ranking)) {
    section.notes.push_back(
        comment("the machine is too large to distinguish all roles: cables that carry the same "
                "bytes and have the same surroundings count as one kind"));
  }
  section.tables.push_back(link_table(record, rows));
  section.after.push_back(comment(
      fmt::format("{} cables are not used: their faults cost no time", ranking.idle_cables)));
  answer.sections.push_back(std::move(section));
  answer.document.push_back(record);
}

Answer answer_of(const CallRequest& request, const std::vector<RankedCall>& calls, std::size_t rows,
                 const std::string& command) {
  const Prediction& first = calls.front().ranking.healthy;
  Answer answer{
      fmt::format("Slow cables: {} of {} on {}, {} ranks", to_string(request.scenario.collective),
                  to_string(first.size), request.topology.name(), request.ranks),
      command};
  answer.document = Record::array();
  ErrorClasses classes;
  for (const RankedCall& call : calls) {
    const Prediction& healthy = call.ranking.healthy;
    add_class(request.errors, healthy.trust, healthy.medium, classes);
    add_ranking(request, call, rows, answer);
  }
  const auto rankings = answer.document.get<std::vector<Record>>();
  answer.facts = {{"NCCL", joined_values(rankings, "nccl_version")},
                  {"calibration", request.cost.name}};
  add_ranges_and_version(answer, classes);
  answer.rows = rows_of(request, calls);
  return answer;
}

int run_faults(std::span<const std::string> args, std::ostream& out, std::ostream& err) {
  const auto values = parse_options(faults_subcommand, args, out);
  if (!values) return exit_ok;
  const double share = share_option("degrade", (*values)["degrade"].as<std::string>());
  const std::uint32_t rows = bounded_option(*values, "top", 1, max_rows);
  RankingEffort effort;
  effort.threads = thread_count(*values, processors());
  const CallRequest request = read_request(*values, err);
  heed_schedules(faults_subcommand, *values, request);
  if (!request.faults.empty()) {
    throw InputError("the scenario already has faults",
                     "use a scenario without 'faults', and no --fault");
  }
  const Bytes size = only_size("faults", *values, request);
  std::vector<RankedCall> calls;
  for (const RunSpec& run : request.scenario.runs) {
    auto compiler = std::make_unique<CallCompiler>(spec_of(request, run));
    warn(*compiler, err);
    const Waiting waiting(err, "degrading every link in turn");
    FaultRanking ranking = rank_links(compiler->plan(size), share, effort);
    calls.push_back({std::move(compiler), std::move(ranking)});
  }
  write_answer(request.format, answer_of(request, calls, rows, command_text("faults", args)), out);
  return exit_ok;
}

}  // namespace

const Subcommand faults_subcommand{
    .name = "faults",
    .summary = "degrade every link in turn, to find the one that costs the most time",
    .usages = {"[MACHINE|SCENARIO] -b SIZE [options]"},
    .answers =
        "Says which cable, if it were slow, would cost a call the most time: every cable of the "
        "machine is degraded in turn, both ways, and they are sorted by the slowdown.",
    .manual =
        "Of cables that the call uses in the same way, it simulates one. `busy` is the share of "
        "the healthy call's time during which a cable carries data. A long call is simulated until "
        "it repeats itself, and then extrapolated (`steady state`). If simulating all cables would "
        "take too long, only the busiest are simulated. For the others the table shows `bounds`: "
        "the lower one, and the upper one as `at most`, where it is known. docs/faults.md has "
        "more.\n" +
        std::string(call_manual),
    .examples = {"faults dgx-h100-x4 -b 1G", "faults dgx-h100-x4 -b 1G -a tree --degrade 50%",
                 "faults dgx-h100-x4 -b 1G -a ring,tree --format html > faults.html"},
    .argument = "scenario",
    .first = "topology ranks collective algorithm minbytes degrade top env threads format",
    .modes = call_modes("minbytes degrade top threads", "", ""),
    .formats = formats_with_page(),
    .run = run_faults,
};

}  // namespace collsim::command
