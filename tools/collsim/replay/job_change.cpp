#include "tools/collsim/replay/job_change.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>

#include "sim/base/input_error.h"
#include "tools/collsim/traces/trace_summary.h"
#include "tools/collsim/train/step_explanation.h"

namespace collsim::command {

namespace {

constexpr double milliseconds = 1e3;
constexpr std::size_t max_rows = 24;

std::vector<RankTrace> take_second(std::vector<RankTrace>& traces) {
  std::set<std::int64_t> ranks;
  const auto again = std::find_if(traces.begin(), traces.end(), [&](const RankTrace& trace) {
    return !ranks.insert(trace.rank).second;
  });
  if (again == traces.end()) {
    throw InputError("--compare: no rank has two traces",
                     "all traces of the one run, then all of the other");
  }
  std::vector<RankTrace> second(std::make_move_iterator(again),
                                std::make_move_iterator(traces.end()));
  traces.erase(again, traces.end());
  return second;
}

/// Calls that are alike in both runs, those first that take longest in the first run.
Table call_table(const TraceSummary& before, const TraceSummary& after) {
  Table table;
  table.max_rows = max_rows;
  for (const CallClass& row : before.classes) {
    const TracedCall& call = row.example;
    const auto other =
        std::find_if(after.classes.begin(), after.classes.end(), [&](const CallClass& each) {
          return each.example.communicator == call.communicator && each.example.type == call.type &&
                 each.example.operation == call.operation && each.example.bytes == call.bytes;
        });
    if (other == after.classes.end()) continue;
    const bool matched = row.matched > 0 && other->matched > 0;
    NewRow add(table);
    add({"communicator", "communicator"}, call.communicator);
    add({"operation", "operation"}, call.operation);
    add({"bytes", "bytes", "", 0}, call.bytes);
    add({"count", "count"}, row.count);
    add({"count_after", "after"}, other->count);
    add({"transfer_us", "transfer", "(us)", 1}, matched ? row.transfer_us : row.time_us);
    add({"transfer_after_us", "after", "(us)", 1}, matched ? other->transfer_us : other->time_us);
    add({"wait_us", "wait", "(us)", 1}, matched ? Record(row.wait_us) : Record());
    add({"wait_after_us", "after", "(us)", 1}, matched ? Record(other->wait_us) : Record());
  }
  return table;
}

/// How the step changed, and the part that changed most in that direction.
std::string verdict_words(const StepParts& before, const StepParts& after, const char* verdict) {
  const Seconds all = time_of(after) - time_of(before);
  std::string most;
  Seconds largest;
  StepParts changes = after;
  for (const auto& [name, time] : before) changes[name] += -1 * time;
  for (const auto& [name, time] : changes) {
    if (time.value * all.value <= largest.value * all.value) continue;
    most = name;
    largest = time;
  }
  return fmt::format("{}: a step takes {:.2f} times as long, {:+.2f} ms; {} {:+.2f} ms", verdict,
                     time_of(after).value / time_of(before).value, milliseconds * all.value, most,
                     milliseconds * largest.value);
}

}  // namespace

JobChange compare_jobs(std::vector<RankTrace> traces, double threshold) {
  std::vector<RankTrace> later = take_second(traces);
  sort_by_rank(traces);
  sort_by_rank(later);
  const auto marks = [](const RankTrace& trace) { return !trace.steps.empty(); };
  const bool comparable = traces.front().calls.size() == later.front().calls.size();
  if (!comparable && !(marks(traces.front()) && marks(later.front()))) {
    throw InputError(SourcePosition{later.front().file},
                     "other calls than the first run's, and no steps are marked",
                     "traces of as many steps, or with ProfilerStep#");
  }
  const auto name_of = [](const RankTrace&, const TracedCall& call) {
    return "exposed " + call.communicator;
  };
  const StepParts before = parts_of_traces(traces, name_of);
  const StepParts after = parts_of_traces(later, name_of);
  const double ratio = time_of(after).value / time_of(before).value;
  const bool is_slower = ratio > 1 + threshold;
  const char* const verdict = is_slower                     ? "slower"
                              : ratio * (1 + threshold) < 1 ? "faster"
                                                            : "same";
  Answer answer;
  answer.head({labelled("verdict", verdict_words(before, after, verdict))});
  std::vector<Table> tables{part_table(before, after, "before", "after"),
                            call_table(summarize(std::move(traces)), summarize(std::move(later)))};
  answer.document = {
      {"verdict", verdict}, {"ratio", ratio}, {"parts", tables[0].rows}, {"calls", tables[1].rows}};
  for (Table& table : tables) {
    answer.sections.push_back({.tables = {std::move(table)}, .apart = true});
  }
  return {std::move(answer), is_slower};
}

}  // namespace collsim::command
