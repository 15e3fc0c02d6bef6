#include "tools/collsim/steps/lesson.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <stdexcept>

#include "models/call/prediction.h"
#include "sim/algorithms/written_schedule.h"
#include "sim/base/input_error.h"
#include "sim/execution/effort.h"
#include "tools/collsim/core/run_watch.h"

namespace collsim::command {

namespace {

/// What a person could still leaf through; a trace may have as many.
constexpr double max_slices = 400'000;

void require_steps(const Lesson& lesson) {
  for (const std::uint32_t step : lesson.choice.steps) {
    if (step <= lesson.steps.size()) continue;
    throw InputError(fmt::format("--step: there is no step {}", step),
                     lesson.steps.empty() ? "no --step: there is nothing to do"
                                          : fmt::format("1 to {}", lesson.steps.size()));
  }
}

void check_values(const Lesson& lesson) {
  if (!lesson.choice.values) return;
  if (sizes_held(lesson.plan.collective, lesson.plan.ranks()) == 0) {
    throw InputError("--values with a barrier, which has no data", "another collective");
  }
  const bool is_written = names_schedule_file(lesson.plan.algorithm);  // then its fault is told
  if (lesson.steps.empty() || is_written) return;
  const auto wrong = wrong_value(lesson.plan, lesson.channel(), lesson.steps.back().values);
  if (wrong) throw std::logic_error(fmt::format("{}: {}", lesson.plan.algorithm, *wrong));
}

Lesson replayed(Plan plan, const Placement& placement, const LessonChoice& choice) {
  Lesson lesson;
  lesson.choice = choice;
  const std::uint32_t channel = lesson.channel();
  lesson.steps = replay_steps(plan, channel);
  lesson.buffers = initial_buffers(plan, channel);
  lesson.values = initial_values(plan, channel);
  lesson.traffic = counted_traffic(plan, lesson.steps, channel);
  lesson.formula = traffic_formula(plan, placement, lesson.traffic);
  lesson.plan = std::move(plan);
  require_steps(lesson);
  check_values(lesson);
  return lesson;
}

/// The part of the call that is asked for.
ChartSpan span_of(const LessonChoice& choice, Seconds time, Seconds launch) {
  if (!choice.time) return {{}, time, launch};
  const auto [begin, end] = *choice.time;
  if (begin >= time) {
    throw InputError(fmt::format("--time: the call ends after {}", to_string(time)),
                     "a time before that");
  }
  return {begin, std::min(end, time), launch};
}

bool is_chosen(const Lesson& lesson, const StepMessage& message) {
  const auto& time = lesson.choice.time;
  return lesson.shows(message.step) &&
         (!time || (time->first <= message.begin && message.begin < time->second));
}

void choose_messages(Lesson& lesson) {
  LessonCall& call = *lesson.call;
  call.all = call.messages.size();
  std::erase_if(call.messages, [&](const StepMessage& each) { return !is_chosen(lesson, each); });
  call.chosen = call.messages.size();
  call.messages.resize(std::min(call.chosen, lesson.choice.max_messages.value_or(call.chosen)));
}

/// Of chosen steps: from the first message that is shown to the last.
ChartSpan span_of_messages(const Lesson& lesson) {
  const CallTrace& trace = *lesson.call->trace;
  const auto& messages = lesson.call->messages;
  if (lesson.choice.steps.empty() || lesson.choice.time || messages.empty()) {
    return span_of(lesson.choice, trace.time, trace.launch);
  }
  ChartSpan span{messages.front().begin, {}, trace.launch};
  for (const StepMessage& each : messages) {
    span.begin = std::min(span.begin, each.begin);
    span.end = std::max(span.end, each.taken);
  }
  return span;
}

std::shared_ptr<const CallTrace> traced(const CallCompiler& compiler, Bytes size,
                                        std::ostream& err) {
  const CompiledCall call = compiler.plan(size);
  RunWatch watch(err, std::nullopt);
  watch.begin(to_string(size), effort_of(execution_of(call)).whole);
  return std::make_shared<const CallTrace>(trace_call(call, max_slices, watch.watch()));
}

/// The channel that is asked for, or the first that sends anything.
std::uint32_t channel_of(const LessonChoice& choice, const CallTrace& trace) {
  const std::uint32_t channels = trace.call.plan().channels();
  if (!choice.channel) return trace.messages.empty() ? 0 : trace.messages.front().channel;
  if (*choice.channel < channels) return *choice.channel;
  throw InputError(fmt::format("--channel: {} of {} channels", *choice.channel, channels),
                   channels == 1 ? std::string("0") : fmt::format("0 to {}", channels - 1));
}

}  // namespace

bool Lesson::shows(std::size_t step) const {
  return choice.steps.empty() ||
         std::find(choice.steps.begin(), choice.steps.end(), step) != choice.steps.end();
}

Lesson lesson_of(Plan plan, const Placement& placement, const LessonChoice& choice,
                 const std::optional<LessonCosts>& costs) {
  Lesson lesson = replayed(std::move(plan), placement, choice);
  lesson.costs = costs;
  if (!costs || lesson.steps.empty()) return lesson;
  const TimedCall timed = textbook_timeline(lesson.plan, costs->machine, costs->size);
  lesson.time = timed.time;
  lesson.chart = LessonChart{span_of(choice, timed.time, {}), {}};
  lesson.chart->rows =
      state_chart(timed.timeline, lesson.schedule(), 0, lesson.chart->span, chart_columns);
  return lesson;
}

Lesson lesson_of(const CallRequest& request, const RunSpec& run, Bytes size, LessonChoice choice,
                 std::ostream& err) {
  const auto compiler = std::make_shared<const CallCompiler>(spec_of(request, run));
  warn(*compiler, err);
  if (compiler->ranks() > max_replayed_ranks) {
    throw InputError(
        fmt::format("{} ranks are too many to show step by step", compiler->ranks()),
        fmt::format("at most {}, such as -n 8 or --ranks-per-node 1", max_replayed_ranks));
  }
  if (compiler->ranks() < 2) throw InputError("steps: one rank sends nothing", "-n of 2 or more");
  const auto trace = traced(*compiler, size, err);
  choice.channel = channel_of(choice, *trace);
  Lesson lesson = replayed(trace->call.plan(), compiler->placement(), choice);
  lesson.time = trace->time;
  lesson.call = LessonCall{&request, &run, compiler, trace,
                           step_messages(*trace, lesson.channel(), lesson.steps)};
  choose_messages(lesson);
  lesson.chart = LessonChart{span_of_messages(lesson), {}};
  lesson.chart->rows = state_chart(trace->timeline, lesson.schedule(), lesson.channel(),
                                   lesson.chart->span, chart_columns);
  return lesson;
}

namespace {

/// Chunks that each rank has sent and received.
class PortCount {
 public:
  explicit PortCount(const Schedule& schedule)
      : sent_(schedule.participants()),
        received_(schedule.participants()),
        ranks_(schedule.ranks()) {}

  void add(const Step& step) {
    for (const StepTransfer& each : step.transfers) {
      sent_[each.from] += each.chunks.count;
      received_[each.to] += each.chunks.count;
    }
  }
  /// Of any rank in either direction. Switches, which come after the ranks, do not count.
  std::uint64_t max() const {
    std::uint64_t most = 0;
    for (Rank rank = 0; rank < ranks_; ++rank)
      most = std::max({most, sent_[rank], received_[rank]});
    return most;
  }

 private:
  std::vector<std::uint64_t> sent_;
  std::vector<std::uint64_t> received_;
  Rank ranks_;
};

/// All chunks together may be several times S.
double buffers_of(const Lesson& lesson, std::uint64_t chunks) {
  const double sizes = sizes_held(lesson.plan.collective, lesson.plan.ranks());
  return sizes * static_cast<double>(chunks) / lesson.schedule().chunks();
}

}  // namespace

double busiest_port(const Lesson& lesson, const Step& step) {
  PortCount count(lesson.schedule());
  count.add(step);
  return buffers_of(lesson, count.max());
}

double busiest_port(const Lesson& lesson) {
  PortCount count(lesson.schedule());
  for (const Step& step : lesson.steps) count.add(step);
  return buffers_of(lesson, count.max());
}

StepByStepTime step_by_step(const Lesson& lesson) {
  StepByStepTime time{lesson.steps.size(), 0};
  for (const Step& step : lesson.steps) time.buffers += busiest_port(lesson, step);
  return time;
}

}  // namespace collsim::command
