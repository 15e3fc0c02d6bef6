#include "tools/collsim/train/step_measurement.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "sim/base/input_error.h"
#include "sim/base/median.h"
#include "tools/collsim/traces/trace_summary.h"

namespace collsim::command {

namespace {

constexpr double microsecond = 1e-6;

std::optional<Seconds> time_of(const std::string& text) {
  try {
    return parse_time(text);
  } catch (const QuantityError&) {  // a file
    return std::nullopt;
  }
}

}  // namespace

StepMeasurement read_measurement(const std::vector<std::string>& what) {
  StepMeasurement measurement;
  for (const std::string& text : what) {
    const auto time = std::filesystem::exists(text) ? std::nullopt : time_of(text);
    if (time && what.size() == 1 && time->value > 0) {
      measurement.time = time;
    } else if (!time && is_job_trace(text)) {
      measurement.traces.push_back(read_job_trace(text));
    } else if (!time && what.size() == 1) {
      measurement.log = read_step_log(read_text_file(text, "a time, such as 4.2s, or a log"));
    } else {
      throw InputError(fmt::format("--measured: '{}'", text),
                       "a time, such as 4.2s, one log, or traces of several ranks");
    }
  }
  measurement.name = std::filesystem::path(what.front()).filename();
  sort_by_rank(measurement.traces);
  return measurement;
}

std::vector<std::string> with_layout(const StepMeasurement& measurement,
                                     std::vector<std::string> args) {
  if (!measurement.log) return args;
  for (const auto& [name, value] : measurement.log->layout) {
    const std::string option = "--" + name;
    const bool is_said = std::any_of(args.begin(), args.end(), [&](const std::string& each) {
      return each == option || each.starts_with(option + "=");
    });
    if (!is_said) args.insert(args.end(), {option, value});
  }
  return args;
}

namespace {

/// The layout's name for a communicator of a trace, by how many ranks it has and how far apart;
/// the trace's own where no such communicator is the layout's.
std::string name_in_layout(const RankTrace& trace, const TracedCall& call,
                           const TrainingSetup& setup) {
  const auto found = trace.communicators.find(call.communicator);
  std::int64_t size = call.ranks;
  std::int64_t stride = 0;
  if (found != trace.communicators.end() && found->second.size() > 1) {
    size = static_cast<std::int64_t>(found->second.size());
    stride = std::abs(found->second[1] - found->second[0]);
  }
  const std::int64_t replicas = setup.data * setup.context;
  const auto is = [&](std::int64_t ranks, std::int64_t apart) {
    return ranks > 1 && size == ranks && (stride == 0 || stride == apart);
  };
  if (is(setup.tensor, 1)) return "tp";
  if (is(replicas, setup.tensor)) return "dp";
  if (is(setup.pipeline, setup.tensor * replicas) || !call.messages.empty()) return "pp";
  return call.communicator.empty() ? "calls" : call.communicator;
}

/// Adds what one rank's trace has of a step to the sum over all ranks.
void add_rank(const RankTrace& trace, const RankSummary& rank, const std::vector<double>& waits,
              const TrainingSetup& setup, StepParts& parts) {
  const double step = rank.steps > 0 ? rank.step_us : rank.span_us;
  const double scale = rank.span_us > 0 ? microsecond * step / rank.span_us : 0;
  const std::vector<JobSpan> moving = moving_spans(trace, waits);
  std::map<std::string, std::vector<JobSpan>> by_name;
  for (std::size_t i = 0; i < trace.calls.size(); ++i) {
    by_name[name_in_layout(trace, trace.calls[i], setup)].push_back(moving[i]);
  }
  std::vector<JobSpan> counted = trace.compute;
  Seconds exposed;
  for (auto& [name, spans] : by_name) {
    const Seconds time{scale * time_outside(spans, counted)};
    counted.insert(counted.end(), spans.begin(), spans.end());
    parts.exposed[name] += time;
    exposed += time;
  }
  parts.time += Seconds{microsecond * step};
  parts.kernels += Seconds{scale * rank.compute_us};
  parts.waits += Seconds{microsecond * step - scale * rank.compute_us} - exposed;
}

MeasuredStep step_of_traces(const std::vector<RankTrace>& traces, const TrainingSetup& setup) {
  const TraceSummary summary = summarize(traces);
  const TraceAlignment alignment = align(traces);
  MeasuredStep step;
  step.has_parts = true;
  for (std::size_t i = 0; i < traces.size(); ++i) {
    add_rank(traces[i], summary.ranks[i], alignment.waits[i], setup, step.parts);
  }
  const double each = 1 / static_cast<double>(traces.size());
  for (Seconds* const part : {&step.parts.time, &step.parts.kernels, &step.parts.waits}) {
    *part = each * *part;
  }
  for (auto& [name, time] : step.parts.exposed) time = each * time;
  step.steps = std::max<std::size_t>(1, summary.ranks.front().steps);
  return step;
}

Seconds percentile(const std::vector<Seconds>& sorted, double share) {
  return sorted[static_cast<std::size_t>(share * static_cast<double>(sorted.size() - 1) + 0.5)];
}

MeasuredStep step_of_log(const StepMeasurement& measurement, const TrainingSetup& setup) {
  const StepLog& log = *measurement.log;
  if (log.ranks > 0 && log.ranks != setup.ranks()) {
    throw InputError(SourcePosition{measurement.name},
                     fmt::format("a job of {} ranks, on {} GPUs", log.ranks, setup.ranks()),
                     "--nodes of the machine so that both agree");
  }
  std::vector<Seconds> times = step_times(log, setup);
  std::sort(times.begin(), times.end());
  constexpr double tenth = 0.1;
  MeasuredStep step;
  step.parts.time = percentile(times, 0.5);
  step.low = percentile(times, tenth);
  step.high = percentile(times, 1 - tenth);
  step.steps = times.size();
  step.source = fmt::format("{} ({})", measurement.name, log.software);
  return step;
}

}  // namespace

MeasuredStep measured_step(const StepMeasurement& measurement, const TrainingSetup& setup) {
  if (measurement.log) return step_of_log(measurement, setup);
  if (measurement.time) return {.parts = {.time = *measurement.time}, .source = "as given"};
  MeasuredStep step = step_of_traces(measurement.traces, setup);
  step.source = fmt::format("{} trace{}, {} the first", measurement.traces.size(),
                            measurement.traces.size() == 1 ? "" : "s", measurement.name);
  return step;
}

}  // namespace collsim::command
