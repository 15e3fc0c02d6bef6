#include "tools/collsim/steps/lesson_words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <set>
#include <string_view>
#include <utility>

namespace collsim::command {

namespace {

constexpr std::size_t widest_cell = 8;

/// "a0+a1+a2"; with `runs`, three or more in a row as "a0..a2"; "+" and "a" as given.
std::string list_contributions(Contributions set, Rank ranks, std::string_view separator,
                               std::string_view prefix, bool runs) {
  std::string text;
  for (Rank first = 0; first < ranks; ++first) {
    if (!set.contains(first)) continue;
    Rank last = first;
    while (runs && last + 1 < ranks && set.contains(last + 1)) ++last;
    if (last < first + 2) last = first;
    text += fmt::format("{}{}{}", text.empty() ? "" : separator, prefix, first);
    if (last > first) text += fmt::format("..{}{}", prefix, last);
    first = last;
  }
  return text;
}

Contributions without(Contributions set, Rank ranks) {
  constexpr Rank bits = 64;
  const std::uint64_t all = ranks == bits ? ~std::uint64_t{0} : (std::uint64_t{1} << ranks) - 1;
  return {all & ~set.bits};
}

/// Whether any shown table has a sum without some contributions.
bool has_differences(const Lesson& lesson) {
  const Rank ranks = lesson.plan.ranks();
  for (std::size_t s = 0; s < lesson.steps.size(); ++s) {
    if (!lesson.shows(s + 1)) continue;
    for (const Contributions& each : lesson.steps[s].buffers) {
      if (contribution_words(each, ranks).starts_with("sum-")) return true;
    }
  }
  return false;
}

std::string plural(std::size_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

/// What the symbols in a formula stand for: "S: the whole buffer; N: ranks.".
std::string symbol_words(const Lesson& lesson) {
  const bool part = lesson.call && lesson.call->trace->call.partition.channels() > 1;
  std::vector<std::string> symbols;
  if (sizes_held(lesson.plan.collective, lesson.plan.ranks()) != 0) {
    symbols.push_back(part ? fmt::format("S: channel {}'s part of the buffer", lesson.channel())
                           : std::string("S: the whole buffer"));
  }
  const std::string text =
      lesson.formula ? lesson.formula->bytes + lesson.formula->steps_symbol : std::string();
  const auto has = [&](std::string_view symbol) { return text.find(symbol) != std::string::npos; };
  if (has("N")) symbols.emplace_back("N: ranks");
  if (has("M")) symbols.emplace_back("M: nodes");
  if (has("p-1") || has("/p")) symbols.emplace_back("p: ranks per node");
  return symbols.empty() ? "" : fmt::format("{}.", fmt::join(symbols, "; "));
}

}  // namespace

std::string short_name(const Schedule& schedule, Rank participant) {
  if (!schedule.is_agent(participant)) return std::to_string(participant);
  return schedule.agents().size() == 1 ? "sw" : fmt::format("s{}", participant - schedule.ranks());
}

std::string row_name(const Schedule& schedule, Rank participant) {
  if (!schedule.is_agent(participant)) return fmt::format("rank {}", participant);
  return schedule.agents().size() == 1 ? "switch" : short_name(schedule, participant);
}

std::string rank_set_words(Contributions set, Rank ranks) {
  return list_contributions(set, ranks, ",", "", true);
}

std::string contribution_words(Contributions set, Rank ranks) {
  const int count = std::popcount(set.bits);
  if (count == 0) return "-";
  if (count == static_cast<int>(ranks)) return ranks == 1 ? "a0" : "sum";
  const Contributions rest = without(set, ranks);
  for (const std::string& text : {list_contributions(set, ranks, "+", "a", false),
                                  list_contributions(set, ranks, "+", "a", true),
                                  fmt::format("a{}", rank_set_words(set, ranks)),
                                  fmt::format("sum-{}", rank_set_words(rest, ranks))}) {
    if (text.size() <= widest_cell) return text;
  }
  return fmt::format("{} of {}", count, ranks);
}

std::string holding_words(const Lesson& lesson, const std::vector<Contributions>& buffers,
                          const std::vector<std::int32_t>& values, std::size_t index) {
  if (!lesson.choice.values) return contribution_words(buffers[index], lesson.plan.ranks());
  return values[index] == 0 ? "-" : std::to_string(values[index]);
}

std::string action_words(const Lesson& lesson, const StepTransfer& transfer) {
  if (!lesson.choice.values) return transfer.reduce ? "reduce" : "copy";
  std::string text = transfer.reduce ? "" : "copy ";
  std::string last;
  for (std::size_t i = 0; i < transfer.came.size(); ++i) {
    const std::string sum = transfer.reduce
                                ? fmt::format("{} + {} = {}", transfer.had[i], transfer.came[i],
                                              transfer.had[i] + transfer.came[i])
                                : std::to_string(transfer.came[i]);
    // Chunks that are alike are said once; more than three kinds are in the table.
    constexpr std::size_t widest = 44;
    if (sum == last) continue;
    if (text.size() + sum.size() > widest) return text + ", ...";
    text += (last.empty() ? "" : ", ") + sum;
    last = sum;
  }
  return text;
}

std::string range_words(ChunkRange chunks) {
  return chunks.count == 1 ? std::to_string(chunks.first)
                           : fmt::format("{}..{}", chunks.first, chunks.first + chunks.count - 1);
}

std::string title_of(const Lesson& lesson) {
  const Plan& plan = lesson.plan;
  return fmt::format("{} {}: {}, {}", lesson.algorithm(), to_string(plan.collective),
                     plural(plan.ranks(), "rank"), plural(lesson.schedule().chunks(), "chunk"));
}

std::vector<std::string> legend_of(const Lesson& lesson) {
  std::vector<std::string> legend;
  if (lesson.choice.values) {
    legend.emplace_back(
        "Rank r begins with r+1 in each of its chunks; * marks what the step changed.");
  } else {
    legend.emplace_back(
        "a2 is rank 2's contribution, sum that of all; * marks what the step changed.");
    if (has_differences(lesson)) {
      legend.emplace_back("a0,5..7 is a0+a5+a6+a7; sum-2,3 is the sum without a2 and a3.");
    }
  }
  if (lesson.call && lesson.call->trace->call.partition.is_nccl() && sums(lesson.plan.collective)) {
    legend.emplace_back("NCCL does not store a partial sum that it sends on.");
  }
  if (!lesson.schedule().agents().empty()) {
    legend.emplace_back("A switch shows the data that it has last reduced or copied.");
  }
  return legend;
}

std::vector<std::string> traffic_words(const Lesson& lesson) {
  const PlanTraffic& traffic = lesson.traffic;
  std::vector<std::string> lines;
  if (lesson.call) {
    lines.push_back(fmt::format("Channel {}: {}, {} in each of its loops.", lesson.channel(),
                                plural(traffic.steps, "step"),
                                plural(traffic.messages, "message")));
  } else {
    lines.push_back(
        fmt::format("{}, {}.", plural(traffic.steps, "step"), plural(traffic.messages, "message")));
  }
  if (lesson.formula) lines.push_back(sentence_of(*lesson.formula, traffic) + ".");
  const bool empty = sizes_held(lesson.plan.collective, lesson.plan.ranks()) == 0;
  const bool alike =
      std::all_of(traffic.sent.begin(), traffic.sent.end(),
                  [&](const BufferShare& each) { return each == traffic.sent.front(); });
  if (empty && !lesson.formula) lines.emplace_back("Messages are empty.");
  if (!empty && (!lesson.formula || !alike)) lines.push_back(counted_words(traffic) + ".");
  if (std::string symbols = symbol_words(lesson); !symbols.empty()) {
    lines.push_back(std::move(symbols));
  }
  return lines;
}

std::vector<std::string> time_words(const Lesson& lesson) {
  if (!lesson.costs) return {};
  const auto& [machine, size] = *lesson.costs;
  const StepByStepTime time = step_by_step(lesson);
  const Seconds alphas = static_cast<double>(time.alphas) * machine.alpha;
  const Seconds transfers = time.buffers * (size / machine.bandwidth);
  std::vector<std::string> lines{
      fmt::format("T = {} alpha + {:g} S/B = {} + {} = {}, step after step", time.alphas,
                  time.buffers, to_string(alphas), to_string(transfers),
                  to_string(alphas + transfers)),
      fmt::format("T = {}, if every rank goes on as soon as it can", to_string(lesson.time))};
  const double pipelined = busiest_port(lesson);
  constexpr double rounding = 1e-9;
  if (!lesson.schedule().agents().empty() && pipelined < time.buffers * (1 - rounding)) {
    lines.push_back(fmt::format(
        "T goes towards {} alpha + {:g} S/B = {} if many pieces follow each other: what the "
        "busiest "
        "port carries",
        time.alphas, pipelined, to_string(alphas + pipelined * (size / machine.bandwidth))));
  }
  return lines;
}

std::string step_time_words(const Lesson& lesson, const Step& step) {
  if (!lesson.costs) return "";
  const auto& [machine, size] = *lesson.costs;
  return fmt::format(": {} + {}", to_string(machine.alpha),
                     to_string(busiest_port(lesson, step) * (size / machine.bandwidth)));
}

std::string check_words(const Lesson& lesson) {
  if (!lesson.choice.values) return "";
  const Rank ranks = lesson.plan.ranks();
  const std::string sum = sums(lesson.plan.collective) ? fmt::format(": the sum of 1 to {} is {}",
                                                                     ranks, ranks * (ranks + 1) / 2)
                                                       : "";
  return fmt::format("Checked: ranks hold what {} promises{}.", to_string(lesson.plan.collective),
                     sum);
}

std::vector<std::string> call_words(const Lesson& lesson) {
  const LessonCall& call = *lesson.call;
  const CallTrace& trace = *call.trace;
  std::vector<std::string> lines;
  std::string time = fmt::format("The call, {} by {} {}, takes {:.2f} us",
                                 to_string(trace.call.size), trace.call.algorithm,
                                 to_string(trace.call.protocol), in_microseconds(trace.time));
  if (trace.launch.value > 0) {
    time += fmt::format(", of which the launch {:.2f} us", in_microseconds(trace.launch));
  }
  lines.push_back(time + ".");
  const std::size_t shown = call.messages.size();
  const std::uint32_t channels = trace.call.partition.channels();
  std::string which = shown < call.chosen ? "The first " : "";
  which += shown == call.all ? fmt::format("All {} messages", shown)
                             : fmt::format("{} of {} messages", shown, call.all);
  if (channels > 1) {
    which += fmt::format(" of channel {} are shown; all {} channels have {}.", lesson.channel(),
                         channels, trace.messages.size());
  } else {
    which += " are shown.";
  }
  if (shown < call.all) which += " --messages, --step and --time choose others.";
  lines.push_back(std::move(which));
  return lines;
}

std::string wait_words(const StepMessage& message) {
  if (message.waited_for.empty()) return "-";
  std::string name = message.waited_for;
  for (const auto& [text, shorter] :
       {std::pair{"a slot of rank ", "slot of "}, std::pair{"a slot of ", "slot of "},
        std::pair{"its thread block", "itself"}}) {
    const std::size_t at = name.find(text);
    if (at != std::string::npos) name.replace(at, std::string_view(text).size(), shorter);
  }
  const double waited = in_microseconds(message.waited);
  constexpr double long_wait = 1000;
  return waited < long_wait ? fmt::format("{:.2f} {}", waited, name)
                            : fmt::format("{:.0f} {}", waited, name);
}

std::string route_words(const MessageRoute& route) {
  std::string text;
  for (const std::string& device : route.devices) text += (text.empty() ? "" : " > ") + device;
  for (const std::string& shared : route.shared) text += "; " + shared;
  return text.empty() ? "inside a GPU" : text;
}

std::vector<LessonRoute> routes_of(const Lesson& lesson) {
  std::set<ConnectionId> seen;
  std::set<LessonRoute> routes;
  for (const StepMessage& each : lesson.call->messages) {
    if (!seen.insert(each.connection).second) continue;
    const MessageRoute route = route_of(*lesson.call->trace, lesson.channel(), each.connection);
    routes.insert({each.from, each.to, route_words(route)});
  }
  return {routes.begin(), routes.end()};
}

std::vector<MessageGroup> groups_of(const LessonCall& call) {
  std::vector<MessageGroup> groups;
  for (const StepMessage& each : call.messages) {
    if (groups.empty() || groups.back().loop != each.loop || groups.back().step != each.step) {
      groups.push_back({each.loop, each.step, {}});
    }
    groups.back().messages.push_back(&each);
  }
  return groups;
}

std::string group_title(const Lesson& lesson, const MessageGroup& group) {
  const LessonCall& call = *lesson.call;
  const std::uint32_t loops = call.trace->call.partition.loops(lesson.channel());
  const std::string loop =
      loops > 1 ? fmt::format("loop {} of {}, ", group.loop + 1, loops) : std::string();
  Seconds begin = group.messages.front()->begin;
  Seconds end;
  for (const StepMessage* each : group.messages) {
    begin = std::min(begin, each->begin);
    end = std::max(end, each->taken);
  }
  return fmt::format("{}step {} of {}: {}, {:.2f} to {:.2f} us", loop, group.step,
                     lesson.steps.size(), lesson.steps[group.step - 1].phase,
                     in_microseconds(begin), in_microseconds(end));
}

std::vector<std::string> chart_words(const Lesson& lesson) {
  const LessonChart& chart = *lesson.chart;
  const std::string of = lesson.call ? fmt::format(" of channel {}", lesson.channel()) : "";
  const double column =
      in_microseconds(chart.span.end - chart.span.begin) / static_cast<double>(chart_columns);
  std::string letters;
  for (const auto& [state, word] :
       {std::pair{RankState::waits, "waits"}, std::pair{RankState::sends, "sends"},
        std::pair{RankState::reduces, "reduces"}, std::pair{RankState::copies, "copies"},
        std::pair{RankState::idle, "idle"}}) {
    letters += fmt::format("{}{} {}", letters.empty() ? "" : ", ", letter_of(state), word);
  }
  return {fmt::format("timeline{}, {:.3g} us a column", of, column), letters};
}

std::string chart_axis(const LessonChart& chart) {
  const Seconds middle = chart.span.begin + 0.5 * (chart.span.end - chart.span.begin);
  const auto time = [](Seconds at) { return fmt::format("{:.2f}", in_microseconds(at)); };
  const std::string end = time(chart.span.end) + " us";
  std::string line = fmt::format("{:<{}}", time(chart.span.begin), chart_columns / 2);
  line += fmt::format("{:<{}}", time(middle), chart_columns / 2 - end.size());
  return line + end;
}

}  // namespace collsim::command
