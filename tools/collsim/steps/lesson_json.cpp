// A lesson as JSON.

#include <algorithm>

#include "tools/collsim/report/call_rows.h"
#include "tools/collsim/steps/lesson_report.h"
#include "tools/collsim/steps/lesson_words.h"

namespace collsim::command {

namespace {

using nlohmann::ordered_json;

/// [participant][chunk]: the ranks whose contributions it has, "0,2..5".
ordered_json holdings_json(const Lesson& lesson, const std::vector<Contributions>& buffers) {
  const Schedule& schedule = lesson.schedule();
  ordered_json rows = ordered_json::array();
  for (Rank participant = 0; participant < schedule.participants(); ++participant) {
    ordered_json row = ordered_json::array();
    for (std::uint32_t chunk = 0; chunk < schedule.chunks(); ++chunk) {
      row.push_back(rank_set_words(buffers[std::size_t{participant} * schedule.chunks() + chunk],
                                   lesson.plan.ranks()));
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

/// [participant][chunk].
ordered_json values_json(const Lesson& lesson, const std::vector<std::int32_t>& values) {
  const Schedule& schedule = lesson.schedule();
  ordered_json rows = ordered_json::array();
  for (Rank participant = 0; participant < schedule.participants(); ++participant) {
    const auto begin =
        values.begin() + static_cast<std::ptrdiff_t>(participant) * schedule.chunks();
    rows.push_back(std::vector<std::int32_t>(begin, begin + schedule.chunks()));
  }
  return rows;
}

ordered_json message_json(Rank from, Rank to, ChunkRange chunks, bool reduce) {
  return {{"from", from},
          {"to", to},
          {"chunk", chunks.first},
          {"chunks", chunks.count},
          {"reduce", reduce}};
}

ordered_json transfers_json(const Lesson& lesson, const Step& step) {
  ordered_json messages = ordered_json::array();
  for (const StepTransfer& each : step.transfers) {
    ordered_json message = message_json(each.from, each.to, each.chunks, each.reduce);
    if (lesson.costs) {
      const double sizes = sizes_held(lesson.plan.collective, lesson.plan.ranks());
      message["bytes"] = static_cast<double>(lesson.costs->size.count) * sizes * each.chunks.count /
                         lesson.schedule().chunks();
    }
    if (lesson.choice.values) {
      if (each.reduce) message["had"] = each.had;
      message["came"] = each.came;
    }
    messages.push_back(std::move(message));
  }
  return messages;
}

/// The messages of one step as they were simulated.
ordered_json simulated_json(const Lesson& lesson, std::size_t step) {
  ordered_json messages = ordered_json::array();
  for (const StepMessage& each : lesson.call->messages) {
    if (each.step != step) continue;
    ordered_json message = message_json(each.from, each.to, each.chunks, each.reduce);
    message.update(ordered_json{
        {"loop", each.loop},
        {"slice", each.slice},
        {"bytes", each.bytes.count},
        {"begin_us", in_microseconds(each.begin)},
        {"sent_us", in_microseconds(each.sent)},
        {"taken_us", in_microseconds(each.taken)},
        {"waited_us", in_microseconds(each.waited)},
        {"waited_for", each.waited_for.empty() ? ordered_json() : ordered_json(each.waited_for)},
        {"links", route_of(*lesson.call->trace, lesson.channel(), each.connection).links}});
    messages.push_back(std::move(message));
  }
  return messages;
}

ordered_json steps_json(const Lesson& lesson) {
  ordered_json steps = ordered_json::array();
  for (std::size_t s = 0; s < lesson.steps.size(); ++s) {
    if (!lesson.shows(s + 1)) continue;
    const Step& step = lesson.steps[s];
    ordered_json one{{"step", s + 1}, {"phase", step.phase}};
    if (lesson.costs) {
      const Seconds transfer =
          busiest_port(lesson, step) * (lesson.costs->size / lesson.costs->machine.bandwidth);
      one["time_us"] = in_microseconds(lesson.costs->machine.alpha + transfer);
    }
    one["messages"] = lesson.call ? simulated_json(lesson, s + 1) : transfers_json(lesson, step);
    one["holdings"] = holdings_json(lesson, step.buffers);
    if (lesson.choice.values) one["values"] = values_json(lesson, step.values);
    steps.push_back(std::move(one));
  }
  return steps;
}

ordered_json traffic_json(const Lesson& lesson) {
  ordered_json sent = ordered_json::array();
  for (const BufferShare& each : lesson.traffic.sent) {
    sent.push_back(static_cast<double>(each.above) / each.below);
  }
  return {{"steps", lesson.traffic.steps},
          {"messages", lesson.traffic.messages},
          {"sent_buffers", sent},
          {"formula", lesson.formula ? ordered_json(sentence_of(*lesson.formula, lesson.traffic))
                                     : ordered_json()}};
}

ordered_json chart_json(const LessonChart& chart) {
  ordered_json rows = ordered_json::array();
  for (const StateRow& row : chart.rows) {
    rows.push_back({{"participant", row.participant}, {"states", row.letters}});
  }
  return {{"begin_us", in_microseconds(chart.span.begin)},
          {"end_us", in_microseconds(chart.span.end)},
          {"rows", rows}};
}

ordered_json call_json(const Lesson& lesson) {
  const LessonCall& call = *lesson.call;
  ordered_json json = context_of(*call.request, call.run);
  json.update(ordered_json{{"protocol", to_string(call.trace->call.protocol)},
                           {"size_bytes", call.trace->call.size.count},
                           {"channels", call.trace->call.partition.channels()},
                           {"channel", lesson.channel()},
                           {"time_us", in_microseconds(call.trace->time)},
                           {"launch_us", in_microseconds(call.trace->launch)},
                           {"messages_of_channel", call.all},
                           {"messages_shown", call.messages.size()}});
  return json;
}

}  // namespace

ordered_json lesson_json(const Lesson& lesson) {
  const Plan& plan = lesson.plan;
  ordered_json json{{"collective", to_string(plan.collective)},
                    {"algorithm", lesson.algorithm()},
                    {"nranks", plan.ranks()},
                    {"root", has_root(plan.collective) ? ordered_json(plan.root) : ordered_json()},
                    {"chunks", lesson.schedule().chunks()}};
  if (lesson.call) json.update(call_json(lesson));
  ordered_json participants = ordered_json::array();
  for (Rank participant = 0; participant < lesson.schedule().participants(); ++participant) {
    participants.push_back(participant_name(lesson.schedule(), participant));
  }
  json["participants"] = std::move(participants);
  json["traffic"] = traffic_json(lesson);
  if (lesson.costs) {
    json["size_bytes"] = lesson.costs->size.count;
    json["time_us"] = in_microseconds(lesson.time);
    json["pipelined_us"] = in_microseconds(
        static_cast<double>(lesson.steps.size()) * lesson.costs->machine.alpha +
        busiest_port(lesson) * (lesson.costs->size / lesson.costs->machine.bandwidth));
  }
  json["holdings"] = holdings_json(lesson, lesson.buffers);
  if (lesson.choice.values) json["values"] = values_json(lesson, lesson.values);
  json["steps"] = steps_json(lesson);
  if (lesson.chart) json["timeline"] = chart_json(*lesson.chart);
  return json;
}

}  // namespace collsim::command
