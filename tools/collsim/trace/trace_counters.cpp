#include "tools/collsim/trace/trace_counters.h"

#include <algorithm>

#include "models/machine/resource_table.h"

namespace collsim {

namespace {

/// Changes of a quantity, in any order of time.
struct Curve {
  std::vector<std::pair<std::int64_t, double>> changes;
  double area = 0;

  /// It is higher by `area` over the length from `begin` to `end`.
  void add_area(std::int64_t begin, std::int64_t end, double bytes) {
    if (end <= begin || bytes == 0) return;
    const double height = bytes / static_cast<double>(end - begin);
    changes.emplace_back(begin, height);
    changes.emplace_back(end, -height);
    area += bytes;
  }
};

/// The values that a quantity has: one per nanosecond in which it changes.
TraceCounter counter_of(Curve curve, double scale) {
  std::stable_sort(curve.changes.begin(), curve.changes.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  TraceCounter counter;
  double value = 0;
  counter.values.emplace_back(0, 0);
  for (const auto& [at, change] : curve.changes) {
    value += change;
    // What is left of a sum that should be 0.
    constexpr double rounding = 1e-9;
    const double shown = value * scale < rounding ? 0 : value * scale;
    if (counter.values.back().first == at) {
      counter.values.back().second = shown;
    } else {
      counter.values.emplace_back(at, shown);
    }
  }
  return counter;
}

/// Adds what thread blocks put onto links themselves.
void add_stores(const CallTrace& trace, std::vector<Curve>& curves) {
  const double factor = trace.call.compiler->cost().of(trace.call.protocol).wire_factor;
  for (const TimelineRecord& record : trace.timeline.records) {
    const Primitive primitive = primitive_of(trace, record);
    const Schedule& schedule = trace.call.plan().schedule(record.channel);
    for (const ConnectionId id : schedule.peers(primitive.send_group)) {
      for (const ResourceId resource : trace.call.wiring().wires[record.channel][id].resources) {
        curves[resource].add_area(nanoseconds(record.moving), nanoseconds(record.end),
                                  factor * static_cast<double>(record.bytes.count));
      }
    }
  }
}

/// Adds what proxies send.
void add_sends(const CallTrace& trace, std::vector<Curve>& curves) {
  const double factor = trace.call.compiler->cost().of(trace.call.protocol).wire_factor;
  for (const TracedMessage& message : trace.messages) {
    const Wire& wire = trace.call.wiring().wires[message.channel][message.connection];
    const Seconds begin = trace.timeline.records[message.begun].end;
    const Seconds end = trace.timeline.records[message.taken].begin;
    for (const ResourceId resource : wire.network) {
      curves[resource].add_area(nanoseconds(begin), nanoseconds(end),
                                factor * static_cast<double>(message.bytes.count));
    }
  }
}

}  // namespace

std::vector<TraceCounter> link_utilisation(const CallTrace& trace, std::size_t most) {
  const Wiring& wiring = trace.call.wiring();
  std::vector<Curve> curves(wiring.capacities.size());
  add_stores(trace, curves);
  add_sends(trace, curves);
  std::vector<ResourceId> used;
  for (ResourceId id = 0; id < curves.size(); ++id) {
    if (curves[id].area > 0) used.push_back(id);
  }
  std::stable_sort(used.begin(), used.end(), [&](ResourceId a, ResourceId b) {
    return curves[a].area / wiring.capacities[a].value >
           curves[b].area / wiring.capacities[b].value;
  });
  used.resize(std::min(used.size(), most));
  std::vector<TraceCounter> counters;
  for (const ResourceId id : used) {
    constexpr double giga = 1e9;
    constexpr double per_cent = 100;
    TraceCounter counter =
        counter_of(std::move(curves[id]), per_cent * giga / wiring.capacities[id].value);
    counter.name = resource_name(trace.call.compiler->topology(), wiring.origins[id]);
    counter.unit = "%";
    counters.push_back(std::move(counter));
  }
  return counters;
}

std::vector<TraceCounter> fifo_fill(const CallTrace& trace) {
  const Schedule& first = trace.call.plan().schedules.front();
  std::vector<Curve> curves(first.participants());
  for (const TracedMessage& message : trace.messages) {
    const Schedule& schedule = trace.call.plan().schedule(message.channel);
    const Rank receiver = schedule.connections()[message.connection].dst;
    const auto& records = trace.timeline.records;
    curves[receiver].changes.emplace_back(nanoseconds(records[message.sent].end), 1);
    curves[receiver].changes.emplace_back(nanoseconds(records[message.taken].over), -1);
  }
  std::vector<TraceCounter> counters;
  for (Rank participant = 0; participant < curves.size(); ++participant) {
    counters.push_back(counter_of(std::move(curves[participant]), 1));
    counters.back().name = participant_name(first, participant) + ": slices in its FIFOs";
    counters.back().unit = "slices";
  }
  return counters;
}

}  // namespace collsim
