#include "tools/collsim/trace/perfetto.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <protozero/pbf_writer.hpp>
#include <string_view>
#include <vector>

namespace collsim {

namespace {

using protozero::pbf_writer;

namespace packet {
constexpr std::uint32_t in_trace = 1;
constexpr std::uint32_t timestamp = 8;
constexpr std::uint32_t sequence = 10;
constexpr std::uint32_t track_event = 11;
constexpr std::uint32_t interned = 12;
constexpr std::uint32_t sequence_flags = 13;
constexpr std::uint32_t descriptor = 60;
// Values of sequence_flags: names of before are forgotten; names of before are used.
constexpr std::uint32_t starts_names = 1;
constexpr std::uint32_t needs_names = 2;
}  // namespace packet

namespace track {
constexpr std::uint32_t uuid = 1;
constexpr std::uint32_t name = 2;
constexpr std::uint32_t process = 3;
constexpr std::uint32_t thread = 4;
constexpr std::uint32_t parent = 5;
constexpr std::uint32_t counter = 8;
constexpr std::uint32_t process_pid = 1;
constexpr std::uint32_t process_name = 6;
constexpr std::uint32_t thread_pid = 1;
constexpr std::uint32_t thread_tid = 2;
constexpr std::uint32_t thread_name = 5;
constexpr std::uint32_t counter_unit = 6;
}  // namespace track

namespace event {
constexpr std::uint32_t notes = 4;
constexpr std::uint32_t type = 9;
constexpr std::uint32_t name_id = 10;
constexpr std::uint32_t track_uuid = 11;
constexpr std::uint32_t value = 44;
constexpr std::uint32_t flows = 47;
constexpr std::uint32_t ending_flows = 48;
constexpr std::int32_t begin = 1;
constexpr std::int32_t end = 2;
constexpr std::int32_t count = 4;
constexpr std::uint32_t note_uint = 3;
constexpr std::uint32_t note_string = 6;
constexpr std::uint32_t note_name = 10;
}  // namespace event

namespace names {
constexpr std::uint32_t events = 2;
constexpr std::uint32_t id = 1;
constexpr std::uint32_t text = 2;
}  // namespace names

/// The messages that end at a record and that begin there, as their numbers from 1 on.
struct FlowEnds {
  std::vector<std::uint64_t> begins;
  std::vector<std::uint64_t> ends;
};

class PerfettoWriter {
 public:
  explicit PerfettoWriter(const CallTrace& trace) : trace_(trace), flows_(trace.thread_of.size()) {
    for (std::size_t i = 0; i < trace.messages.size(); ++i) {
      flows_[trace.messages[i].begun].begins.push_back(i + 1);
      flows_[trace.messages[i].received].ends.push_back(i + 1);
    }
  }

  std::string write(std::span<const TraceCounter> counters) {
    describe_processes();
    describe_threads();
    for (const TraceSpan& span : spans_of(trace_)) {
      while (!open_.empty() && must_close(open_.back(), span)) close();
      open(span);
    }
    while (!open_.empty()) close();
    for (const TraceCounter& counter : counters) write_counter(counter);
    return std::move(text_);
  }

 private:
  /// Fills a packet of the one sequence that there is.
  template <typename Fill>
  void add_packet(std::uint32_t flags, const Fill& fill) {
    pbf_writer all(text_);
    pbf_writer one(all, packet::in_trace);
    one.add_uint32(packet::sequence, 1);
    one.add_uint32(packet::sequence_flags, flags);
    fill(one);
  }

  void describe_process(std::uint64_t pid, const std::string& name) {
    const std::uint32_t flags = text_.empty() ? packet::starts_names : packet::needs_names;
    add_packet(flags, [&](pbf_writer& one) {
      pbf_writer descriptor(one, packet::descriptor);
      descriptor.add_uint64(track::uuid, pid);
      pbf_writer process(descriptor, track::process);
      process.add_int32(track::process_pid, static_cast<std::int32_t>(pid));
      process.add_string(track::process_name, name);
    });
  }

  std::uint64_t pid_of(Rank participant) const { return std::uint64_t{participant} + 1; }
  std::uint64_t participants() const { return trace_.call.plan().schedules.front().participants(); }
  std::uint64_t links_pid() const { return participants() + 1; }
  std::uint64_t thread_id(std::uint32_t thread) const { return links_pid() + 1 + thread; }

  void describe_processes() {
    const Schedule& schedule = trace_.call.plan().schedules.front();
    for (Rank participant = 0; participant < participants(); ++participant) {
      describe_process(pid_of(participant), participant_name(schedule, participant));
    }
    describe_process(links_pid(), "links");
    next_track_ = links_pid() + 1 + trace_.threads.size();
  }

  void describe_threads() {
    for (std::uint32_t i = 0; i < trace_.threads.size(); ++i) {
      add_packet(packet::needs_names, [&](pbf_writer& one) {
        pbf_writer descriptor(one, packet::descriptor);
        descriptor.add_uint64(track::uuid, thread_id(i));
        pbf_writer thread(descriptor, track::thread);
        const std::uint64_t pid = pid_of(trace_.threads[i].participant);
        thread.add_int32(track::thread_pid, static_cast<std::int32_t>(pid));
        thread.add_int32(track::thread_tid, static_cast<std::int32_t>(thread_id(i)));
        thread.add_string(track::thread_name, name_of(trace_, trace_.threads[i]));
      });
    }
  }

  /// Whether the open span is over before the other begins.
  static bool must_close(const TraceSpan& open, const TraceSpan& next) {
    return open.thread != next.thread || next.kind != SpanKind::move;
  }

  void close() {
    const TraceSpan span = open_.back();
    open_.pop_back();
    add_packet(packet::needs_names, [&](pbf_writer& one) {
      one.add_uint64(packet::timestamp, static_cast<std::uint64_t>(span.end));
      pbf_writer event(one, packet::track_event);
      event.add_enum(event::type, event::end);
      event.add_uint64(event::track_uuid, thread_id(span.thread));
    });
  }

  void open(const TraceSpan& span) {
    const std::string name = name_of(trace_, span);
    const auto emplaced = names_.emplace(name, names_.size() + 1);
    const std::uint64_t id = emplaced.first->second;
    const bool is_new = emplaced.second;
    add_packet(packet::needs_names, [&](pbf_writer& one) {
      one.add_uint64(packet::timestamp, static_cast<std::uint64_t>(span.begin));
      if (is_new) intern(one, id, name);
      pbf_writer event(one, packet::track_event);
      event.add_enum(event::type, event::begin);
      event.add_uint64(event::track_uuid, thread_id(span.thread));
      event.add_uint64(event::name_id, id);
      if (span.kind == SpanKind::work) describe_work(event, span);
    });
    open_.push_back(span);
  }

  static void intern(pbf_writer& one, std::uint64_t id, const std::string& name) {
    pbf_writer interned(one, packet::interned);
    pbf_writer entry(interned, names::events);
    entry.add_uint64(names::id, id);
    entry.add_string(names::text, name);
  }

  void describe_work(pbf_writer& event, const TraceSpan& span) {
    const TimelineRecord& record = trace_.timeline.records[span.record];
    const auto note = [&](std::string_view name, std::uint64_t value) {
      pbf_writer one(event, event::notes);
      one.add_string(event::note_name, name.data(), name.size());
      one.add_uint64(event::note_uint, value);
    };
    note("bytes", static_cast<std::uint64_t>(record.bytes.count));
    note("loop", record.loop);
    note("step", record.primitive);
    note("slice", record.slice);
    const Schedule& schedule = trace_.call.plan().schedule(record.channel);
    const std::string_view phase =
        schedule.phase_name(static_cast<PhaseId>(primitive_of(trace_, record).phase));
    pbf_writer one(event, event::notes);
    one.add_string(event::note_name, "phase");
    one.add_string(event::note_string, phase.data(), phase.size());
    one.commit();
    for (const std::uint64_t id : flows_[span.record].begins) event.add_fixed64(event::flows, id);
    for (const std::uint64_t id : flows_[span.record].ends) {
      event.add_fixed64(event::ending_flows, id);
    }
  }

  void write_counter(const TraceCounter& counter) {
    const std::uint64_t id = next_track_++;
    add_packet(packet::needs_names, [&](pbf_writer& one) {
      pbf_writer descriptor(one, packet::descriptor);
      descriptor.add_uint64(track::uuid, id);
      descriptor.add_uint64(track::parent, links_pid());
      descriptor.add_string(track::name, counter.name);
      pbf_writer unit(descriptor, track::counter);
      unit.add_string(track::counter_unit, counter.unit);
    });
    for (const auto& [at, value] : counter.values) {
      add_packet(packet::needs_names, [&, at = at, value = value](pbf_writer& one) {
        one.add_uint64(packet::timestamp, static_cast<std::uint64_t>(at));
        pbf_writer event(one, packet::track_event);
        event.add_enum(event::type, event::count);
        event.add_uint64(event::track_uuid, id);
        event.add_double(event::value, value);
      });
    }
  }

  const CallTrace& trace_;
  std::vector<FlowEnds> flows_;  // by RecordId
  std::string text_;
  std::vector<TraceSpan> open_;
  std::map<std::string, std::uint64_t> names_;
  std::uint64_t next_track_ = 0;
};

}  // namespace

std::string perfetto_trace(const CallTrace& trace, std::span<const TraceCounter> counters) {
  return PerfettoWriter(trace).write(counters);
}

}  // namespace collsim
