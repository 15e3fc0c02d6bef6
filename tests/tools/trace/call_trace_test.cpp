// A trace tells what the executor did: nothing is lost, nothing overlaps, and areas are bytes.

#include "tools/collsim/trace/call_trace.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <protozero/pbf_reader.hpp>
#include <vector>

#include "models/calibration/transport.h"
#include "models/call/prediction.h"
#include "models/machine/resource_load.h"
#include "sim/base/data_directory.h"
#include "sim/topologies/loader.h"
#include "tests/support/error_of.h"
#include "tools/collsim/trace/perfetto.h"
#include "tools/collsim/trace/trace_counters.h"

namespace collsim {
namespace {

constexpr double many = 1e6;
constexpr std::size_t all = 1'000'000;

/// A machine, its planner, and the trace of a call on it.
class Traced {
 public:
  Traced(std::string_view machine, Collective collective, std::int64_t size, double most = many)
      : topology_(load_topology(find_data_file(machine, "topologies"))),
        compiler_({&topology_,
                   calibration_for(topology_),
                   collective,
                   RunSpec{},
                   {topology_.gpus().begin(), topology_.gpus().end()}}),
        trace_(trace_call(compiler_.plan(Bytes{size}), most)) {}

  const CallTrace& operator*() const { return trace_; }
  const CallTrace* operator->() const { return &trace_; }

 private:
  Topology topology_;
  CallCompiler compiler_;
  CallTrace trace_;
};

struct Case {
  std::string_view machine;
  Collective collective;
  std::int64_t size;
};

/// Ring, tree and NVLS; whole slices and pieces; with a proxy and without.
const std::vector<Case> cases{{"switch-8", Collective::all_reduce, 1 << 20},
                              {"hgx-h200", Collective::all_reduce, 64 << 10},
                              {"hgx-h200", Collective::all_reduce, 4 << 20},
                              {"hgx-h200", Collective::all_to_all, 1 << 20},
                              {"one-gpu-ethernet-5g", Collective::all_reduce, 64 << 10}};

// 8 ranks in a ring: 7 steps of reduce_scatter and 7 of all_gather, one message of each rank in
// each; whoever sends first receives in the last step, so that 8 x 15 slices are 8 x 14 messages.
TEST(CallTrace, of_a_textbook_ring_has_a_message_per_rank_and_step) {
  const Traced trace("switch-8", Collective::all_reduce, 1 << 20);
  EXPECT_EQ(trace->threads.size(), 8U);
  EXPECT_EQ(trace->timeline.records.size(), 8U * 15);
  EXPECT_EQ(trace->messages.size(), 8U * 14);
  // 1 us and 128 KiB at 50 GB/s, 14 times.
  EXPECT_NEAR(in_microseconds(trace->time), 14 * (1 + 131072 / 50e3), 1e-9);
}

TEST(CallTrace, spans_are_the_timeline) {
  for (const Case& each : cases) {
    const Traced trace(each.machine, each.collective, each.size);
    std::int64_t work = 0;
    std::int64_t expected = 0;
    for (const TraceSpan& span : spans_of(*trace)) {
      if (span.kind == SpanKind::work) work += span.end - span.begin;
    }
    for (const TimelineRecord& record : trace->timeline.records) {
      expected += nanoseconds(record.over) - nanoseconds(record.begin);
    }
    EXPECT_EQ(work, expected) << each.machine;
    EXPECT_GT(work, 0);
  }
}

TEST(CallTrace, ends_when_the_call_does) {
  for (const Case& each : cases) {
    const Traced trace(each.machine, each.collective, each.size);
    Seconds last;
    for (const TimelineRecord& record : trace->timeline.records) last = std::max(last, record.over);
    // No call takes less than the CPU needs to issue it.
    const Seconds end = std::max(last, execution_of(trace->call).issue());
    EXPECT_NEAR(in_microseconds(end), in_microseconds(trace->time), 1e-6) << each.machine;
  }
}

TEST(CallTrace, spans_of_a_thread_follow_each_other) {
  for (const Case& each : cases) {
    const Traced trace(each.machine, each.collective, each.size);
    std::map<std::uint32_t, std::int64_t> free;
    TraceSpan work;
    for (const TraceSpan& span : spans_of(*trace)) {
      EXPECT_LE(span.begin, span.end);
      if (span.kind == SpanKind::move) {
        EXPECT_EQ(span.thread, work.thread);
        EXPECT_GE(span.begin, work.begin);
        EXPECT_LE(span.end, work.end);
        continue;
      }
      EXPECT_GE(span.begin, free[span.thread]) << each.machine << " " << name_of(*trace, span);
      free[span.thread] = span.end;
      if (span.kind == SpanKind::work) work = span;
    }
  }
}

TEST(CallTrace, messages_are_received_after_they_are_sent) {
  for (const Case& each : cases) {
    const Traced trace(each.machine, each.collective, each.size);
    const auto& records = trace->timeline.records;
    ASSERT_FALSE(trace->messages.empty());
    for (const TracedMessage& message : trace->messages) {
      EXPECT_LE(records[message.begun].end, records[message.received].begin) << each.machine;
      EXPECT_LE(records[message.sent].end, records[message.taken].begin) << each.machine;
    }
  }
}

// The area under a link's curve is what the plan puts on it, by counting.
TEST(CallTrace, links_carry_what_the_plan_puts_on_them) {
  for (const Case& each : cases) {
    const Traced trace(each.machine, each.collective, each.size);
    const CompiledCall& call = trace->call;
    const ResourceLoad load = resource_load(call.plan(), call.partition, call.wiring(),
                                            call.compiler->cost().of(call.protocol));
    double expected = 0;
    for (std::size_t i = 0; i < load.resources.size(); ++i) {
      expected += load.resources[i] / call.wiring().capacities[i].value;
    }
    double area = 0;
    for (const TraceCounter& counter : link_utilisation(*trace, all)) {
      for (std::size_t i = 1; i < counter.values.size(); ++i) {
        const auto& [at, value] = counter.values[i - 1];
        area += value / 100 * 1e-9 * static_cast<double>(counter.values[i].first - at);
      }
      EXPECT_EQ(counter.values.back().second, 0) << counter.name;
    }
    // A slice of less than a nanosecond has no area.
    EXPECT_NEAR(area / expected, 1, 1e-3) << each.machine;
  }
}

TEST(CallTrace, fifos_are_empty_in_the_end) {
  for (const Case& each : cases) {
    const Traced trace(each.machine, each.collective, each.size);
    const auto fills = fifo_fill(*trace);
    ASSERT_EQ(fills.size(), trace->call.plan().schedules.front().participants());
    for (const TraceCounter& fill : fills) {
      EXPECT_EQ(fill.values.back().second, 0) << fill.name;
      for (const auto& [at, value] : fill.values) EXPECT_GE(value, 0) << fill.name;
    }
  }
}

TEST(CallTrace, names_say_what_is_waited_for) {
  const Traced trace("switch-8", Collective::all_reduce, 1 << 20);
  std::vector<std::string> names;
  for (const TraceSpan& span : spans_of(*trace)) {
    if (span.thread == 3) names.push_back(name_of(*trace, span));
  }
  // After 7 steps rank 3 has to have the sum of chunk 3. So it sends chunk 2 first, then chunk 1
  // with what rank 2 had of it.
  EXPECT_EQ(names.at(0), "send chunk 2");
  EXPECT_EQ(names.at(1), "bytes flow");
  EXPECT_EQ(names.at(2), "waits for rank 2");
  EXPECT_EQ(names.at(3), "recv_reduce_copy_send chunk 1");
  EXPECT_EQ(name_of(*trace, trace->threads.at(3)), "channel 0");
}

TEST(CallTrace, too_many_slices_are_refused) {
  const auto make = [] { return Traced("switch-8", Collective::all_reduce, 1 << 20, 100)->time; };
  EXPECT_NE(test::error_of(make).find("at most 100"), std::string::npos) << test::error_of(make);
}

/// Of the packets of a trace: how many events begin, end and count, and how many flows there are.
struct Packets {
  int begins = 0;
  int ends = 0;
  int counts = 0;
  int flows = 0;
  int ending_flows = 0;
};

void read_event(protozero::pbf_reader event, Packets& packets) {
  while (event.next()) {
    if (event.tag() == 9) {
      const int type = event.get_enum();
      packets.begins += type == 1 ? 1 : 0;
      packets.ends += type == 2 ? 1 : 0;
      packets.counts += type == 4 ? 1 : 0;
    } else {
      packets.flows += event.tag() == 47 ? 1 : 0;
      packets.ending_flows += event.tag() == 48 ? 1 : 0;
      event.skip();
    }
  }
}

Packets read_packets(const std::string& text) {
  Packets packets;
  protozero::pbf_reader file(text);
  while (file.next(1)) {
    protozero::pbf_reader packet = file.get_message();
    while (packet.next()) {
      if (packet.tag() == 11) {
        read_event(packet.get_message(), packets);
      } else {
        packet.skip();
      }
    }
  }
  return packets;
}

TEST(CallTrace, as_protobuf_has_every_span_flow_and_value) {
  const Traced trace("switch-8", Collective::all_reduce, 1 << 20);
  const auto counters = link_utilisation(*trace, all);
  const Packets packets = read_packets(perfetto_trace(*trace, counters));
  const auto spans = static_cast<int>(spans_of(*trace).size());
  int values = 0;
  for (const TraceCounter& counter : counters) values += static_cast<int>(counter.values.size());
  EXPECT_EQ(packets.begins, spans);
  EXPECT_EQ(packets.ends, spans);
  EXPECT_EQ(packets.counts, values);
  EXPECT_EQ(packets.flows, 8 * 14);
  EXPECT_EQ(packets.ending_flows, 8 * 14);
}

}  // namespace
}  // namespace collsim
