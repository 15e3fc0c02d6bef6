#include <fmt/format.h>
#include <fmt/ostream.h>

#include <map>
#include <ostream>

#include "models/job_trace/job_trace.h"
#include "models/job_trace/trace_files.h"
#include "models/job_trace/trace_summary.h"
#include "sim/base/input_error.h"
#include "sim/base/units.h"
#include "tools/collsim/core/format.h"
#include "tools/collsim/core/options.h"
#include "tools/collsim/core/subcommand.h"
#include "tools/collsim/replay/replayed_step.h"
#include "tools/collsim/report/answer.h"

namespace collsim::command {

namespace {

constexpr const char* no_machine = "a trace without a machine";
constexpr double us_in_ms = 1000;
/// GB/s of bytes a microsecond.
constexpr double gbps_of_bytes_per_us = 1e-3;
/// More rows are for programs.
constexpr std::size_t max_class_rows = 24;

/// Of the transfer where it is known, else of the whole kernel.
double algbw_of(const CallClass& row) {
  const double time_us = row.matched > 0 ? row.transfer_us : row.time_us;
  return time_us > 0 ? row.example.bytes / time_us * gbps_of_bytes_per_us : 0;
}

std::string or_dash(bool is_known, const std::string& text) {
  return is_known ? text : "-";
}

void print_rank_rows(const TraceSummary& summary, std::ostream& out) {
  fmt::print(out, "{:>4} {:>5} {:>9} {:>9} {:>10} {:>9} {:>10} {:>9} {:>9}\n", "rank", "steps",
             "step ms", "span ms", "compute ms", "calls ms", "exposed ms", "waited ms",
             "came last");
  for (const RankSummary& rank : summary.ranks) {
    const bool is_compared = summary.ranks.size() > 1;
    fmt::print(out, "{:>4} {:>5} {:>9} {:>9.2f} {:>10.2f} {:>9.2f} {:>10.2f} {:>9} {:>9}\n",
               rank.rank, rank.steps,
               or_dash(rank.steps > 0, fmt::format("{:.2f}", rank.step_us / us_in_ms)),
               rank.span_us / us_in_ms, rank.compute_us / us_in_ms,
               rank.communication_us / us_in_ms, rank.exposed_us / us_in_ms,
               or_dash(is_compared, fmt::format("{:.2f}", rank.waited_us / us_in_ms)),
               or_dash(is_compared, fmt::format("{}", rank.came_last)));
  }
}

/// The time that nothing hid, by communicator: of the rank that has most of it, and the mean.
void print_exposed_rows(const TraceSummary& summary, std::ostream& out) {
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
  if (rows.empty()) return;
  fmt::print(out, "\n{:<14} {:>15} {:>8} {:>7}\n", "communicator", "exposed ms", "most ms",
             "of rank");
  for (const auto& [name, row] : rows) {
    const double mean_us = row.sum_us / static_cast<double>(summary.ranks.size());
    fmt::print(out, "{:<14} {:>15.2f} {:>8.2f} {:>7}\n", or_dash(!name.empty(), name),
               mean_us / us_in_ms, row.max_us / us_in_ms, row.rank);
  }
}

void print_class_rows(const TraceSummary& summary, std::ostream& out) {
  fmt::print(out, "\n{:<14} {:<20} {:>12} {:>6} {:>8} {:>6} {:>10} {:>11} {:>10} {:>9}\n",
             "communicator", "operation", "bytes", "ranks", "channels", "count", "time us",
             "transfer us", "wait us", "busbw");
  std::size_t printed = 0;
  for (const CallClass& row : summary.classes) {
    if (++printed > max_class_rows) break;
    const TracedCall& call = row.example;
    const bool is_matched = row.matched > 0;
    fmt::print(
        out, "{:<14} {:<20} {:>12} {:>6} {:>8} {:>6} {:>10.1f} {:>11} {:>10} {:>9}\n",
        or_dash(!call.communicator.empty(), call.communicator), call.operation,
        or_dash(call.bytes > 0, fmt::format("{:.0f}", call.bytes)),
        or_dash(call.ranks > 0, fmt::format("{}", call.ranks)),
        or_dash(call.channels > 0, fmt::format("{}", call.channels)), row.count, row.time_us,
        or_dash(is_matched, fmt::format("{:.1f}", row.transfer_us)),
        or_dash(is_matched, fmt::format("{:.1f}", row.wait_us)),
        or_dash(call.bytes > 0, fmt::format("{:.2f}", algbw_of(row) * busbw_factor(row.example))));
  }
  if (summary.classes.size() > max_class_rows) {
    fmt::print(out, "{} more rows: --format json has them\n",
               summary.classes.size() - max_class_rows);
  }
}

Record rank_summary_record(const RankSummary& rank) {
  Record record{{"rank", rank.rank},
                {"steps", rank.steps},
                {"step_us", rank.steps > 0 ? Record(rank.step_us) : Record()},
                {"span_us", rank.span_us},
                {"compute_us", rank.compute_us},
                {"communication_us", rank.communication_us},
                {"exposed_us", rank.exposed_us},
                {"waited_us", rank.waited_us},
                {"came_last", rank.came_last}};
  record["exposed_by_communicator"] = Record::array();
  for (const ExposedTime& each : rank.by_communicator) {
    record["exposed_by_communicator"].push_back(
        Record{{"communicator", each.communicator}, {"exposed_us", each.exposed_us}});
  }
  return record;
}

Record call_class_record(const CallClass& row) {
  const TracedCall& call = row.example;
  const bool is_matched = row.matched > 0;
  const bool has_bytes = call.bytes > 0;
  return {{"communicator", call.communicator},
          {"operation", call.operation},
          {"type", call.type},
          {"bytes", has_bytes ? Record(call.bytes) : Record()},
          {"ranks", call.ranks > 0 ? Record(call.ranks) : Record()},
          {"channels", call.channels > 0 ? Record(call.channels) : Record()},
          {"count", row.count},
          {"matched", row.matched},
          {"time_us", row.time_us},
          {"transfer_us", is_matched ? Record(row.transfer_us) : Record()},
          {"wait_us", is_matched ? Record(row.wait_us) : Record()},
          {"algbw_GBps", has_bytes ? Record(algbw_of(row)) : Record()},
          {"busbw_GBps", has_bytes ? Record(algbw_of(row) * busbw_factor(call)) : Record()}};
}

Record replay_record(const TraceSummary& summary) {
  Record record{{"ranks", Record::array()}, {"calls", Record::array()}};
  for (const RankSummary& rank : summary.ranks) {
    record["ranks"].push_back(rank_summary_record(rank));
  }
  for (const CallClass& row : summary.classes) record["calls"].push_back(call_class_record(row));
  return record;
}

int run_replay(std::span<const std::string> args, std::ostream& out, std::ostream&) {
  const auto values = parse_options(replay_subcommand, args, out);
  if (!values) return exit_ok;
  const bool has_machine = values->contains("topology");
  if (!has_machine) heed_only(*values, replay_subcommand, {no_machine});
  std::vector<RankTrace> traces;
  for (const std::string& file : (*values)["file"].as<std::vector<std::string>>()) {
    traces.push_back(read_job_trace(file));
  }
  Answer answer;
  if (has_machine) {
    const auto& machine = (*values)["topology"].as<std::string>();
    const std::vector<StepReplay> steps = replay_steps(*values, traces);
    answer.print = [&](std::ostream& to) { print_replay(machine, steps, to); };
    answer.document = [&] { return replay_steps_record(machine, steps); };
    write_answer(format_option(*values), answer, out);
    return exit_ok;
  }
  const TraceSummary summary = summarize(std::move(traces));
  answer.print = [&](std::ostream& to) {
    print_rank_rows(summary, to);
    print_exposed_rows(summary, to);
    if (!summary.classes.empty()) print_class_rows(summary, to);
  };
  answer.document = [&] { return replay_record(summary); };
  write_answer(format_option(*values), answer, out);
  return exit_ok;
}

}  // namespace

const Subcommand replay_subcommand{
    .name = "replay",
    .summary = "say what a job did, by its profiler's traces: calls, waits, exposed time",
    .usages = {"TRACE... [options]", "TRACE... -t MACHINE [--env K=V] [--step N] [--write FILE]"},
    .answers =
        "Says what a job did, by traces of PyTorch's profiler (Kineto), one of each rank, as JSON "
        "or .json.gz: computing, communication, what of it nothing hides, calls by communicator, "
        "operation and size, and who waits for whom.",
    .manual =
        "With traces of several ranks the wait for the last rank is told from the transfer. The "
        "rank is the one in the trace's distributedInfo. With -t, steps become programs: kernels "
        "take as long as traced, and calls what NCCL needs for them on that machine, rank i on its "
        "GPU i. Says how far the replay is from the trace, or what another machine or other "
        "settings would change.",
    .examples = {"replay rank0.json.gz rank1.json.gz",
                 "replay rank*.json -t dgx-h100 --env NCCL_MAX_NCHANNELS=4",
                 "replay rank*.json --format json"},
    .argument = "file",
    .needs = "trace",
    .first = "topology nodes env step write kernel-time simulate format",
    .modes = {{no_machine, "file"},
              {"a replay", "file topology nodes env step write kernel-time simulate"}},
    .formats = {Format::table, Format::json},
    .values = {{"file", texts("FILE")}, {"step", number()}},
    .run = run_replay,
};

}  // namespace collsim::command
