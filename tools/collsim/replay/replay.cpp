#include <fmt/format.h>
#include <fmt/ostream.h>

#include <map>
#include <ostream>

#include "sim/base/input_error.h"
#include "sim/base/units.h"
#include "tools/collsim/core/format.h"
#include "tools/collsim/core/options.h"
#include "tools/collsim/core/subcommand.h"
#include "tools/collsim/replay/job_change.h"
#include "tools/collsim/replay/replayed_step.h"
#include "tools/collsim/report/answer.h"
#include "tools/collsim/traces/job_trace.h"
#include "tools/collsim/traces/trace_summary.h"

namespace collsim::command {

namespace {

constexpr const char* no_machine = "a trace without a machine";
constexpr const char* two_runs = "--compare";
constexpr double us_in_ms = 1000;
constexpr double percent = 100;
/// GB/s of bytes a microsecond.
constexpr double gbps_of_bytes_per_us = 1e-3;
/// More rows are for programs.
constexpr std::size_t max_class_rows = 24;

/// Of the transfer where it is known, else of the whole kernel.
double algbw_of(const CallClass& row) {
  const double time_us = row.matched > 0 ? row.transfer_us : row.time_us;
  return time_us > 0 ? row.example.bytes / time_us * gbps_of_bytes_per_us : 0;
}

/// A time that people read in milliseconds.
Column in_ms(const char* key, const char* title, int rank = 0) {
  return {key, title, "(ms)", 2, 1 / us_in_ms, rank};
}

Table rank_table(const TraceSummary& summary) {
  const int compared = summary.ranks.size() > 1 ? 0 : data_only;
  Table table;
  for (const RankSummary& rank : summary.ranks) {
    NewRow add(table);
    add({"rank", "rank"}, rank.rank);
    add({"steps", "steps"}, rank.steps);
    add(in_ms("step_us", "step"), rank.steps > 0 ? Record(rank.step_us) : Record());
    add(in_ms("span_us", "span"), rank.span_us);
    add(in_ms("compute_us", "compute"), rank.compute_us);
    add(in_ms("communication_us", "calls"), rank.communication_us);
    add(in_ms("exposed_us", "exposed"), rank.exposed_us);
    add(in_ms("waited_us", "waited", compared), rank.waited_us);
    add({"came_last", "came last", "", 0, 1, compared}, rank.came_last);
    Record exposed = Record::array();
    for (const ExposedTime& each : rank.by_communicator) {
      exposed.push_back(
          Record{{"communicator", each.communicator}, {"exposed_us", each.exposed_us}});
    }
    add.data("exposed_by_communicator", std::move(exposed));
  }
  return table;
}

/// The time that nothing hid, by communicator: of the rank that has most of it, and the mean.
Table exposed_table(const TraceSummary& summary) {
  struct Exposed {
    double max_us = 0;
    double sum_us = 0;
    std::int64_t rank = 0;
  };
  std::map<std::string, Exposed> rows;
  for (const RankSummary& rank : summary.ranks) {
    for (const ExposedTime& each : rank.by_communicator) {
      Exposed& row = rows[each.communicator];
      row.sum_us += each.exposed_us;
      if (each.exposed_us < row.max_us) continue;
      row.max_us = each.exposed_us;
      row.rank = rank.rank;
    }
  }
  Table table;
  for (const auto& [name, row] : rows) {
    NewRow add(table);
    add({"communicator", "communicator"}, name.empty() ? "-" : name);
    add(in_ms("mean", "exposed"), row.sum_us / static_cast<double>(summary.ranks.size()));
    add(in_ms("most", "most"), row.max_us);
    add({"rank", "of rank"}, row.rank);
  }
  return table;
}

Table class_table(const TraceSummary& summary) {
  Table table;
  table.max_rows = max_class_rows;
  for (const CallClass& row : summary.classes) {
    const TracedCall& call = row.example;
    const auto known = [](bool is_known, auto value) {
      return is_known ? Record(value) : Record();
    };
    const bool is_matched = row.matched > 0;
    const bool has_bytes = call.bytes > 0;
    NewRow add(table);
    add({"communicator", "communicator"}, call.communicator);
    add({"operation", "operation"}, call.operation);
    add.data("type", call.type);
    add({"bytes", "bytes", "", 0}, known(has_bytes, call.bytes));
    add({"ranks", "ranks"}, known(call.ranks > 0, call.ranks));
    add({"channels", "channels"}, known(call.channels > 0, call.channels));
    add({"count", "count"}, row.count);
    add.data("matched", row.matched);
    add({"time_us", "time", "(us)", 1}, row.time_us);
    add({"transfer_us", "transfer", "(us)", 1}, known(is_matched, row.transfer_us));
    add({"wait_us", "wait", "(us)", 1}, known(is_matched, row.wait_us));
    add.data("algbw_GBps", known(has_bytes, algbw_of(row)));
    add({"busbw_GBps", "busbw", "(GB/s)"}, known(has_bytes, algbw_of(row) * busbw_factor(call)));
  }
  return table;
}

Answer summary_answer(const TraceSummary& summary) {
  Table ranks = rank_table(summary);
  Table classes = class_table(summary);
  Answer answer;
  answer.document = {{"ranks", ranks.rows}, {"calls", classes.rows}};
  for (Table& table : std::vector{std::move(ranks), exposed_table(summary), std::move(classes)}) {
    answer.sections.push_back({"", {}, {}, {std::move(table)}});
    answer.sections.back().apart = true;
  }
  return answer;
}

int run_replay(std::span<const std::string> args, std::ostream& out, std::ostream&) {
  const auto values = parse_options(replay_subcommand, args, out);
  if (!values) return exit_ok;
  const bool has_machine = values->contains("topology");
  const bool compares = (*values)["compare"].as<bool>();
  if (compares || !has_machine) {
    heed_only(*values, replay_subcommand, {compares ? two_runs : no_machine});
  }
  std::vector<RankTrace> traces;
  for (const std::string& file : (*values)["file"].as<std::vector<std::string>>()) {
    traces.push_back(read_job_trace(file));
  }
  const Format format = format_option(*values);
  if (compares) {
    const double threshold = (*values)["threshold"].as<double>() / percent;
    const JobChange change = compare_jobs(std::move(traces), threshold);
    write_answer(format, change.answer, out);
    return change.is_slower ? exit_answer_is_no : exit_ok;
  }
  if (has_machine) {
    const auto& machine = (*values)["topology"].as<std::string>();
    write_answer(format, replay_answer(machine, replay_steps(*values, traces)), out);
  } else {
    write_answer(format, summary_answer(summarize(std::move(traces))), out);
  }
  return exit_ok;
}

}  // namespace

const Subcommand replay_subcommand{
    .name = "replay",
    .summary = "say what a job did, by its profiler's traces: calls, waits, exposed time",
    .usages = {"TRACE... [options]", "BEFORE... AFTER... --compare [--threshold X]",
               "TRACE... -t MACHINE [--env K=V] [--step N] [--write FILE]"},
    .answers =
        "Says what a job did, by traces of PyTorch's profiler (Kineto) or of Chakra, one of each "
        "rank, plain or packed by gzip: computing, communication, what of it nothing hides, calls "
        "by communicator, operation and size, and who waits for whom.",
    .manual =
        "With traces of several ranks the wait for the last rank is told from the transfer. The "
        "rank is the one in the trace's distributedInfo. With -t, steps become programs: kernels "
        "take as long as traced, and calls what NCCL needs for them on that machine, rank i on its "
        "GPU i. Says how far the replay is from the trace, or what another machine or other "
        "settings would change. --compare takes the traces of two runs of a job, one after the "
        "other: from the first rank that comes again on, they are the second's. Exit code 1 means "
        "that its step is slower by more than --threshold.",
    .examples = {"replay rank0.json.gz rank1.json.gz",
                 "replay rank*.json -t dgx-h100 --env NCCL_MAX_NCHANNELS=4",
                 "replay last-week/rank*.json today/rank*.json --compare"},
    .argument = "file",
    .needs = "trace",
    .first = "topology nodes env step write compare kernel-time simulate format",
    .modes = {{no_machine, "file"},
              {two_runs, "file compare threshold"},
              {"a replay", "file topology nodes env step write kernel-time simulate"}},
    .formats = {Format::table, Format::json},
    .values = {{"file", texts("FILE")}, {"step", number()}},
    .run = run_replay,
};

}  // namespace collsim::command
