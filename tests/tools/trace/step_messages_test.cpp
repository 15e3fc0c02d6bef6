// Messages of a simulated call, the steps of the plan that they are of, and what ranks do
// meanwhile.

#include "tools/collsim/trace/step_messages.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "models/calibration/transport.h"
#include "sim/algorithms/registry.h"
#include "sim/base/data_directory.h"
#include "sim/topologies/loader.h"
#include "tools/collsim/trace/state_chart.h"
#include "tools/collsim/trace/textbook_timeline.h"

namespace collsim {
namespace {

/// The messages of channel 0 of a call.
class ShownCall {
 public:
  ShownCall(std::string_view machine, Collective collective, std::int64_t size)
      : topology_(load_topology(find_data_file(machine, "topologies"))),
        compiler_({&topology_,
                   calibration_for(topology_),
                   collective,
                   RunSpec{},
                   {topology_.gpus().begin(), topology_.gpus().end()}}),
        trace_(trace_call(compiler_.plan(Bytes{size}), 1e6)),
        steps_(replay_steps(trace_.call.plan())),
        messages_(step_messages(trace_, 0, steps_)) {}

  const CallTrace& trace() const { return trace_; }
  const std::vector<Step>& steps() const { return steps_; }
  const std::vector<StepMessage>& messages() const { return messages_; }

 private:
  Topology topology_;
  CallCompiler compiler_;
  CallTrace trace_;
  std::vector<Step> steps_;
  std::vector<StepMessage> messages_;
};

// switch-8: 1 us, 50 GB/s. A ring's message of 1 MiB / 8 takes 131072 / 50e3 = 2.62144 us, and is
// seen 1 us later. So step s begins at (s - 1) * 3.62144 us; whoever sends then has waited 1 us.
TEST(StepMessages, of_a_ring_go_step_by_step) {
  const ShownCall call("switch-8", Collective::all_reduce, 1 << 20);
  ASSERT_EQ(call.messages().size(), 8U * 14);
  for (std::size_t i = 0; i < call.messages().size(); ++i) {
    const StepMessage& message = call.messages()[i];
    EXPECT_EQ(message.step, i / 8 + 1);
    EXPECT_EQ(message.to, (message.from + 1) % 8);
    EXPECT_EQ(message.bytes.count, 131072);
    EXPECT_NEAR(in_microseconds(message.begin), 3.62144 * (message.step - 1), 1e-6);
    EXPECT_NEAR(in_microseconds(message.sent - message.begin), 2.62144, 1e-6);
    EXPECT_NEAR(in_microseconds(message.taken), 3.62144 * message.step, 1e-6);
    EXPECT_EQ(message.reduce, message.step <= 7);
    if (message.step == 1) {
      EXPECT_EQ(message.waited_for, "");
    } else {
      EXPECT_EQ(message.waited_for, "rank " + std::to_string((message.from + 7) % 8));
      EXPECT_NEAR(in_microseconds(message.waited), 1, 1e-6);
    }
  }
}

// Every message of the trace is one of the plan: as many in each loop and slice as the step has.
TEST(StepMessages, are_all_of_the_plan) {
  for (const auto& [machine, collective, size] :
       {std::tuple{"hgx-h200", Collective::all_reduce, 64 << 20},
        std::tuple{"hgx-h200", Collective::all_gather, 1 << 20},
        std::tuple{"hgx-h200", Collective::broadcast, 8 << 20},
        std::tuple{"one-gpu-ethernet-5g", Collective::all_reduce, 64 << 10}}) {
    const ShownCall call(machine, collective, size);
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::size_t> counts;
    for (const StepMessage& each : call.messages()) ++counts[{each.loop, each.slice, each.step}];
    ASSERT_FALSE(counts.empty());
    for (const auto& [key, count] : counts) {
      EXPECT_EQ(count, call.steps()[std::get<2>(key) - 1].transfers.size()) << machine;
    }
    for (const StepMessage& each : call.messages()) {
      EXPECT_LE(each.begin, each.sent);
      EXPECT_LE(each.sent, each.taken);
    }
  }
}

TEST(StepMessages, take_the_links_of_their_connection) {
  const ShownCall call("hgx-h200", Collective::all_reduce, 1 << 20);
  const StepMessage& message = call.messages().front();
  const MessageRoute route = route_of(call.trace(), 0, message.connection);
  const std::string from = "node0/gpu" + std::to_string(message.from);
  const std::string to = "node0/gpu" + std::to_string(message.to);
  EXPECT_EQ(route.devices, (std::vector<std::string>{from, "node0/nvswitch0", to}));
  EXPECT_EQ(route.links, (std::vector<std::string>{from + " -> node0/nvswitch0 (nvlink)",
                                                   "node0/nvswitch0 -> " + to + " (nvlink)"}));
  EXPECT_TRUE(route.shared.empty());
}

// Ring of 3 with 3 us per buffer and alpha 1 us: each of 4 steps is 1 us of bytes and 1 us until
// they are seen, 8 us in all. It sends, then adds and sends on twice, then sends what came; the
// last receive costs nothing. 16 columns of half a microsecond.
TEST(StateChart, of_a_ring_of_three) {
  const Plan plan = make_plan(Collective::all_reduce, "ring", uniform_placement(3, 1));
  const TimedCall call = textbook_timeline(plan, {{1e-6}, {1e9}}, Bytes{3000});
  EXPECT_NEAR(in_microseconds(call.time), 8, 1e-9);
  const auto rows = state_chart(call.timeline, plan.schedule(0), 0, {{}, call.time, {}}, 16);
  ASSERT_EQ(rows.size(), 3U);
  for (const StateRow& row : rows) EXPECT_EQ(row.letters, "SSWWRRWWRRWWSSWW");
}

// The same in 4 columns: half of each is work, and of equals the later state counts.
TEST(StateChart, shows_what_takes_most_of_a_column) {
  const Plan plan = make_plan(Collective::all_reduce, "ring", uniform_placement(3, 1));
  const TimedCall call = textbook_timeline(plan, {{1e-6}, {1e9}}, Bytes{3000});
  const ChartSpan all{{}, call.time, {}};
  EXPECT_EQ(state_chart(call.timeline, plan.schedule(0), 0, all, 4).front().letters, "SRRS");
  // With alpha 3 us it is waiting.
  const TimedCall slow = textbook_timeline(plan, {{3e-6}, {1e9}}, Bytes{3000});
  const ChartSpan longer{{}, slow.time, {}};
  EXPECT_EQ(state_chart(slow.timeline, plan.schedule(0), 0, longer, 4).front().letters, "WWWW");
}

// A broadcast of three ranks along a chain, 1 us each hop and no alpha to speak of: rank 0 is done
// after the first hop, rank 2 waits until the end.
TEST(StateChart, of_a_rank_that_has_ended_is_idle) {
  const Plan plan = make_plan(Collective::broadcast, "ring", uniform_placement(3, 1));
  const TimedCall call = textbook_timeline(plan, {{1e-12}, {1e9}}, Bytes{1000});
  const auto rows = state_chart(call.timeline, plan.schedule(0), 0, {{}, call.time, {}}, 4);
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].letters, "SS..");
  EXPECT_EQ(rows[1].letters, "WWSS");
  EXPECT_EQ(rows[2].letters, "WWWW");
}

// A stretch of time, before which nothing was launched.
TEST(StateChart, zooms_and_waits_only_from_the_launch) {
  const Plan plan = make_plan(Collective::all_reduce, "ring", uniform_placement(3, 1));
  const TimedCall call = textbook_timeline(plan, {{1e-6}, {1e9}}, Bytes{3000});
  const auto row = [&](double begin, double end) {
    return state_chart(call.timeline, plan.schedule(0), 0, {{begin}, {end}, {}}, 4).front().letters;
  };
  EXPECT_EQ(row(2e-6, 4e-6), "RRWW");
  EXPECT_EQ(row(7e-6, 9e-6), "WW..");
}

}  // namespace
}  // namespace collsim
