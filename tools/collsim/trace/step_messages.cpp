#include "tools/collsim/trace/step_messages.h"

#include <algorithm>
#include <cassert>
#include <map>
#include <tuple>

#include "models/machine/resource_table.h"

namespace collsim {

namespace {

/// What the k-th message of a connection is within a loop.
struct PlannedMessage {
  std::uint32_t step = 1;
  const StepTransfer* transfer = nullptr;
};

std::vector<std::vector<PlannedMessage>> planned_messages(const Schedule& schedule,
                                                          const std::vector<Step>& steps) {
  std::map<std::tuple<Rank, Rank, std::uint32_t>, ConnectionId> number;
  for (ConnectionId id = 0; id < schedule.connections().size(); ++id) {
    const Connection& connection = schedule.connections()[id];
    number[{connection.src, connection.dst, connection.lane}] = id;
  }
  std::vector<std::vector<PlannedMessage>> planned(schedule.connections().size());
  for (std::size_t s = 0; s < steps.size(); ++s) {
    for (const StepTransfer& each : steps[s].transfers) {
      planned[number.at({each.from, each.to, each.lane})].push_back(
          {static_cast<std::uint32_t>(s + 1), &each});
    }
  }
  return planned;
}

/// Records that come right before one in their thread.
std::vector<RecordId> records_before(const CallTrace& trace) {
  std::vector<RecordId> last(trace.threads.size(), no_record);
  std::vector<RecordId> before;
  for (RecordId id = 0; id < trace.thread_of.size(); ++id) {
    RecordId& of_thread = last[trace.thread_of[id]];
    before.push_back(of_thread);
    of_thread = id;
  }
  return before;
}

/// How long the sender waited, and for whom.
void add_wait(const CallTrace& trace, RecordId begun, RecordId before, StepMessage& message) {
  const auto& records = trace.timeline.records;
  // A thread block that has done nothing yet waits from its launch.
  const Seconds free = before == no_record ? trace.launch : records[before].over;
  const Seconds waited = records[begun].begin - free;
  constexpr Seconds shown{0.5e-9};
  if (waited < shown) return;
  message.waited = waited;
  std::string name = name_of(trace, TraceSpan{trace.thread_of[begun], SpanKind::wait, 0, 0, begun});
  constexpr std::string_view verb = "waits for ";
  if (name.starts_with(verb)) name.erase(0, verb.size());
  message.waited_for = std::move(name);
}

}  // namespace

std::vector<StepMessage> step_messages(const CallTrace& trace, std::uint32_t channel,
                                       const std::vector<Step>& steps) {
  const Schedule& schedule = trace.call.plan().schedule(channel);
  const auto planned = planned_messages(schedule, steps);
  const auto before = records_before(trace);
  const auto& records = trace.timeline.records;
  std::vector<StepMessage> messages;
  // Messages of a connection come in order: its slices, its primitives, its loops.
  ConnectionId connection = 0;
  std::size_t place = 0;
  const TimelineRecord* last = nullptr;
  for (const TracedMessage& traced : trace.messages) {
    if (traced.channel != channel) continue;
    const TimelineRecord& begun = records[traced.begun];
    if (last == nullptr || traced.connection != connection || begun.loop != last->loop) {
      place = 0;
    } else if (begun.primitive != last->primitive) {
      ++place;
    }
    connection = traced.connection;
    last = &begun;
    assert(place < planned[connection].size());
    const PlannedMessage& plan = planned[connection][place];
    StepMessage message{.step = plan.step,
                        .loop = begun.loop,
                        .slice = begun.slice,
                        .connection = connection,
                        .from = plan.transfer->from,
                        .to = plan.transfer->to,
                        .chunks = plan.transfer->chunks,
                        .reduce = plan.transfer->reduce,
                        .bytes = traced.bytes,
                        .begin = begun.begin,
                        .sent = records[traced.sent].end,
                        .taken = records[traced.taken].begin};
    add_wait(trace, traced.begun, before[traced.begun], message);
    messages.push_back(std::move(message));
  }
  std::stable_sort(messages.begin(), messages.end(), [](const auto& a, const auto& b) {
    return std::tuple(a.loop, a.step, a.begin.value, a.from, a.to) <
           std::tuple(b.loop, b.step, b.begin.value, b.from, b.to);
  });
  return messages;
}

MessageRoute route_of(const CallTrace& trace, std::uint32_t channel, ConnectionId connection) {
  const Wiring& wiring = trace.call.wiring();
  const Topology& topology = trace.call.compiler->topology();
  const Wire& wire = wiring.wires[channel][connection];
  MessageRoute route;
  DeviceId last{};
  for (const auto* const part : {&wire.resources, &wire.network}) {
    for (const ResourceId id : *part) {
      const ResourceOrigin& origin = wiring.origins[id];
      route.links.push_back(resource_name(topology, origin));
      if (origin.shared) {
        route.shared.push_back(route.links.back());
        continue;
      }
      const Link link = topology.link(origin.id);
      if (route.devices.empty() || link.from != last) {
        route.devices.push_back(topology.device_name(link.from));
      }
      route.devices.push_back(topology.device_name(link.to));
      last = link.to;
    }
  }
  return route;
}

}  // namespace collsim
