#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/bounds/traffic_formula.h"
#include "sim/plan/plan.h"
#include "sim/plan/steps.h"
#include "tools/collsim/request/call_request.h"
#include "tools/collsim/trace/call_trace.h"
#include "tools/collsim/trace/state_chart.h"
#include "tools/collsim/trace/step_messages.h"
#include "tools/collsim/trace/textbook_timeline.h"

namespace collsim::command {

/// What of a call is to be shown.
struct LessonChoice {
  std::vector<std::uint32_t> steps;                 ///< numbers from 1; empty: all
  std::optional<std::uint32_t> channel;             ///< none: the first that sends anything
  std::optional<std::size_t> max_messages;          ///< of a simulated call; none: all
  std::optional<std::pair<Seconds, Seconds>> time;  ///< messages that begin in it, and the timeline
  bool values = false;                              ///< numbers in place of contributions
};

/// The textbook's machine, and the size of a buffer.
struct LessonCosts {
  TwoNumberMachine machine;
  Bytes size;
};

/// A simulated call, and the messages of it that are shown.
struct LessonCall {
  const CallRequest* request = nullptr;
  const RunSpec* run = nullptr;
  std::shared_ptr<const CallCompiler> compiler;  ///< the trace refers to it
  std::shared_ptr<const CallTrace> trace;
  std::vector<StepMessage> messages;
  std::size_t chosen = 0;  ///< messages of the chosen steps and time, shown or not
  std::size_t all = 0;     ///< messages of the channel
};

/// What ranks do in the course of a call.
struct LessonChart {
  ChartSpan span;
  std::vector<StateRow> rows;
};

/// What `collsim steps` shows of one algorithm.
struct Lesson {
  LessonChoice choice;
  Plan plan;
  std::vector<Contributions> buffers;  ///< before the call, as Step::buffers
  std::vector<std::int32_t> values;    ///< before the call, as Step::values
  std::vector<Step> steps;
  PlanTraffic traffic;
  std::optional<TrafficFormula> formula;
  std::optional<LessonCosts> costs{};
  Seconds time;  ///< of the call with these costs, where every rank goes on as soon as it can
  std::optional<LessonCall> call{};
  std::optional<LessonChart> chart{};

  std::uint32_t channel() const { return choice.channel.value_or(0); }
  const Schedule& schedule() const { return plan.schedule(channel()); }
  /// The algorithm as reports name it: "ring", also where NCCL has a plan of its own for it.
  const std::string& algorithm() const {
    return call ? call->trace->call.algorithm : plan.algorithm;
  }
  /// Whether the step of that number, from 1, is shown.
  bool shows(std::size_t step) const;
};

/// Letters of a line of the timeline.
inline constexpr std::size_t chart_columns = 72;

/// Replays the plan, and times it if costs are given. Throws InputError where there are too many
/// ranks, no such step, or numbers for a barrier; std::logic_error if the numbers come out wrong.
Lesson lesson_of(Plan plan, const Placement& placement, const LessonChoice& choice,
                 const std::optional<LessonCosts>& costs);
/// Simulates the call of one run, too. Refers to the question and the run. Throws InputError also
/// for a call that is too long, and a channel that it does not have.
Lesson lesson_of(const CallRequest& request, const RunSpec& run, Bytes size, LessonChoice choice,
                 std::ostream& err);

/// The time of all steps, each of which begins when the one before has ended on every rank: a
/// number of alphas, and of transfers of whole buffers.
struct StepByStepTime {
  std::size_t alphas = 0;
  double buffers = 0;
};
/// The most that one rank sends or receives in a step, as a share of the buffer. A switch has a
/// port for each rank, none of which carries more than the rank's own.
double busiest_port(const Lesson& lesson, const Step& step);
StepByStepTime step_by_step(const Lesson& lesson);
/// What the time goes towards, in transfers of whole buffers, where many pieces follow each other
/// and every step works on another one.
double busiest_port(const Lesson& lesson);

}  // namespace collsim::command
