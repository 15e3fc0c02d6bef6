#include "tools/collsim/traces/trace_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>

#include "sim/base/input_error.h"
#include "sim/base/median.h"

namespace collsim {

namespace {

using ClassKey = std::tuple<std::string, std::string, double, std::string>;
using OrderKey = std::pair<std::string, std::string>;

/// A call's place: trace and number of the call in it.
struct CallPlace {
  std::size_t trace = 0;
  std::size_t call = 0;
};

/// A call with its kernel on each rank.
using MatchedCall = std::vector<CallPlace>;

struct ClassTimes {
  std::vector<double> times;
  std::vector<double> transfers;
  double waited_us = 0;
};

ClassKey class_of(const TracedCall& call) {
  return {call.communicator, call.operation, call.bytes, call.type};
}

const TracedCall& call_at(const std::vector<RankTrace>& traces, const CallPlace& place) {
  return traces[place.trace].calls[place.call];
}

std::vector<JobSpan> united(std::vector<JobSpan> spans) {
  std::sort(spans.begin(), spans.end(),
            [](const JobSpan& a, const JobSpan& b) { return a.begin_us < b.begin_us; });
  std::vector<JobSpan> result;
  for (const JobSpan& span : spans) {
    if (result.empty() || result.back().end_us < span.begin_us) {
      result.push_back(span);
    } else {
      result.back().end_us = std::max(result.back().end_us, span.end_us);
    }
  }
  return result;
}

double length_of(const std::vector<JobSpan>& spans) {
  double sum = 0;
  for (const JobSpan& span : spans) sum += span.end_us - span.begin_us;
  return sum;
}

/// Time that both have in common. Both are united.
double common_us(const std::vector<JobSpan>& one, const std::vector<JobSpan>& other) {
  double sum = 0;
  for (std::size_t i = 0, k = 0; i < one.size() && k < other.size();) {
    const double begin = std::max(one[i].begin_us, other[k].begin_us);
    const double end = std::min(one[i].end_us, other[k].end_us);
    sum += std::max(0.0, end - begin);
    if (one[i].end_us < other[k].end_us) {
      ++i;
    } else {
      ++k;
    }
  }
  return sum;
}

/// The median time on the GPU of steps that have work there. The host may be a step ahead.
double median_step_us(const RankTrace& trace) {
  constexpr double never = std::numeric_limits<double>::infinity();
  std::vector<JobSpan> spans(trace.steps.size(), {never, -never});
  for (const TracedWork& work : trace.work) {
    const auto step = step_of(trace, work);
    if (!step || *step >= spans.size()) continue;
    spans[*step].begin_us = std::min(spans[*step].begin_us, work.span.begin_us);
    spans[*step].end_us = std::max(spans[*step].end_us, work.span.end_us);
  }
  std::vector<double> times;
  times.reserve(spans.size());
  for (const JobSpan& span : spans) {
    if (span.begin_us <= span.end_us) times.push_back(span.end_us - span.begin_us);
  }
  return median(std::move(times));
}

RankSummary summary_of(const RankTrace& trace) {
  RankSummary rank;
  rank.rank = trace.rank;
  rank.steps = trace.steps.size();
  rank.step_us = median_step_us(trace);
  std::vector<JobSpan> calls;
  std::map<std::string, std::vector<JobSpan>> by_communicator;
  for (const TracedCall& call : trace.calls) {
    calls.push_back(call.span);
    by_communicator[call.communicator].push_back(call.span);
  }
  const std::vector<JobSpan> compute = united(trace.compute);
  const std::vector<JobSpan> communication = united(calls);
  rank.compute_us = length_of(compute);
  rank.communication_us = length_of(communication);
  rank.exposed_us = rank.communication_us - common_us(communication, compute);
  for (auto& [name, spans] : by_communicator) {
    const std::vector<JobSpan> own = united(std::move(spans));
    rank.by_communicator.push_back({name, length_of(own) - common_us(own, compute)});
  }
  calls.insert(calls.end(), compute.begin(), compute.end());
  const std::vector<JobSpan> all = united(std::move(calls));
  if (!all.empty()) rank.span_us = all.back().end_us - all.front().begin_us;
  return rank;
}

/// Calls of one communicator and operation, by trace in their order there.
using CallLists = std::vector<std::vector<CallPlace>>;

/// Whether the trace's rank calls on that communicator, by what the trace says of its ranks or, if
/// it does not, by its calls.
bool takes_part(const RankTrace& trace, const std::string& communicator, bool calls) {
  const auto found = trace.communicators.find(communicator);
  if (calls || found == trace.communicators.end()) return calls;
  return std::find(found->second.begin(), found->second.end(), trace.rank) != found->second.end();
}

/// The lists of those who take part; nothing where they differ, or are fewer than two, or send to
/// each other in ways that the lists do not tell.
CallLists alike_lists(const std::vector<RankTrace>& traces, const OrderKey& key,
                      const CallLists& lists) {
  CallLists taking_part;
  for (std::size_t t = 0; t < traces.size(); ++t) {
    if (takes_part(traces[t], key.first, !lists[t].empty())) taking_part.push_back(lists[t]);
  }
  if (taking_part.size() < 2 || taking_part[0].empty()) return {};
  const TracedCall& first = call_at(traces, taking_part[0][0]);
  if (taking_part.size() > 2 && !first.messages.empty()) return {};
  const bool alike = std::all_of(taking_part.begin(), taking_part.end(), [&](const auto& list) {
    return std::equal(list.begin(), list.end(), taking_part[0].begin(), taking_part[0].end(),
                      [&](const CallPlace& a, const CallPlace& b) {
                        return call_at(traces, a).bytes == call_at(traces, b).bytes;
                      });
  });
  return alike ? taking_part : CallLists();
}

/// Calls that all who take part have, in as many and alike.
std::vector<MatchedCall> matched_calls(const std::vector<RankTrace>& traces) {
  std::map<OrderKey, CallLists> orders;
  for (std::size_t t = 0; t < traces.size(); ++t) {
    for (std::size_t c = 0; c < traces[t].calls.size(); ++c) {
      const TracedCall& call = traces[t].calls[c];
      auto& lists = orders[{call.communicator, call.operation}];
      lists.resize(traces.size());
      lists[t].push_back({t, c});
    }
  }
  std::vector<MatchedCall> matched;
  for (const auto& [key, all] : orders) {
    const CallLists lists = alike_lists(traces, key, all);
    if (lists.empty()) continue;
    for (std::size_t k = 0; k < lists[0].size(); ++k) {
      MatchedCall& call = matched.emplace_back();
      for (const auto& list : lists) call.push_back(list[k]);
    }
  }
  return matched;
}

/// By how much the clock of a trace is ahead, by calls that it shares with traces whose clocks are
/// known; nothing without any.
std::optional<double> clock_offset(const std::vector<RankTrace>& traces,
                                   const std::vector<MatchedCall>& calls, std::size_t trace,
                                   const std::vector<std::optional<double>>& known) {
  std::vector<double> differences;
  for (const MatchedCall& call : calls) {
    const auto own = std::find_if(call.begin(), call.end(),
                                  [&](const CallPlace& place) { return place.trace == trace; });
    const auto other = std::find_if(call.begin(), call.end(), [&](const CallPlace& place) {
      return known[place.trace].has_value();
    });
    if (own == call.end() || other == call.end()) continue;
    differences.push_back(call_at(traces, *own).span.end_us - call_at(traces, *other).span.end_us +
                          *known[other->trace]);
  }
  if (differences.empty()) return std::nullopt;
  return median(std::move(differences));
}

/// What to take from each trace's times so that matched calls end at one time in the middle; 0 for
/// traces that share no call with others.
std::vector<double> clock_offsets(const std::vector<RankTrace>& traces,
                                  const std::vector<MatchedCall>& calls) {
  std::vector<std::optional<double>> known(traces.size());
  if (!known.empty()) known[0] = 0;
  for (bool found = true; found;) {
    found = false;
    for (std::size_t t = 0; t < traces.size(); ++t) {
      if (known[t]) continue;
      known[t] = clock_offset(traces, calls, t, known);
      found = found || known[t];
    }
  }
  std::vector<double> offsets;
  offsets.reserve(known.size());
  for (const auto& each : known) offsets.push_back(each.value_or(0));
  return offsets;
}

/// Writes down who waited how long in one call.
void add_call_waits(const std::vector<RankTrace>& traces, const MatchedCall& call,
                    TraceAlignment& alignment) {
  double latest = std::numeric_limits<double>::lowest();
  std::size_t last = 0;
  for (const CallPlace& place : call) {
    const double begin = call_at(traces, place).span.begin_us - alignment.offsets[place.trace];
    if (begin <= latest) continue;
    latest = begin;
    last = place.trace;
  }
  ++alignment.came_last[last];
  for (const CallPlace& place : call) {
    const TracedCall& own = call_at(traces, place);
    alignment.matched[place.trace][place.call] = true;
    alignment.waits[place.trace][place.call] =
        latest - (own.span.begin_us - alignment.offsets[place.trace]);
  }
}

void add_waits(const std::vector<RankTrace>& traces, TraceSummary& summary,
               std::map<ClassKey, ClassTimes>& classes) {
  if (traces.size() < 2) return;
  const TraceAlignment alignment = align(traces);
  for (std::size_t t = 0; t < traces.size(); ++t) {
    summary.ranks[t].came_last = alignment.came_last[t];
    for (std::size_t c = 0; c < traces[t].calls.size(); ++c) {
      if (!alignment.matched[t][c]) continue;
      const TracedCall& own = traces[t].calls[c];
      const double wait = alignment.waits[t][c];
      ClassTimes& times = classes[class_of(own)];
      times.transfers.push_back(std::max(0.0, own.span.end_us - own.span.begin_us - wait));
      times.waited_us += wait;
      summary.ranks[t].waited_us += wait;
    }
  }
}

void require_different_ranks(const std::vector<RankTrace>& traces) {
  for (std::size_t i = 1; i < traces.size(); ++i) {
    if (traces[i].rank != traces[i - 1].rank) continue;
    throw InputError(SourcePosition{traces[i].file, 0, 0},
                     fmt::format("rank {}, as {}", traces[i].rank, traces[i - 1].file),
                     "one trace of each rank (distributedInfo)");
  }
}

}  // namespace

void sort_by_rank(std::vector<RankTrace>& traces) {
  std::stable_sort(traces.begin(), traces.end(),
                   [](const RankTrace& a, const RankTrace& b) { return a.rank < b.rank; });
  require_different_ranks(traces);
}

std::optional<std::size_t> step_of(const RankTrace& trace, const TracedWork& work) {
  if (trace.steps.empty()) return 0;
  const double launched = work.launch_us > 0 ? work.launch_us : work.span.begin_us;
  const auto next =
      std::upper_bound(trace.steps.begin(), trace.steps.end(), launched,
                       [](double time, const JobSpan& step) { return time < step.begin_us; });
  if (next == trace.steps.begin()) return std::nullopt;
  return static_cast<std::size_t>(next - trace.steps.begin()) - 1;
}

TraceAlignment align(const std::vector<RankTrace>& traces) {
  TraceAlignment alignment;
  for (const RankTrace& trace : traces) {
    alignment.waits.emplace_back(trace.calls.size(), 0.0);
    alignment.matched.emplace_back(trace.calls.size(), false);
  }
  alignment.came_last.assign(traces.size(), 0);
  alignment.offsets.assign(traces.size(), 0);
  if (traces.size() < 2) return alignment;
  const std::vector<MatchedCall> calls = matched_calls(traces);
  alignment.offsets = clock_offsets(traces, calls);
  for (const MatchedCall& call : calls) add_call_waits(traces, call, alignment);
  return alignment;
}

std::vector<JobSpan> moving_spans(const RankTrace& trace, const std::vector<double>& waits) {
  std::vector<JobSpan> spans;
  for (std::size_t i = 0; i < trace.calls.size(); ++i) {
    const JobSpan& span = trace.calls[i].span;
    spans.push_back({std::min(span.end_us, span.begin_us + waits[i]), span.end_us});
  }
  return spans;
}

double time_outside(std::vector<JobSpan> spans, std::vector<JobSpan> others) {
  const std::vector<JobSpan> counted = united(std::move(spans));
  return length_of(counted) - common_us(counted, united(std::move(others)));
}

TraceSummary summarize(std::vector<RankTrace> traces) {
  sort_by_rank(traces);
  TraceSummary summary;
  std::map<ClassKey, ClassTimes> times;
  std::map<ClassKey, const TracedCall*> examples;
  for (const RankTrace& trace : traces) {
    summary.ranks.push_back(summary_of(trace));
    for (const TracedCall& call : trace.calls) {
      times[class_of(call)].times.push_back(call.span.end_us - call.span.begin_us);
      examples.emplace(class_of(call), &call);
    }
  }
  add_waits(traces, summary, times);
  for (const auto& [key, each] : times) {
    CallClass row;
    row.example = *examples[key];
    row.count = each.times.size();
    row.time_us = median(each.times);
    row.matched = each.transfers.size();
    row.transfer_us = median(each.transfers);
    if (row.matched > 0) row.wait_us = each.waited_us / static_cast<double>(row.matched);
    summary.classes.push_back(std::move(row));
  }
  const auto sum = [](const CallClass& row) {
    return row.time_us * static_cast<double>(row.count);
  };
  std::stable_sort(summary.classes.begin(), summary.classes.end(),
                   [&](const CallClass& a, const CallClass& b) { return sum(a) > sum(b); });
  return summary;
}

double busbw_factor(const TracedCall& call) {
  if (call.ranks < 2) return 1;
  std::string word;
  for (const char letter : call.operation) {
    const bool is_upper = letter >= 'A' && letter <= 'Z';
    if (letter != '_') word += is_upper ? static_cast<char>(letter - 'A' + 'a') : letter;
  }
  const auto ranks = static_cast<double>(call.ranks);
  const double share = (ranks - 1) / ranks;
  if (word.starts_with("allreduce")) return 2 * share;
  const auto is_of = [&](std::string_view name) { return word.find(name) != std::string::npos; };
  return is_of("allgather") || is_of("reducescatter") || is_of("alltoall") ? share : 1;
}

}  // namespace collsim
